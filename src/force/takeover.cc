// SPDX-License-Identifier: MIT
#include "force/force_release.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "lock/value.h"
#include "os/clock.h"
#include "redis/requests/answer.h"
#include "redis/requests/request.h"

namespace redlock::force {

namespace {

const lock::Sighting& sighting_of(const observe::Observed& lock, std::size_t server) {
  return std::get<lock::Sighting>(lock.seen[server]);
}

/// Why there is no answer; null if there is one, or was no request.
const lock::Unreachable* silence(const std::optional<lock::Answer>& answer) {
  return answer ? std::get_if<lock::Unreachable>(&*answer) : nullptr;
}

}  // namespace

Takeover::Takeover(const config::Settings& settings, const observe::Observed& lock)
    : settings_(settings), lock_(lock), interview_(settings), answers_(lock.seen.size()) {
  std::set<std::string> readers;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    interview_.questions().go_to(server, lock.id.key);
    const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
    if (sighting == nullptr) continue;
    const bool free = lock::state_of(*sighting) == lock::State::free;
    (free ? free_ : targets_).push_back(server);
    for (const lock::Reader& reader : sighting->readers) readers.insert(reader.token);
  }
  readers_.assign(readers.begin(), readers.end());
  if (lock.judgement.state == lock::State::free) {
    targets_ = observe::left_overs(lock);
  } else if (!lock.judgement.agreeing.empty()) {
    targets_ = lock.judgement.agreeing;
  }
}

void Takeover::revoke(const records::Holder& by) {
  std::vector<std::size_t> servers = targets_;
  std::erase_if(servers, [this](std::size_t server) { return token_on(server).empty(); });
  carry_out(servers, [&](std::size_t server) {
    const std::string token = token_on(server);
    return redis::Flight{
        {redis::encode_revoke(lock_.id.key, token, records::revoked_value(token, by))}};
  });
}

void Takeover::remove() {
  std::vector<std::size_t> servers = targets_;
  std::ranges::copy_if(free_, std::back_inserter(servers),
                       [this](std::size_t server) { return !token_on(server).empty(); });
  carry_out(servers, [this](std::size_t server) {
    const std::string token = token_on(server);
    lock::Sighting seen = sighting_of(lock_, server);
    if (token.empty() && is_redisson(server)) seen.value = lock::stand_in_for("redisson");
    return redis::encode_remove(lock_.id.key, seen, token,
                                lock::is_shared(token) ? readers_ : std::vector<std::string>());
  });
}

/// Writes only to servers that have revoked the lock: elsewhere the line would be wrong.
void Takeover::log(const records::LogEntry& entry) {
  if (settings_.log_entries == 0) return;
  const std::string data = records::to_json(entry);
  for (const std::size_t server : targets_) {
    if (!answers_[server] || !std::holds_alternative<lock::Released>(*answers_[server])) continue;
    redis::Flight lines;
    const std::string token = token_on(server);
    // Each reader has lines of its own.
    for (const std::string& each :
         lock::is_shared(token) ? readers_ : std::vector<std::string>{token}) {
      lines.commands.push_back(
          redis::encode_log(lock_.id.key, "revoked", each, data, settings_.log_entries));
    }
    // The answer does not say whether that worked.
    if (!lines.commands.empty()) ask(server, std::move(lines), [](const auto&, auto) {});
  }
  interview_.finish();
}

void Takeover::ask(std::size_t server, redis::Flight flight, redis::Questions::Take take) {
  if (is_redisson(server)) flight.redisson_key = lock_.id.key;
  interview_.questions().ask(server, std::move(flight), std::move(take), os::boot_now());
}

/// Whether its key there is to be treated as a lock of Redisson's: ours is if its token says so.
bool Takeover::is_redisson(std::size_t server) const {
  const std::string token = token_on(server);
  if (!token.empty()) return lock::is_of_redisson(token);
  return settings_.as == config::As::redisson && sighting_of(lock_, server).value == "type:hash";
}

/// For a server without a key this is the token that a quorum showed.
std::string Takeover::token_on(std::size_t server) const {
  const bool agreed = !lock_.judgement.agreeing.empty();
  const bool free = std::ranges::find(free_, server) != free_.end();
  const std::size_t shown = agreed && free ? lock_.judgement.agreeing.front() : server;
  return std::string(lock::owner_of(sighting_of(lock_, shown)));
}

/// Both requests may be repeated: asks each server without an answer once more.
void Takeover::carry_out(const std::vector<std::size_t>& servers, const Request& request) {
  std::ranges::fill(answers_, std::nullopt);
  const auto ask_for_it = [&](std::size_t server) {
    ask(server, request(server), [this, server](const redis::Questions::Answer& answer, auto) {
      if (const auto* silence = answer.silence()) {
        answers_[server] = *silence;
        return;
      }
      const redis::Taken taken = redis::read_taken(answer.reply());
      answers_[server] = taken.answer;
      if (taken.notified.value_or(0) > 0) ++notified_;
      // Some readers may have entered since we looked.
      for (const std::string& reader : taken.readers) {
        if (std::ranges::find(readers_, reader) == readers_.end()) readers_.push_back(reader);
      }
    });
  };
  std::ranges::for_each(servers, ask_for_it);
  interview_.finish();
  for (const std::size_t server : servers) {
    const auto* none = silence(answers_[server]);
    if (none != nullptr && !none->permanent) ask_for_it(server);
  }
  interview_.finish();
}

std::size_t Takeover::free() const {
  return lock::how_many(free_, [this](std::size_t server) { return !answers_[server]; });
}

std::string Takeover::troubles() const {
  std::string all;
  for (std::size_t server = 0; server < answers_.size(); ++server) {
    const auto* none = silence(answers_[server]);
    if (none == nullptr) continue;
    all += (all.empty() ? "" : "; ") + settings_.servers[server].brief() + ": " + none->why;
  }
  return all;
}

std::vector<lock::Complaint> Takeover::silent() const {
  std::vector<lock::Complaint> silent;
  for (std::size_t server = 0; server < answers_.size(); ++server) {
    const auto* none = answers_[server] ? silence(answers_[server])
                                        : std::get_if<lock::Unreachable>(&lock_.seen[server]);
    if (none != nullptr) silent.push_back({server, *none});
  }
  return silent;
}

}  // namespace redlock::force

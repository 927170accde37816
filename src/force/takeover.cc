// SPDX-License-Identifier: MIT
#include "force/takeover.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "driver/finish.h"
#include "lock/value.h"
#include "os/clock.h"
#include "records/revocation.h"

namespace redlock::force {

namespace {

const lock::Sighting& sighting_of(const inspect::Observed& lock, std::size_t server) {
  return std::get<lock::Sighting>(lock.seen[server]);
}

std::vector<std::size_t> find_targets(const inspect::Observed& lock) {
  if (!lock.judgement.agreeing.empty()) return lock.judgement.agreeing;
  std::vector<std::size_t> targets;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
    if (sighting != nullptr && lock::state_of(*sighting) != lock::State::free) {
      targets.push_back(server);
    }
  }
  return targets;
}

std::vector<std::size_t> find_free(const inspect::Observed& lock) {
  std::vector<std::size_t> free;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
    if (sighting != nullptr && lock::state_of(*sighting) == lock::State::free) {
      free.push_back(server);
    }
  }
  return free;
}

std::vector<std::string> find_readers(const inspect::Observed& lock) {
  std::set<std::string> tokens;
  for (const lock::Seen& seen : lock.seen) {
    const auto* sighting = std::get_if<lock::Sighting>(&seen);
    if (sighting == nullptr) continue;
    for (const lock::Reader& reader : sighting->readers) tokens.insert(reader.token);
  }
  return {tokens.begin(), tokens.end()};
}

bool may_retry(const std::optional<lock::Answer>& answer) {
  const auto* none = answer ? std::get_if<lock::Unreachable>(&*answer) : nullptr;
  return none != nullptr && !none->permanent;
}

}  // namespace

Takeover::Takeover(const config::Settings& settings, const inspect::Observed& lock)
    : settings_(settings),
      lock_(lock),
      targets_(find_targets(lock)),
      free_(find_free(lock)),
      readers_(find_readers(lock)),
      answers_(lock.seen.size()) {
  for (const redis::Endpoint& server : settings.servers) {
    if (server.tls && !tls_) tls_.emplace(settings.tls);
    revokers_.emplace_back(server, server.tls ? &*tls_ : nullptr,
                           redis::Timeouts{.request = settings.server_timeout}, lock.id.key);
  }
}

void Takeover::revoke(const records::Revocation& by) {
  carry_out(Deed::revoke, by);
}

void Takeover::remove() {
  carry_out(Deed::remove, {});
}

/// Writes only to servers that have revoked the lock: elsewhere the line would be wrong.
void Takeover::log(const records::LogEntry& entry) {
  if (settings_.log_entries == 0) return;
  const std::string data = records::to_json(entry);
  for (const std::size_t server : targets_) {
    if (!answers_[server] || !std::holds_alternative<lock::Released>(*answers_[server])) continue;
    std::vector<redis::LogLine> lines;
    const std::string token = token_on(server);
    // Each reader has lines of its own.
    for (const std::string& each :
         lock::is_shared(token) ? readers_ : std::vector<std::string>{token}) {
      lines.push_back({.event = "revoked", .token = each, .data = data});
    }
    if (lines.empty()) continue;
    revokers_[server].log(lines, settings_.log_entries, os::boot_now());
  }
  driver::finish(revokers_);
}

/// For a server without a key this is the token that a quorum showed.
std::string Takeover::token_on(std::size_t server) const {
  const bool agreed = !lock_.judgement.agreeing.empty();
  const bool free = std::ranges::find(free_, server) != free_.end();
  const std::size_t shown = agreed && free ? lock_.judgement.agreeing.front() : server;
  return std::string(lock::owner_of(sighting_of(lock_, shown)));
}

/// Both requests may be repeated: asks each server without an answer once more.
void Takeover::carry_out(Deed deed, const records::Revocation& by) {
  std::ranges::fill(answers_, std::nullopt);
  std::vector<std::size_t> servers = targets_;
  if (deed == Deed::remove) {
    std::ranges::copy_if(free_, std::back_inserter(servers),
                         [this](std::size_t server) { return !token_on(server).empty(); });
  }
  for (const std::size_t server : servers) ask(deed, server, by);
  driver::finish(revokers_);
  for (const std::size_t server : servers) {
    if (may_retry(revokers_[server].answer())) ask(deed, server, by);
  }
  driver::finish(revokers_);
  for (const std::size_t server : servers) answers_[server] = revokers_[server].answer();
  // Some may have entered since we looked.
  for (const redis::Revoker& revoker : revokers_) {
    for (const std::string& reader : revoker.readers()) {
      if (std::ranges::find(readers_, reader) == readers_.end()) readers_.push_back(reader);
    }
  }
}

void Takeover::ask(Deed deed, std::size_t server, const records::Revocation& by) {
  const std::string token = token_on(server);
  if (deed == Deed::remove) {
    const bool shared = lock::is_shared(token);
    revokers_[server].remove(sighting_of(lock_, server), token,
                             shared ? readers_ : std::vector<std::string>(), os::boot_now());
  } else if (!token.empty()) {
    revokers_[server].revoke(token, records::revoked_value(token, by), os::boot_now());
  }
}

lock::Tally Takeover::tally() const {
  return lock::count(answers_, lock_.seen);
}

std::size_t Takeover::free() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      free_, [this](std::size_t server) { return !answers_[server].has_value(); }));
}

std::size_t Takeover::notified() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      revokers_, [](const redis::Revoker& revoker) { return revoker.notified() > 0; }));
}

std::vector<std::string> Takeover::troubles() const {
  std::vector<std::string> lines;
  for (std::size_t server = 0; server < answers_.size(); ++server) {
    const auto* none =
        answers_[server] ? std::get_if<lock::Unreachable>(&*answers_[server]) : nullptr;
    if (none != nullptr) lines.push_back(settings_.servers[server].brief() + ": " + none->why);
  }
  return lines;
}

}  // namespace redlock::force

// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>
#include <optional>

#include "diag/json_output.h"
#include "driver/holder_info.h"
#include "inspect/holder_json.h"
#include "inspect/observed.h"
#include "lock/timing.h"

namespace redlock::inspect {

namespace {

using nlohmann::ordered_json;

ordered_json to_json(const std::optional<diag::Revocation>& revocation) {
  if (!revocation) return {};
  return {{"host", revocation->host},
          {"user", revocation->user},
          {"pid", revocation->pid},
          {"since_ms", since_or_null(revocation->since)},
          {"for_s", in_seconds(diag::ago(revocation->since))}};
}

ordered_json foreign(const Observed& lock) {
  if (lock.judgement.state != lock::State::foreign) return {};
  const lock::Sighting& sighting = *lock.sighting;
  return {{"type", sighting.type},
          {"redisson", text_or_null(sighting.member)},
          {"count", sighting.member.empty() ? ordered_json() : ordered_json(sighting.count)}};
}

ordered_json view(const Observed& lock, std::size_t server) {
  const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
  if (sighting == nullptr) {
    return {{"state", nullptr},
            {"ttl_s", nullptr},
            {"error", std::get<lock::Unreachable>(lock.seen[server]).why}};
  }
  return {{"state", word_for(lock::state_of(*sighting))},
          {"ttl_s", in_seconds(sighting->ttl_left)},
          {"error", nullptr}};
}

ordered_json last_run(const std::optional<lock::Done>& done) {
  if (!done) return {};
  return {{"began_s_ago", in_seconds(done->age)},
          {"told_for_s", in_seconds(done->left)},
          {"by", holder_json(diag::read_holder(done->who))}};
}

ordered_json waiters(const std::optional<WaitingLine>& line) {
  if (!line) return {};
  ordered_json array = ordered_json::array();
  for (const Waiting& waiter : line->known) {
    ordered_json entry = {
        {"host", nullptr}, {"user", nullptr}, {"pid", nullptr}, {"command", nullptr}};
    if (waiter.who) {
      entry = {{"host", waiter.who->host},
               {"user", waiter.who->user},
               {"pid", waiter.who->pid},
               {"command", waiter.who->command}};
    }
    entry["waited_s"] = in_seconds(waiter.waited);
    array.push_back(std::move(entry));
  }
  return array;
}

ordered_json to_json(const Observed& lock, const config::Settings& settings) {
  const lock::Judgement& judgement = lock.judgement;
  const bool ours = lock.holder || judgement.state == lock::State::held ||
                    judgement.state == lock::State::cooling ||
                    judgement.state == lock::State::revoked;
  ordered_json servers = ordered_json::array();
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    ordered_json entry = {{"server", settings.servers[server].display()}};
    entry.update(view(lock, server));
    servers.push_back(std::move(entry));
  }
  const unsigned holds = lock.sighting ? lock.sighting->holds : 0;
  return {{"name", lock.name},
          {"state", word_for(judgement.state)},
          {"agreeing", judgement.agreeing.size()},
          {"answered", judgement.answered},
          {"mode", ours ? ordered_json("exclusive") : ordered_json()},
          {"holder", holder_json(lock.holder)},
          {"revoked_by", to_json(lock.revocation)},
          {"holds", holds == 0 ? ordered_json() : ordered_json(holds)},
          {"fence", judgement.fence == 0 ? ordered_json() : ordered_json(judgement.fence)},
          {"foreign", foreign(lock)},
          {"least_left_s", in_seconds(lock.least_left)},
          {"most_left_s", in_seconds(lock.most_left)},
          {"waiting", lock.waiting ? ordered_json(lock.waiting->known.size() + lock.waiting->others)
                                   : ordered_json()},
          {"waiters", waiters(lock.waiting)},
          {"last_run", last_run(lock.last_run)},
          {"warnings", warnings_about(lock, driver::server_set_fingerprint(settings.servers))},
          {"servers", servers}};
}

}  // namespace

std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  ordered_json servers = ordered_json::array();
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back({{"server", settings.servers[server].display()},
                       {"error", text_or_null(troubles[server].value_or(""))}});
  }
  ordered_json list = ordered_json::array();
  for (const Observed& lock : locks) list.push_back(to_json(lock, settings));
  const ordered_json all = {{"status", static_cast<int>(status)},
                            {"quorum", lock::quorum(settings.servers.size())},
                            {"fingerprint", driver::server_set_fingerprint(settings.servers)},
                            {"servers", servers},
                            {"locks", list}};
  return diag::json_output(all);
}

}  // namespace redlock::inspect

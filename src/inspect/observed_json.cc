// SPDX-License-Identifier: MIT
#include <optional>

#include "diag/duration.h"
#include "driver/lock_id.h"
#include "inspect/holder_json.h"
#include "inspect/observed.h"
#include "lock/timing.h"
#include "lock/token.h"
#include "lock/value.h"
#include "records/holder.h"
#include "records/json.h"
#include "records/revocation.h"

namespace redlock::inspect {

namespace {

using records::Json;

Json to_json(const std::optional<records::Revocation>& revocation) {
  if (!revocation) return {};
  return Json::object({{"host", revocation->host},
                       {"user", revocation->user},
                       {"pid", revocation->pid},
                       {"since_ms", since_or_null(revocation->since)},
                       {"for_s", in_seconds(diag::ago(revocation->since))}});
}

Json foreign(const Observed& lock) {
  if (lock.judgement.state != lock::State::foreign) return {};
  const lock::Sighting& sighting = *lock.sighting;
  return Json::object({{"type", lock::type_of(sighting.value).value_or("string")},
                       {"redisson", text_or_null(sighting.owner)},
                       {"count", sighting.owner.empty() ? Json() : Json(sighting.count)}});
}

Json view(const Observed& lock, std::size_t server, const std::string& display) {
  const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
  if (sighting == nullptr) {
    return Json::object({{"server", display},
                         {"state", nullptr},
                         {"ttl_s", nullptr},
                         {"error", std::get<lock::Unreachable>(lock.seen[server]).why}});
  }
  return Json::object({{"server", display},
                       {"state", word_for(lock::state_of(*sighting))},
                       {"ttl_s", in_seconds(sighting->ttl_left)},
                       {"error", nullptr}});
}

Json last_run(const std::optional<lock::Done>& done) {
  if (!done) return {};
  return Json::object({{"began_s_ago", in_seconds(done->age)},
                       {"told_for_s", in_seconds(done->left)},
                       {"by", holder_json(records::read_holder(done->who))}});
}

Json waiters(const std::optional<WaitingQueue>& queue) {
  if (!queue) return {};
  std::vector<Json> all;
  for (const Waiting& waiter : queue->known) {
    const auto& who = waiter.who;
    all.push_back(Json::object({{"host", who ? Json(who->host) : Json()},
                                {"user", who ? Json(who->user) : Json()},
                                {"pid", who ? Json(who->pid) : Json()},
                                {"command", who ? Json(who->command) : Json()},
                                {"message", who ? text_or_null(who->message) : Json()},
                                {"waited_s", in_seconds(waiter.waited)}}));
  }
  return Json::array(all);
}

Json readers(const Observed& lock) {
  if (!lock.shared) return {};
  std::vector<Json> all;
  for (const lock::Reader& reader : lock.readers) {
    const std::size_t slot = slot_in(lock, reader);
    all.push_back(Json::object({{"holder", holder_json(records::read_holder(reader.holder))},
                                {"slot", slot == 0 ? Json() : Json(slot)},
                                {"fence", reader.fence == 0 ? Json() : Json(reader.fence)},
                                {"left_s", in_seconds(std::optional(reader.left))}}));
  }
  return Json::array(all);
}

std::string_view mode_of(const Observed& lock) {
  if (lock.slots > 0) return "slots";
  return lock.shared ? "shared" : "exclusive";
}

Json to_json(const Observed& lock, const config::Settings& settings) {
  const lock::Judgement& judgement = lock.judgement;
  const bool ours = lock.holder || judgement.state == lock::State::held ||
                    judgement.state == lock::State::cooling ||
                    judgement.state == lock::State::revoked;
  std::vector<Json> servers;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    servers.push_back(view(lock, server, settings.servers[server].display()));
  }
  const std::vector<std::string> warnings = warnings_about(lock);
  const unsigned holds = lock.sighting ? lock.sighting->holds : 0;
  return Json::object(
      {{"name", lock.id.name},
       {"state", word_for(judgement.state)},
       {"agreeing", judgement.agreeing.size()},
       {"answered", judgement.answered},
       {"mode", ours ? Json(mode_of(lock)) : Json()},
       {"slots", lock.slots == 0 ? Json() : Json(lock.slots)},
       {"holder", holder_json(lock.holder)},
       {"readers", readers(lock)},
       {"reader_count", lock.shared ? Json(lock.reader_count) : Json()},
       {"revoked_by", to_json(lock.revocation)},
       {"holds", holds == 0 ? Json() : Json(holds)},
       {"fence", judgement.fence == 0 ? Json() : Json(judgement.fence)},
       {"foreign", foreign(lock)},
       {"least_left_s", in_seconds(lock.least_left)},
       {"most_left_s", in_seconds(lock.most_left)},
       {"waiting", lock.waiting ? Json(lock.waiting->known.size() + lock.waiting->others) : Json()},
       {"waiters", waiters(lock.waiting)},
       {"last_run", last_run(lock.last_run)},
       {"warnings", Json::array({warnings.begin(), warnings.end()})},
       {"servers", Json::array(servers)}});
}

}  // namespace

std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  std::vector<Json> servers;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back(Json::object({{"server", settings.servers[server].display()},
                                    {"error", text_or_null(troubles[server].value_or(""))}}));
  }
  std::vector<Json> list;
  for (const Observed& lock : locks) list.push_back(to_json(lock, settings));
  return Json::object({{"status", static_cast<int>(status)},
                       {"quorum", lock::quorum(settings.servers.size())},
                       {"fingerprint", driver::server_set_fingerprint(settings.servers)},
                       {"servers", Json::array(servers)},
                       {"locks", Json::array(list)}})
      .output();
}

}  // namespace redlock::inspect

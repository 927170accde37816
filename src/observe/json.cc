// SPDX-License-Identifier: MIT
#include "observe/json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "diag/text.h"
#include "lock/value.h"
#include "os/clock.h"

namespace redlock::observe {

using records::Json;
using std::chrono::milliseconds;

Json in_seconds(const std::optional<milliseconds>& time) {
  if (!time) return {};
  return std::chrono::duration<double>(*time).count();
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

void add_time(Members& members, std::string_view name, std::string_view name_ms,
              const std::optional<milliseconds>& time) {
  Json text;
  if (time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(*time);
    text = fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::time_t{seconds.count()}),
                       (*time - seconds).count());
  }
  members.emplace_back(name, text);
  members.emplace_back(name_ms, time ? Json(time->count()) : Json());
}

Members person(const records::Holder& who) {
  return {{"host", who.host},
          {"user", who.user},
          {"pid", who.pid},
          {"command", who.command},
          {"message", text_or_null(who.message)},
          {"maintenance", who.maintenance}};
}

Json servers_json(const config::Settings& settings, const Troubles& troubles) {
  std::vector<Json> servers;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back(Json::object({{"server", settings.servers[server].display()},
                                    {"error", text_or_null(troubles[server].value_or(""))}}));
  }
  return Json::array(servers);
}

Json refusals_json(const std::vector<Refusals>& refusals) {
  return array_of(refusals, [](const Refusals& each) {
    Members members{{"host", each.host},
                    {"user", text_or_null(each.who.user)},
                    {"command", text_or_null(each.who.command)},
                    {"count", each.count}};
    add_time(members, "last", "last_ms", os::unix_now() - each.ago);
    members.emplace_back("held_by", text_or_null(each.who.held_by));
    return Json::object(members);
  });
}

namespace {

Json to_json(const std::optional<records::Holder>& revocation) {
  if (!revocation) return {};
  Members members{{"host", revocation->host}, {"user", revocation->user}, {"pid", revocation->pid}};
  add_time(members, "since", "since_ms", unless_zero(revocation->since));
  members.emplace_back("for_s", in_seconds(diag::ago(revocation->since)));
  return Json::object(members);
}

Json foreign(const Observed& lock) {
  if (lock.judgement.state != lock::State::foreign) return {};
  const lock::Sighting& sighting = *lock.sighting;
  return Json::object({{"type", lock::type_of(sighting.value).value_or("string")},
                       {"redisson", text_or_null(sighting.owner)},
                       {"count", sighting.owner.empty() ? Json() : Json(sighting.count)}});
}

Json view(const Observed& lock, std::size_t server, const std::string& display) {
  const auto* seen = std::get_if<lock::Sighting>(&lock.seen[server]);
  const auto* none = std::get_if<lock::Unreachable>(&lock.seen[server]);
  return Json::object({{"server", display},
                       {"state", seen ? Json(appearance_of(lock::state_of(*seen)).word) : Json()},
                       {"ttl_s", seen ? in_seconds(seen->ttl_left) : Json()},
                       {"error", none ? Json(none->why) : Json()}});
}

Json last_build(const std::optional<lock::Superseded>& built, const config::Settings& settings) {
  if (!built) return {};
  return Json::object({{"build", static_cast<std::int64_t>(built->build)},
                       {"succeeded_s_ago", in_seconds(built->ago)},
                       {"by", holder_json(records::read_holder(built->who), settings)}});
}

Json last_run(const std::optional<lock::Done>& done, const config::Settings& settings) {
  if (!done) return {};
  return Json::object({{"began_s_ago", in_seconds(done->age)},
                       {"told_for_s", in_seconds(done->left)},
                       {"by", holder_json(records::read_holder(done->who), settings)}});
}

Json waiters(const std::optional<WaitingQueue>& queue) {
  if (!queue) return {};
  return array_of(queue->known, [](const Waiting& waiter) {
    const auto& who = waiter.who;
    const auto field = [&who](auto member) { return who ? Json((*who).*member) : Json(); };
    return Json::object({{"host", field(&records::Holder::host)},
                         {"user", field(&records::Holder::user)},
                         {"pid", field(&records::Holder::pid)},
                         {"command", field(&records::Holder::command)},
                         {"message", who ? text_or_null(who->message) : Json()},
                         {"waited_s", in_seconds(waiter.waited)}});
  });
}

/// Of an exclusive lock as of a shared one.
Json holders(const Observed& lock, const config::Settings& settings) {
  if (!lock.shared && !lock.holder) return {};
  if (!lock.shared) {
    return Json::array({Json::object({{"holder", holder_json(lock.holder, settings)},
                                      {"slot", Json()},
                                      {"fence", unless_zero(lock.judgement.fence)},
                                      {"left_s", in_seconds(lock.least_left)}})});
  }
  return array_of(lock.readers, [&](const Reader& reader) {
    return Json::object({{"holder", holder_json(reader.who, settings)},
                         {"slot", unless_zero(slot_in(lock, reader))},
                         {"fence", unless_zero(reader.fence)},
                         {"left_s", in_seconds(std::optional(reader.left))}});
  });
}

Json to_json(const Observed& lock, const config::Settings& settings) {
  const lock::Judgement& judgement = lock.judgement;
  const bool ours = lock.holder || judgement.state == lock::State::held ||
                    judgement.state == lock::State::cooling ||
                    judgement.state == lock::State::revoked;
  const std::string_view mode = lock.slots > 0 ? "slots" : lock.shared ? "shared" : "exclusive";
  std::vector<Json> servers;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    servers.push_back(view(lock, server, settings.servers[server].display()));
  }
  const std::vector<std::string> warnings = warnings_about(lock, settings);
  const unsigned holds = lock.sighting ? lock.sighting->holds : 0;
  return Json::object(
      {{"name", lock.id.name},
       {"state", appearance_of(judgement.state).word},
       {"agreeing", judgement.agreeing.size()},
       {"answered", judgement.answered},
       {"mode", ours ? Json(mode) : Json()},
       {"slots", unless_zero(lock.slots)},
       {"holder", holder_json(lock.holder, settings)},
       {"holders", holders(lock, settings)},
       {"holder_count", lock.shared   ? unless_zero(lock.reader_count)
                        : lock.holder ? Json(1)
                                      : Json()},
       {"revoked_by", to_json(lock.revocation)},
       {"holds", unless_zero(holds)},
       {"fence", unless_zero(judgement.fence)},
       {"foreign", foreign(lock)},
       {"least_left_s", in_seconds(lock.least_left)},
       {"most_left_s", in_seconds(lock.most_left)},
       {"renewed_s_ago", judgement.state == lock::State::held && lock.holder && !lock.shared
                             ? in_seconds(diag::renewed_ago(*lock.holder, lock.lease_left))
                             : Json()},
       {"overdue", overdue(lock).has_value()},
       {"waiting", lock.waiting ? Json(lock.waiting->size()) : Json()},
       {"waiters", waiters(lock.waiting)},
       {"last_run", last_run(lock.last_run, settings)},
       {"last_build", last_build(lock.built, settings)},
       {"refused", refusals_json(lock.refusals)},
       {"warnings", Json::array({warnings.begin(), warnings.end()})},
       {"servers", Json::array(servers)}});
}

}  // namespace

Json list_json(const std::string& list) {
  const std::vector<std::string> hashes = diag::hashes_in(list);
  return hashes.empty() ? Json() : Json::array({hashes.begin(), hashes.end()});
}

Json holder_json(const std::optional<records::Holder>& holder, const config::Settings& settings) {
  if (!holder) return {};
  const bool same = driver::server_list(settings).record() == holder->list;
  Members members = person(*holder);
  add_time(members, "since", "since_ms", unless_zero(holder->since));
  members.insert(
      members.end(),
      {{"for_s", in_seconds(diag::ago(holder->since))},
       {"ttl_s", in_seconds(holder->ttl)},
       {"list", list_json(holder->list)},
       {"fingerprint", same ? Json(driver::server_set_fingerprint(settings.servers)) : Json()},
       {"protocol", holder->protocol}});
  return Json::object(members);
}

std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const Troubles& troubles, ExitStatus status) {
  return Json::object(
             {{"status", static_cast<int>(status)},
              {"quorum", lock::quorum(settings.servers.size())},
              {"fingerprint", driver::server_set_fingerprint(settings.servers)},
              {"servers", servers_json(settings, troubles)},
              {"locks",
               array_of(locks, [&](const Observed& lock) { return to_json(lock, settings); })}})
      .output();
}

}  // namespace redlock::observe

// SPDX-License-Identifier: MIT
#include "look/json.h"

#include <concepts>

#include "diag/duration.h"
#include "lock/value.h"

namespace redlock::look {

using records::Json;
using std::chrono::milliseconds;

Json in_seconds(const std::optional<milliseconds>& time) {
  if (!time) return {};
  return std::chrono::duration<double>(*time).count();
}

Json text_or_null(std::string_view text) {
  return text.empty() ? Json() : Json(text);
}

namespace {

Json in_ms(const std::optional<milliseconds>& time) {
  return time ? Json(time->count()) : Json();
}

Json unless_zero(std::integral auto number) {
  return number == 0 ? Json() : Json(number);
}

using Members = std::vector<Json::Member>;

Members person(const records::Holder& who) {
  return {{"host", who.host},
          {"user", who.user},
          {"pid", who.pid},
          {"command", who.command},
          {"message", text_or_null(who.message)},
          {"maintenance", who.maintenance}};
}

/// Each server, and the reason if it could not be asked.
Json servers_json(const config::Settings& settings,
                  const std::vector<std::optional<std::string>>& troubles) {
  std::vector<Json> servers;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back(Json::object({{"server", settings.servers[server].display()},
                                    {"error", text_or_null(troubles[server].value_or(""))}}));
  }
  return Json::array(servers);
}

Json to_json(const std::optional<records::Holder>& revocation) {
  if (!revocation) return {};
  return Json::object({{"host", revocation->host},
                       {"user", revocation->user},
                       {"pid", revocation->pid},
                       {"since_ms", unless_zero(revocation->since.count())},
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
  const auto* seen = std::get_if<lock::Sighting>(&lock.seen[server]);
  const auto* none = std::get_if<lock::Unreachable>(&lock.seen[server]);
  return Json::object({{"server", display},
                       {"state", seen ? Json(appearance_of(lock::state_of(*seen)).word) : Json()},
                       {"ttl_s", seen ? in_seconds(seen->ttl_left) : Json()},
                       {"error", none ? Json(none->why) : Json()}});
}

Json last_run(const std::optional<lock::Done>& done) {
  if (!done) return {};
  return Json::object({{"began_s_ago", in_seconds(done->age)},
                       {"told_for_s", in_seconds(done->left)},
                       {"by", holder_json(records::read_holder(done->who))}});
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

Json readers(const Observed& lock) {
  if (!lock.shared) return {};
  return array_of(lock.readers, [&lock](const Reader& reader) {
    return Json::object({{"holder", holder_json(reader.who)},
                         {"slot", unless_zero(slot_in(lock, reader))},
                         {"fence", unless_zero(reader.fence)},
                         {"left_s", in_seconds(std::optional(reader.left))}});
  });
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
  const std::vector<std::string> warnings = warnings_about(lock, settings);
  const unsigned holds = lock.sighting ? lock.sighting->holds : 0;
  return Json::object(
      {{"name", lock.id.name},
       {"state", appearance_of(judgement.state).word},
       {"agreeing", judgement.agreeing.size()},
       {"answered", judgement.answered},
       {"mode", ours ? Json(mode_of(lock)) : Json()},
       {"slots", unless_zero(lock.slots)},
       {"holder", holder_json(lock.holder)},
       {"readers", readers(lock)},
       {"reader_count", lock.shared ? Json(lock.reader_count) : Json()},
       {"revoked_by", to_json(lock.revocation)},
       {"holds", unless_zero(holds)},
       {"fence", unless_zero(judgement.fence)},
       {"foreign", foreign(lock)},
       {"least_left_s", in_seconds(lock.least_left)},
       {"most_left_s", in_seconds(lock.most_left)},
       {"renewed_s_ago",
        judgement.state == lock::State::held && lock.holder && !lock.shared
            ? in_seconds(diag::renewed_ago(*lock.holder, lock.most_left))
            : Json()},
       {"overdue", overdue(lock).has_value()},
       {"waiting", lock.waiting ? Json(lock.waiting->size()) : Json()},
       {"waiters", waiters(lock.waiting)},
       {"last_run", last_run(lock.last_run)},
       {"warnings", Json::array({warnings.begin(), warnings.end()})},
       {"servers", Json::array(servers)}});
}

Json describe(const std::optional<PastRun>& run) {
  if (!run) return {};
  const records::LogEntry& entry = run->entry;
  return Json::object(
      {{"outcome", text_or_null(meaning_of(*run).word)},
       {"has_lock", run->ending == PastRun::Ending::unclear ? Json() : Json(run->goes_on)},
       {"status", entry.status},
       {"reason", text_or_null(entry.reason)},
       {"began_ms", run->knows_beginning ? Json(run->began.count()) : Json()},
       {"ended_ms", in_ms(run->ended)},
       {"held_s", run->ended ? in_seconds(*run->ended - run->began) : Json()},
       {"waited_s", in_seconds(entry.waited)},
       {"fence", unless_zero(entry.fence)},
       {"holder", Json::object(person(entry.who))},
       {"forced_by", run->forced_by ? Json::object(person(*run->forced_by)) : Json()},
       {"skips", unless_zero(run->skips)},
       {"run", text_or_null(run->run)}});
}

Json usual_json(const std::optional<diag::Usual>& usual) {
  if (!usual) return {};
  return Json::object({{"runs", usual->runs},
                       {"least_s", in_seconds(usual->least)},
                       {"most_s", in_seconds(usual->most)}});
}

void add_view(Members& members, const HistoryView& view) {
  members.emplace_back("log_begins_ms", in_ms(view.log_begins));
  members.emplace_back("usual", usual_json(view.usual));
  members.emplace_back("runs", array_of(view.runs, describe));
  members.emplace_back("before", describe(view.before));
  members.emplace_back("after", describe(view.after));
}

}  // namespace

Json holder_json(const std::optional<records::Holder>& holder) {
  if (!holder) return {};
  Members members = person(*holder);
  members.insert(members.end(), {{"since_ms", unless_zero(holder->since.count())},
                                 {"for_s", in_seconds(diag::ago(holder->since))},
                                 {"ttl_s", in_seconds(holder->ttl)},
                                 {"fingerprint", text_or_null(holder->servers)},
                                 {"protocol", holder->protocol}});
  return Json::object(members);
}

std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  return Json::object(
             {{"status", static_cast<int>(status)},
              {"quorum", lock::quorum(settings.servers.size())},
              {"fingerprint", driver::server_set_fingerprint(settings.servers)},
              {"servers", servers_json(settings, troubles)},
              {"locks",
               array_of(locks, [&](const Observed& lock) { return to_json(lock, settings); })}})
      .output();
}

std::string to_json(const std::vector<HistoryView>& views, const cli::History& request,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  Members members{{"status", static_cast<int>(status)},
                  {"quorum", lock::quorum(request.settings.servers.size())},
                  {"servers", servers_json(request.settings, troubles)}};
  if (request.about_one()) members.emplace_back("name", views.front().name);
  members.emplace_back("since_ms", in_ms(request.since));
  members.emplace_back("until_ms", in_ms(request.until));
  members.emplace_back("at_ms", in_ms(request.at));
  if (request.about_one()) {
    add_view(members, views.front());
    return Json::object(members).output();
  }
  members.emplace_back("locks", array_of(views, [](const HistoryView& view) {
                         Members lock{{"name", view.name}};
                         add_view(lock, view);
                         return Json::object(lock);
                       }));
  return Json::object(members).output();
}

}  // namespace redlock::look

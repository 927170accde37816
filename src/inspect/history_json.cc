// SPDX-License-Identifier: MIT
#include "inspect/history_view.h"
#include "inspect/holder_json.h"
#include "lock/timing.h"
#include "records/holder.h"
#include "records/json.h"

namespace redlock::inspect {

namespace {

using records::Json;
using std::chrono::milliseconds;

Json or_null(const std::optional<milliseconds>& time) {
  return time ? Json(time->count()) : Json();
}

Json outcome_json(PastRun::Ending ending) {
  switch (ending) {
    case PastRun::Ending::unclear:
      return {};
    case PastRun::Ending::ended:
      return "ended";
    case PastRun::Ending::lost:
      return "lost";
    case PastRun::Ending::forced:
      return "forced";
    case PastRun::Ending::running:
      return "running";
    case PastRun::Ending::skipped:
      return "skipped";
    case PastRun::Ending::expired:
      return "expired";
    case PastRun::Ending::unknown:
      break;
  }
  return "unknown";
}

Json person(const records::Holder& who) {
  return Json::object({{"host", who.host},
                       {"user", who.user},
                       {"pid", who.pid},
                       {"command", who.command},
                       {"message", text_or_null(who.message)},
                       {"maintenance", who.maintenance}});
}

Json describe(const std::optional<PastRun>& run) {
  if (!run) return {};
  const records::LogEntry& entry = run->entry;
  return Json::object(
      {{"outcome", outcome_json(run->ending)},
       {"has_lock", run->ending == PastRun::Ending::unclear ? Json() : Json(run->goes_on)},
       {"status", entry.status},
       {"reason", text_or_null(entry.reason)},
       {"began_ms", run->knows_beginning ? Json(run->began.count()) : Json()},
       {"ended_ms", or_null(run->ended)},
       {"held_s", run->ended ? in_seconds(*run->ended - run->began) : Json()},
       {"waited_s", in_seconds(entry.waited)},
       {"fence", entry.fence == 0 ? Json() : Json(entry.fence)},
       {"holder", person(entry.who)},
       {"forced_by", run->forced_by ? person(*run->forced_by) : Json()},
       {"skips", run->skips == 0 ? Json() : Json(run->skips)},
       {"run", text_or_null(run->run)}});
}

Json usual_json(const std::optional<diag::Usual>& usual) {
  if (!usual) return {};
  return Json::object({{"runs", usual->runs},
                       {"least_s", in_seconds(usual->least)},
                       {"most_s", in_seconds(usual->most)}});
}

using Members = std::vector<std::pair<std::string_view, Json>>;

void add_view(Members& members, const HistoryView& view) {
  std::vector<Json> runs;
  for (const PastRun& run : view.runs) runs.push_back(describe(run));
  members.emplace_back("log_begins_ms", or_null(view.log_begins));
  members.emplace_back("usual", usual_json(view.usual));
  members.emplace_back("runs", Json::array(runs));
  members.emplace_back("before", describe(view.before));
  members.emplace_back("after", describe(view.after));
}

}  // namespace

std::string to_json(const std::vector<HistoryView>& views, const cli::History& request,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  const auto& configured = request.settings.servers;
  std::vector<Json> servers;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back(Json::object({{"server", configured[server].display()},
                                    {"error", text_or_null(troubles[server].value_or(""))}}));
  }
  Members members{{"status", static_cast<int>(status)},
                  {"quorum", lock::quorum(configured.size())},
                  {"servers", Json::array(servers)}};
  if (request.about_one()) members.emplace_back("name", views.front().name);
  members.emplace_back("since_ms", or_null(request.since));
  members.emplace_back("at_ms", or_null(request.at));
  if (request.about_one()) {
    add_view(members, views.front());
    return Json::object(members).output();
  }
  std::vector<Json> locks;
  for (const HistoryView& view : views) {
    Members lock{{"name", view.name}};
    add_view(lock, view);
    locks.push_back(Json::object(lock));
  }
  members.emplace_back("locks", Json::array(locks));
  return Json::object(members).output();
}

}  // namespace redlock::inspect

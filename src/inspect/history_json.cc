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

}  // namespace

std::string to_json(const HistoryView& view, const cli::History& request,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  const auto& configured = request.settings.servers;
  std::vector<Json> servers;
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back(Json::object({{"server", configured[server].display()},
                                    {"error", text_or_null(troubles[server].value_or(""))}}));
  }
  std::vector<Json> runs;
  for (const PastRun& run : view.runs) runs.push_back(describe(run));
  return Json::object({{"status", static_cast<int>(status)},
                       {"quorum", lock::quorum(configured.size())},
                       {"servers", Json::array(servers)},
                       {"name", request.name},
                       {"since_ms", or_null(request.since)},
                       {"at_ms", or_null(request.at)},
                       {"log_begins_ms", or_null(view.log_begins)},
                       {"runs", Json::array(runs)},
                       {"before", describe(view.before)},
                       {"after", describe(view.after)}})
      .output();
}

}  // namespace redlock::inspect

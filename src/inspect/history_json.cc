// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "diag/json_output.h"
#include "inspect/history_view.h"
#include "inspect/holder_json.h"
#include "lock/timing.h"

namespace redlock::inspect {

namespace {

using nlohmann::ordered_json;
using std::chrono::milliseconds;

template <class Value>
ordered_json or_null(const std::optional<Value>& value) {
  return value ? ordered_json(*value) : ordered_json();
}

ordered_json or_null(const std::optional<milliseconds>& time) {
  return time ? ordered_json(time->count()) : ordered_json();
}

ordered_json word_for(PastRun::Ending ending) {
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
    case PastRun::Ending::unknown:
      break;
  }
  return "unknown";
}

ordered_json person(const diag::Holder& who) {
  return {{"host", who.host}, {"user", who.user}, {"pid", who.pid}, {"command", who.command}};
}

ordered_json describe(const std::optional<PastRun>& run) {
  if (!run) return {};
  const diag::LogEntry& told = run->told;
  return {{"outcome", word_for(run->ending)},
          {"has_lock",
           run->ending == PastRun::Ending::unclear ? ordered_json() : ordered_json(run->goes_on)},
          {"status", or_null(told.status)},
          {"reason", text_or_null(told.reason)},
          {"began_ms", run->knows_beginning ? ordered_json(run->began.count()) : ordered_json()},
          {"ended_ms", or_null(run->ended)},
          {"held_s", run->ended ? in_seconds(*run->ended - run->began) : ordered_json()},
          {"waited_s", in_seconds(told.waited)},
          {"fence", told.fence == 0 ? ordered_json() : ordered_json(told.fence)},
          {"holder", person(told.who)},
          {"forced_by", run->forced_by ? person(*run->forced_by) : ordered_json()},
          {"skips", run->skips == 0 ? ordered_json() : ordered_json(run->skips)},
          {"run", text_or_null(run->run)}};
}

}  // namespace

std::string to_json(const HistoryView& view, const cli::History& request,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status) {
  const auto& configured = request.settings.servers;
  ordered_json servers = ordered_json::array();
  for (std::size_t server = 0; server < troubles.size(); ++server) {
    servers.push_back({{"server", configured[server].display()},
                       {"error", text_or_null(troubles[server].value_or(""))}});
  }
  ordered_json runs = ordered_json::array();
  for (const PastRun& run : view.runs) runs.push_back(describe(run));
  const ordered_json all = {{"status", static_cast<int>(status)},
                            {"quorum", lock::quorum(configured.size())},
                            {"servers", servers},
                            {"name", request.name},
                            {"since_ms", or_null(request.since)},
                            {"at_ms", or_null(request.at)},
                            {"log_begins_ms", or_null(view.log_begins)},
                            {"runs", runs},
                            {"before", describe(view.before)},
                            {"after", describe(view.after)}};
  return diag::json_output(all);
}

}  // namespace redlock::inspect

// SPDX-License-Identifier: MIT
//
// The runs of locks as JSON: redlock-json(7).
#include "look/history.h"
#include "observe/json.h"

namespace redlock::look {

namespace {

using observe::add_time;
using observe::array_of;
using observe::in_seconds;
using observe::Members;
using observe::person;
using observe::refusals_json;
using observe::servers_json;
using observe::text_or_null;
using observe::Troubles;
using observe::unless_zero;
using records::Json;

Json describe(const std::optional<PastRun>& run) {
  if (!run) return {};
  const records::LogEntry& entry = run->entry;
  Members members{
      {"outcome", text_or_null(outcome_of(*run).word)},
      {"has_lock", run->ending == PastRun::Ending::unclear ? Json() : Json(run->goes_on)},
      {"status", entry.status},
      {"reason", text_or_null(entry.reason)}};
  add_time(members, "began", "began_ms",
           run->knows_beginning ? std::optional(run->began) : std::nullopt);
  add_time(members, "ended", "ended_ms", run->ended);
  members.insert(members.end(),
                 {{"held_s", run->ended ? in_seconds(*run->ended - run->began) : Json()},
                  {"waited_s", in_seconds(entry.waited)},
                  {"fence", unless_zero(entry.fence)},
                  {"holder", Json::object(person(entry.who))},
                  {"forced_by", run->forced_by ? Json::object(person(*run->forced_by)) : Json()},
                  {"skips", unless_zero(run->skips)},
                  {"run", text_or_null(run->run)}});
  return Json::object(members);
}

Json usual_json(const std::optional<diag::Usual>& usual) {
  if (!usual) return {};
  return Json::object({{"runs", usual->runs},
                       {"least_s", in_seconds(usual->least)},
                       {"most_s", in_seconds(usual->most)}});
}

Json describe_view(const HistoryView& view) {
  Members members{{"name", view.name}};
  add_time(members, "log_begins", "log_begins_ms", view.log_begins);
  members.insert(members.end(), {{"usual", usual_json(view.usual)},
                                 {"refused", refusals_json(view.refusals)},
                                 {"runs", array_of(view.runs, describe)},
                                 {"before", describe(view.before)},
                                 {"after", describe(view.after)}});
  return Json::object(members);
}

}  // namespace

std::string to_json(const std::vector<HistoryView>& views, const cli::History& request,
                    const Troubles& troubles, ExitStatus status) {
  Members members{{"status", static_cast<int>(status)},
                  {"quorum", lock::quorum(request.settings.servers.size())},
                  {"servers", servers_json(request.settings, troubles)}};
  add_time(members, "since", "since_ms", request.since);
  add_time(members, "until", "until_ms", request.until);
  add_time(members, "at", "at_ms", request.at);
  members.emplace_back("locks", array_of(views, describe_view));
  return Json::object(members).output();
}

}  // namespace redlock::look

// SPDX-License-Identifier: MIT
//
// What `redlock history` picks and how it draws; the rest is in tests/look/history.bats.
#include "doctest.h"

#include <array>
#include <cstdlib>
#include <ctime>
#include <string>

#include "diag/text.h"
#include "look/history.h"
#include "look/screen.h"
#include "os/clock.h"

namespace redlock::look {
namespace {

using namespace std::chrono_literals;
using diag::Charset;
using Ending = PastRun::Ending;
using std::chrono::milliseconds;

constexpr milliseconds kNoon = 1'795'176'000s;  // 2026-11-20 12:00 UTC

PastRun run(milliseconds began, std::optional<milliseconds> ended, Ending ending = Ending::ended,
            std::string name = {}) {
  PastRun run;
  run.run = std::move(name);
  run.began = kNoon + began;
  if (ended) run.ended = kNoon + *ended;
  run.ending = ending;
  run.goes_on = ending == Ending::running;
  return run;
}

const std::vector<PastRun> kRuns = {
    run(0s, 10s, Ending::ended, "a"), run(12s, 12s, Ending::skipped, "b"),
    run(20s, 30s, Ending::lost, "c"), run(40s, std::nullopt, Ending::unknown, "d"),
    run(60s, std::nullopt, Ending::running, "e")};

std::string names(const HistoryView& view) {
  std::string names;
  for (const PastRun& run : view.runs) names += run.run;
  return names;
}

HistoryView at(milliseconds moment) {
  cli::History request;
  request.at = kNoon + moment;
  return view_of(kRuns, request);
}

TEST_CASE("history: the runs since a time, until it, and at it") {
  struct Row {
    milliseconds moment;
    std::string since;  ///< those that went on then included
    std::string until;  ///< those that began before it
    std::string at;
  };
  for (const Row& row : {Row{-1h, "abcde", "", ""},
                         {0s, "abcde", "", "a"},
                         {5s, "abcde", "a", "a"},
                         {10s, "abcde", "a", ""},  // the end is no more part of it
                         {11s, "bcde", "a", ""},
                         {12s, "bcde", "a", ""},  // skipped runs hold nothing
                         {12'001ms, "cde", "ab", ""},
                         {25s, "cde", "abc", "c"},
                         {45s, "e", "abcd", ""},  // one whose end is not known is where it began
                         {1h, "e", "abcde", "e"}}) {
    CAPTURE(row.moment.count());
    cli::History request;
    request.since = kNoon + row.moment;
    CHECK(names(view_of(kRuns, request)) == row.since);
    request = {};
    request.until = kNoon + row.moment;
    CHECK(names(view_of(kRuns, request)) == row.until);
    CHECK(names(at(row.moment)) == row.at);
  }
  CHECK(names(view_of(kRuns, {})) == "abcde");
  CHECK(view_of(kRuns, {}).log_begins == kNoon);
  CHECK_FALSE(view_of({}, {}).log_begins);
}

TEST_CASE("history: if no run had it at that time, who did before and after") {
  const HistoryView gap = at(12s);
  REQUIRE((gap.before && gap.after));
  CHECK(gap.before->run == "a");
  CHECK(gap.after->run == "c");
  CHECK(at(50s).before->run == "d");
  CHECK_FALSE(at(-1s).before);
  CHECK(at(-1s).after);
  PastRun odd = run(60s, std::nullopt, Ending::running);
  odd.knows_beginning = false;
  cli::History request;
  request.at = kNoon + 70s;
  CHECK(view_of({odd}, request).runs.empty());
}

TEST_CASE("history: a run is found at the time that the table shows of it") {
  cli::History request;
  const auto found = [&request](milliseconds began, milliseconds ended) {
    return !view_of({run(began, ended)}, request).runs.empty();
  };
  request.at = kNoon + 5s;
  CHECK(found(5'556ms, 9s));
  CHECK(found(5'556ms, 5'600ms));
  CHECK_FALSE(found(6s, 9s));
  request.at = kNoon + 5'555ms;  // as --json has it
  CHECK_FALSE(found(5'556ms, 9s));
}

TEST_CASE("history: what the timeline has of a run, by what is known of it") {
  const milliseconds now = os::unix_now();
  for (const bool began : {false, true}) {
    for (const bool ended : {false, true}) {
      for (const bool goes_on : {false, true}) {
        if (ended && goes_on) continue;
        CAPTURE(began);
        CAPTURE(ended);
        CAPTURE(goes_on);
        PastRun first;
        first.began = now - 10h;
        first.ended = now - 8h;
        first.ending = Ending::ended;
        PastRun odd;
        odd.began = now - 4h;
        odd.knows_beginning = began;
        if (ended) odd.ended = now - 2h;
        odd.goes_on = goes_on;
        odd.ending = ended ? Ending::ended : goes_on ? Ending::running : Ending::unknown;
        const std::string table =
            as_table({first, odd}, {}, {.width = 150, .charset = Charset::ascii, .terminal = true});
        const std::string last = table.substr(table.rfind('\n', table.size() - 2) + 1);
        CAPTURE(last);
        CHECK((last.find('#') != last.npos) == (began && (ended || goes_on)));
        CHECK((last.find('?') != last.npos) == (!began || !(ended || goes_on)));
      }
    }
  }
}

TEST_CASE("history: the timeline has the ends that the user names, or those of the runs") {
  const milliseconds now = os::unix_now();
  for (const int given : {0, 1, 2, 3}) {
    cli::History request;
    if (given % 2 == 1) request.since = now - 58h;
    if (given / 2 == 1) request.until = now - 5h;
    const milliseconds end = request.until.value_or(request.since ? now : now - 4h);
    const Timeline line{{request.since.value_or(now - 10h), end}, 48, {}};
    const PastRun past = run(now - 10h - kNoon, now - 4h - kNoon);
    const std::string table = as_table({past}, request, {.width = 150, .terminal = true});
    CHECK(table.find(line.head() + "\n") != table.npos);
  }
}

TEST_CASE("history: outcomes in few words and in more") {
  PastRun past = run(0s, 10s);
  CHECK(outcome_of(past).brief == "ended");
  past.entry.status = 143;
  past.entry.reason = "--max-runtime";
  CHECK(outcome_of(past).brief == "exit 143 (--max-runtime)");
  CHECK(outcome_of(past).whole == "exit 143 (--max-runtime)");
  past.ending = Ending::lost;
  past.entry.reason = "x\x1b[31m";
  CHECK(outcome_of(past).whole == "lost (x?[31m)");
  past.ending = Ending::forced;
  past.forced_by.emplace();
  past.forced_by->user = "ops";
  past.forced_by->host = "bastion";
  CHECK(outcome_of(past).brief == "forced by ops@bastion");
  past.forced_by->replaces = true;
  CHECK(outcome_of(past).brief == "replaced by ops@bastion");
  past.forced_by->replaces = false;
  past.entry.who.maintenance = true;
  CHECK(outcome_of(past).brief == "ended by ops@bastion");
  CHECK(outcome_of(past).kind == "hold");
  past.ending = Ending::unknown;
  CHECK_MESSAGE(outcome_of(past).kind == "unknown", "a hold that failed looks like a failure");
  past.ending = Ending::forced;
  past.entry.who.maintenance = false;
  past.forced_by->user.clear();
  past.forced_by->host.clear();
  CHECK(outcome_of(past).brief == "forced");
  past.ending = Ending::skipped;
  past.skips = 1;
  CHECK(outcome_of(past).whole == "1 run skipped (--once)");
}

TEST_CASE("history: failed runs, and the last ones") {
  cli::History request;
  request.failed = true;
  CHECK(names(view_of(kRuns, request)) == "cd");
  request.last = 1;
  CHECK(names(view_of(kRuns, request)) == "d");
  PastRun taken = run(0s, 1s, Ending::forced);
  CHECK(outcome_of(taken).failed);
  taken.entry.who.maintenance = true;
  CHECK_FALSE(outcome_of(taken).failed);
}

TEST_CASE("history: the usual length is that of the last five runs that ended well") {
  std::vector<PastRun> runs;
  for (const int minutes : {50, 4, 5, 6, 5, 4}) {
    runs.push_back(run(0s, std::chrono::minutes(minutes)));
    runs.back().entry.status = 0;
  }
  runs.push_back(run(0s, 1s));
  runs.back().entry.status = 1;
  const auto usual = view_of(runs, {}).usual;
  REQUIRE(usual);
  CHECK(diag::describe(*usual) == "last 5 runs took 4m to 6m");
  runs.erase(runs.begin(), runs.begin() + 5);
  CHECK_FALSE(view_of(runs, {}).usual);
}

TEST_CASE("grid: columns are left out in their order until the lines fit") {
  const std::vector<Line> lines = {{{"A"}, {"B"}, {"C"}},
                                   {{"aaaa"}, {"größe"}, {"ccccccccccccccccc"}}};
  const std::array<std::size_t, 2> left_out = {1, 2};
  const Widths all = fit(lines, left_out, diag::kNoLimit);
  CHECK(sum(all) == 4 + 2 + 5 + 2 + 17);
  CHECK(lay_out(lines, all, {}) == "A     B      C\naaaa  größe  ccccccccccccccccc\n");
  CHECK(fit(lines, left_out, 25) == all);  // the last one is cut
  CHECK(lay_out(lines, all, {.width = 25}) == "A     B      C\naaaa  größe  ccccccccccc…\n");
  CHECK(fit(lines, left_out, 24) == Widths{4, 0, 17});
  CHECK(fit(lines, left_out, 17) == Widths{4, 0, 0});
  CHECK(fit(lines, left_out, 1) == Widths{4, 0, 0});
}

TEST_CASE("a timeline takes all of its width, in halves of a cell") {
  const Timeline plain{{0s, 100s}, 10, Charset::ascii};
  CHECK(plain.bar(0s, 100s) == "##########");
  CHECK(plain.bar(50s, 100s) == "     #####");
  CHECK(plain.bar(20s, 29s) == "  #       ");
  CHECK(plain.bar(25s, 44s) == "  ###     ");
  CHECK(plain.bar(99s, 99s) == "         #");
  CHECK(plain.mark(0s, '|') == "|         ");
  CHECK(plain.mark(55s, '?') == "     ?    ");
  const Timeline halves{{0s, 100s}, 10, Charset::utf8};
  CHECK(halves.bar(0s, 100s) == "██████████");
  CHECK(halves.bar(0s, 4s) == "▌         ");
  CHECK(halves.bar(5s, 12s) == "▐▌        ");
  CHECK(halves.bar(25s, 44s) == "  ▐█▌     ");
  CHECK(halves.bar(40s, 49s) == "    █     ");
  CHECK(halves.bar(100s, 100s) == "         ▐");
}

TEST_CASE("what lies outside of a timeline is shown at its ends") {
  const Timeline plain{{100s, 200s}, 10, Charset::ascii};
  CHECK(plain.bar(0s, 119s) == "##        ");
  CHECK(plain.bar(190s, 900s) == "         #");
  CHECK(plain.mark(900s, '|') == "         |");
  CHECK(Timeline{{100s, 101s}, 1, Charset::ascii}.bar(100s, 100s) == "#");
}

TEST_CASE("the head of a timeline says when it begins and ends") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  struct Row {
    milliseconds length;
    std::size_t width;
    std::string head;
  };
  for (const Row& row : {Row{1min, 20, "12:00:00    12:01:00"},
                         {3h, 20, "12:00          15:00"},
                         {24h, 20, "11-20          11-21"},
                         // The same day of another month, and the same day of another year.
                         {30 * 24h, 20, "11-20          12-20"},
                         {365 * 24h, 20, "11-20          11-20"},
                         {3h, 9, "         "},
                         {1ms, 1, " "},
                         // Too narrow for seconds: the same minute is not written twice.
                         {59s, 12, "12:00       "}}) {
    CHECK(Timeline{{kNoon, kNoon + row.length}, row.width, {}}.head() == row.head);
  }
}

}  // namespace
}  // namespace redlock::look

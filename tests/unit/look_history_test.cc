// SPDX-License-Identifier: MIT
//
// What `redlock history` picks and how it draws; the rest is in tests/look/history.bats.
#include <doctest/doctest.h>

#include <array>
#include <string>

#include "diag/text.h"
#include "look/history.h"
#include "look/screen.h"
#include "os/clock.h"

namespace redlock::look {
namespace {

using namespace std::chrono_literals;
using Ending = PastRun::Ending;
using std::chrono::milliseconds;

constexpr milliseconds kNoon = 1'795'172'400s;

PastRun run(milliseconds began, std::optional<milliseconds> ended, Ending ending = Ending::ended) {
  PastRun run;
  run.began = kNoon + began;
  if (ended) run.ended = kNoon + *ended;
  run.ending = ending;
  run.goes_on = ending == Ending::running;
  return run;
}

const std::vector<PastRun> kRuns = {
    run(0s, 10s), run(12s, 12s, Ending::skipped), run(20s, 30s, Ending::lost),
    run(40s, std::nullopt, Ending::unknown), run(60s, std::nullopt, Ending::running)};

HistoryView at(milliseconds moment) {
  cli::History request;
  request.at = kNoon + moment;
  return view_of(kRuns, request);
}

HistoryView since(milliseconds moment) {
  cli::History request;
  request.since = kNoon + moment;
  return view_of(kRuns, request);
}

TEST_CASE("history: all, or from some time on, those that went on then included") {
  CHECK(view_of(kRuns, {}).runs.size() == 5);
  CHECK(view_of(kRuns, {}).log_begins == kNoon);
  CHECK_FALSE(view_of({}, {}).log_begins);
  CHECK(since(-1h).runs.size() == 5);
  CHECK(since(10s).runs.size() == 5);
  CHECK(since(11s).runs.size() == 4);
  CHECK(since(25s).runs.front().ending == Ending::lost);
  CHECK(since(45s).runs.size() == 1);  // one whose end is not known is where it began
  CHECK(since(1h).runs.front().ending == Ending::running);
}

TEST_CASE("history: until some time, those that began before it") {
  const auto until = [](milliseconds moment) {
    cli::History request;
    request.until = kNoon + moment;
    return view_of(kRuns, request).runs.size();
  };
  CHECK(until(0s) == 0);
  CHECK(until(12s) == 1);
  CHECK(until(12'001ms) == 2);
  CHECK(until(24h) == 5);
}

TEST_CASE("history: who held it at a time, or who did before and after") {
  CHECK(at(5s).runs.size() == 1);
  CHECK(at(0s).runs.size() == 1);
  CHECK(at(25s).runs.front().ending == Ending::lost);
  CHECK(at(1h).runs.front().ending == Ending::running);
  const HistoryView gap = at(12s);  // skipped runs hold nothing
  CHECK(gap.runs.empty());
  REQUIRE(gap.before);
  REQUIRE(gap.after);
  CHECK(gap.before->began == kNoon);
  CHECK(gap.after->began == kNoon + 20s);
  CHECK(at(10s).runs.empty());  // the end is no more part of it
  CHECK(at(50s).runs.empty());  // it may have expired
  CHECK(at(50s).before->ending == Ending::unknown);
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

TEST_CASE("history: bars lie where their time is, and something is seen of each") {
  const Timeline unicode{{kNoon, kNoon + 100s}, 10, diag::Charset::utf8};
  CHECK(unicode.bar(kNoon, kNoon + 100s) == "██████████");
  CHECK(unicode.bar(kNoon, kNoon) == "▌         ");
  CHECK(unicode.bar(kNoon + 100s, kNoon + 100s) == "         ▐");
  CHECK(unicode.bar(kNoon + 25s, kNoon + 44s) == "  ▐█▌     ");
  CHECK(unicode.bar(kNoon - 1h, kNoon + 1h) == "██████████");
  CHECK(unicode.mark(kNoon + 55s, '?') == "     ?    ");
  const Timeline ascii{{kNoon, kNoon + 100s}, 10, diag::Charset::ascii};
  CHECK(ascii.bar(kNoon + 25s, kNoon + 44s) == "  ###     ");
  // The shortest time.
  const Timeline none{{kNoon, kNoon + 1ms}, 3, diag::Charset::ascii};
  CHECK(none.bar(kNoon, kNoon) == "#  ");
  CHECK(none.head().size() == 3);
  for (const std::size_t width : {1U, 8U, 17U, 40U}) {
    CHECK(Timeline{{kNoon, kNoon + 9h}, width, diag::Charset::ascii}.head().size() == width);
  }
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
        const std::string table = as_table(
            {first, odd}, {}, {.width = 150, .charset = diag::Charset::ascii, .terminal = true});
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
  HistoryView view = view_of(kRuns, request);
  REQUIRE(view.runs.size() == 2);
  CHECK(view.runs[0].ending == Ending::lost);
  CHECK(view.runs[1].ending == Ending::unknown);
  request.last = 1;
  view = view_of(kRuns, request);
  REQUIRE(view.runs.size() == 1);
  CHECK(view.runs[0].ending == Ending::unknown);
  PastRun taken = run(0s, 1s);
  taken.ending = Ending::forced;
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

}  // namespace
}  // namespace redlock::look

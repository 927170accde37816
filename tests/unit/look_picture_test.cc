// SPDX-License-Identifier: MIT
//
// The picture of redlock history; that it is XML is tested in tests/look/picture.bats.
#include "look/history.h"

#include "doctest.h"

#include <string>

#include "contains.h"

namespace redlock::look {
namespace {

using namespace std::chrono_literals;
using Ending = PastRun::Ending;
using tests::contains;

constexpr std::chrono::milliseconds kPictureEnd = 1'795'172'400s;
constexpr Span kDay{kPictureEnd - 24h, kPictureEnd};

PastRun past_run(std::chrono::milliseconds ago, std::chrono::milliseconds length) {
  PastRun run;
  run.began = kPictureEnd - ago;
  run.ended = run.began + length;
  run.ending = Ending::ended;
  run.entry.status = 0;
  return run;
}

std::string drawn(std::vector<PastRun> runs) {
  HistoryView view;
  view.name = "L";
  view.runs = std::move(runs);
  return as_svg({view}, kDay);
}

TEST_CASE("picture: foreign text") {
  CHECK(escaped("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(escaped("\x1b[31m") == "?[31m");
  CHECK(escaped("\xef\xbf\xbf|\xef\xbf\xbe") == "?|?");
  CHECK(escaped("größe") == "größe");
  CHECK(escaped(std::string(100'000, 'x')).size() < 400);
}

TEST_CASE("picture: a bar stands where its run was, in percent") {
  // A margin of 2 percent on both sides.
  CHECK(contains(drawn({past_run(12h, 6h)}),
                 R"(class="run good" x="50.000%" y="105" width="24.000%")"));
  // What began before is cut off at the edge, and what goes on ends at the other.
  CHECK(contains(drawn({past_run(36h, 24h)}), R"(x="2.000%" y="105" width="48.000%")"));
  PastRun now = past_run(12h, 0h);
  now.ended.reset();
  now.ending = Ending::running;
  now.goes_on = true;
  CHECK(contains(drawn({now}), R"(class="run running" x="50.000%" y="105" width="48.000%")"));
  // Even the shortest is there.
  CHECK(contains(drawn({past_run(12h, 0h)}), R"(x="50.000%" y="105" width="0.020%")"));
}

TEST_CASE("picture: a wait is drawn before its bar, and none that was over before the picture") {
  for (const auto began : {12h, 23h, 25h, 36h}) {
    CAPTURE(began.count());
    PastRun run = past_run(began, 20h);
    run.entry.waited = 2h;
    CHECK(contains(drawn({run}), "<title>waited 2h") == (began < 24h));
  }
}

TEST_CASE("picture: bars that overlap stand in rows of their own") {
  const std::string apart = drawn({past_run(12h, 1h), past_run(11h, 1h)});
  CHECK_FALSE(contains(apart, R"(y="129")"));
  const std::string beside = drawn({past_run(12h, 2h), past_run(11h, 2h), past_run(9h, 1h)});
  CHECK(contains(beside, R"(class="run good" x="54.000%" y="129")"));
  CHECK(contains(beside, R"(class="run good" x="62.000%" y="105")"));
  // At most 16 rows: what has no row of its own stands in the last one.
  const std::string many = drawn(std::vector<PastRun>(20, past_run(12h, 1h)));
  CHECK(contains(many, R"(y="465")"));
  CHECK_FALSE(contains(many, R"(y="489")"));
}

TEST_CASE("picture: the page's table has the latest run first, and failures stand out") {
  PastRun failed = past_run(2h, 1h);
  failed.entry.status = 3;
  HistoryView view;
  view.runs = {past_run(4h, 1h), failed};
  const std::string page = as_html({view}, kDay);
  CHECK(page.find("<td class=\"outcome bad\">exit 3<") <
        page.find("<td class=\"outcome\">exit 0<"));
  CHECK(contains(page, "<td class=\"outcome\">exit 0<"));
}

TEST_CASE("picture: a narrow window has room for every second time") {
  const auto count = [text = drawn({})](std::string_view part) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
    return found;
  };
  CHECK(count(R"("tick")") > 2);
  CHECK(count(R"("faint odd")") == count(R"("tick")") / 2 * 2);
}

TEST_CASE("picture: each colour that its style uses is defined") {
  const std::string text = drawn({});
  for (std::size_t at = 0; (at = text.find("var(", at)) != text.npos; ++at) {
    const std::string name = text.substr(at + 4, text.find(')', at) - at - 4);
    CHECK_MESSAGE(contains(text, " " + name + ": "), name);
  }
}

TEST_CASE("picture: runs that were not needed are counted by their reason") {
  PastRun skipped = past_run(12h, 0h);
  skipped.ending = Ending::skipped;
  skipped.skips = 2;
  PastRun superseded = skipped;
  superseded.superseded = true;
  superseded.skips = 3;
  PastRun hold = past_run(6h, 6h);
  hold.entry.who = {.host = "h", .user = "u", .message = "new disk", .maintenance = true};
  const std::string text = drawn({past_run(6h, 1h), skipped, superseded, hold});
  CHECK(contains(text, "1 run, 1 hold, 2 skipped, 3 superseded"));
  CHECK(contains(text, "2 runs skipped (--once)</title>"));
  CHECK(contains(text, ">new disk</text>"));
}

TEST_CASE("picture: times that no clock shows") {
  PastRun odd = past_run(12h, 1h);
  odd.entry.waited = std::chrono::milliseconds::max();
  CHECK(contains(drawn({odd}), R"(class="wait" x="2.000%")"));
  odd.began = std::chrono::milliseconds(0);
  odd.entry.waited.reset();
  odd.ended = kPictureEnd + 1000h;
  CHECK(contains(drawn({odd}), R"(x="2.000%" y="105" width="96.000%")"));
  CHECK(contains(as_html({}, {kPictureEnd - 1s, kPictureEnd}), "</html>"));
}

}  // namespace
}  // namespace redlock::look

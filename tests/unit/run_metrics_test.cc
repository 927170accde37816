// SPDX-License-Identifier: MIT
#include "run/metrics.h"

#include "doctest.h"

#include <string>

namespace redlock::run {
namespace {

using namespace std::chrono_literals;
using std::chrono::system_clock;

constexpr auto kBegan = system_clock::time_point(1'763'712'345'678ms);

RunFacts a_run() {
  return {.waited = 1500ms, .job = RunFacts::Job{.began = kBegan, .ran = 2s, .fence = 42}};
}

/// The line of `text` that has this sample, up to its value.
std::string value(const std::string& text, const std::string& sample) {
  const std::size_t at = text.find("\n" + sample + " ");
  if (at == std::string::npos) return "none";
  const std::size_t begin = at + sample.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

TEST_CASE("metrics: a run that went well") {
  Metrics metrics;
  add_run(metrics["backup"], a_run(), 0);
  const std::string text = to_text(metrics);
  CHECK(text.starts_with("# HELP redlock_last_run_timestamp_seconds When "));
  CHECK(text.find("\n# TYPE redlock_last_run_timestamp_seconds gauge\n") != std::string::npos);
  CHECK(text.find("\n# TYPE redlock_lost_total counter\n") != std::string::npos);
  CHECK(value(text, "redlock_last_run_timestamp_seconds{lock=\"backup\"}") == "1763712345.678");
  CHECK(value(text, "redlock_last_success_timestamp_seconds{lock=\"backup\"}") == "1763712347.678");
  CHECK(value(text, "redlock_last_duration_seconds{lock=\"backup\"}") == "2.000");
  CHECK(value(text, "redlock_last_wait_seconds{lock=\"backup\"}") == "1.500");
  CHECK(value(text, "redlock_last_exit_status{lock=\"backup\"}") == "0");
  CHECK(value(text, "redlock_last_fence{lock=\"backup\"}") == "42");
  CHECK(value(text, "redlock_runs_total{lock=\"backup\"}") == "1");
  CHECK(value(text, "redlock_conflicts_total{lock=\"backup\"}") == "0");
  CHECK(value(text, "redlock_lost_total{lock=\"backup\"}") == "0");
}

TEST_CASE("metrics: what a run does not say anything about stays") {
  LockMetrics metrics;
  add_run(metrics, a_run(), 0);
  const LockMetrics first = metrics;

  SUBCASE("a job that fails is no success") {
    RunFacts run = a_run();
    run.job->began += 1h;
    add_run(metrics, run, 3);
    CHECK(metrics.runs == 2);
    CHECK(metrics.last_run_ms == first.last_run_ms + 3'600'000);
    CHECK(metrics.last_success_ms == first.last_success_ms);
    CHECK(metrics.last_exit_status == 3);
  }
  SUBCASE("a conflict is no run, with -E 0 either") {
    add_run(metrics, {.waited = 9s, .conflict = true}, 0);
    LockMetrics expected = first;
    expected.conflicts = 1;
    expected.last_wait_ms = 9000;
    CHECK(metrics == expected);
  }
  SUBCASE("a lock that was lost; a job's own 80 is nothing of the kind") {
    RunFacts run = a_run();
    add_run(metrics, run, 80);
    CHECK(metrics.lost == 0);
    run.lost = true;
    add_run(metrics, run, 80);
    CHECK(metrics.lost == 1);
    CHECK(metrics.runs == 3);
  }
  SUBCASE("a counter at its largest number does not begin again at 0") {
    metrics.runs = metrics.conflicts = metrics.lost = UINT64_MAX;
    RunFacts run = a_run();
    run.conflict = run.lost = true;
    add_run(metrics, run, 80);
    CHECK(metrics.runs == UINT64_MAX);
    CHECK(metrics.conflicts == UINT64_MAX);
    CHECK(metrics.lost == UINT64_MAX);
  }
  SUBCASE("a clock that went back gives no number below zero") {
    RunFacts run = a_run();
    run.waited = -1s;
    run.job->began = system_clock::time_point(-5s);
    run.job->ran = -1ns;
    add_run(metrics, run, 0);
    CHECK(metrics.last_wait_ms == 0);
    CHECK(metrics.last_run_ms == 0);
    CHECK(metrics.last_duration_ms == 0);
  }
}

TEST_CASE("metrics: a written file is read") {
  Metrics metrics;
  CHECK(parse_metrics("") == metrics);
  CHECK(parse_metrics(to_text(metrics)) == metrics);
  add_run(metrics["a"], a_run(), 0);
  add_run(metrics["q\"uo\\te} 1"], {.conflict = true}, 255);
  add_run(metrics["caf\xc3\xa9"], a_run(), 80);
  metrics["a"].last_fence = 18'446'744'073'709'551'615U;
  const std::string text = to_text(metrics);
  CHECK(text.find("redlock_last_exit_status{lock=\"q\\\"uo\\\\te} 1\"} 255\n") !=
        std::string::npos);
  CHECK(parse_metrics(text) == metrics);
}

TEST_CASE("metrics: an earlier version may have known less, or said it otherwise") {
  const auto metrics = parse_metrics(
      "# HELP redlock_runs_total How often.\n"
      "# TYPE redlock_runs_total counter\n"
      "redlock_runs_total{lock=\"a\"} 7\n");
  REQUIRE(metrics);
  CHECK(metrics->at("a") == LockMetrics{.runs = 7});
}

TEST_CASE("metrics: anything else is not ours") {
  const char* const others[] = {
      "\n",
      "hello\n",
      "# HELP node_load1 1m load average.\n",
      "node_load1 0.5\n",
      "redlock_runs_total 7\n",
      "redlock_runs_total{lock=\"a\"} 7",  // cut off
      "redlock_runs_total{lock=\"a\"} \n",
      "redlock_runs_total{lock=\"a\"} -7\n",
      "redlock_runs_total{lock=\"a\"} +7\n",
      "redlock_runs_total{lock=\"a\"} 7 \n",
      "redlock_runs_total{lock=\"a\"} 7.000\n",
      "redlock_runs_total{lock=\"a\"} 7 1763712345678\n",
      "redlock_runs_total{lock=\"a\"}  7\n",
      "redlock_runs_total{lock=\"a\"} 18446744073709551616\n",
      "redlock_runs_total{lock=\"a\",host=\"b\"} 7\n",
      "redlock_runs_total{name=\"a\"} 7\n",
      "redlock_runs_total{lock=\"a} 7\n",
      "redlock_runs_total{lock=\"a\\",
      "redlock_runs_total{lock=\"a\\\n",
      "redlock_runs_total{lock=\"a\\n\"} 7\n",
      "redlock_unheard_of_total{lock=\"a\"} 7\n",
      "redlock_last_wait_seconds{lock=\"a\"} 7\n",
      "redlock_last_wait_seconds{lock=\"a\"} 7.5\n",
      "redlock_last_wait_seconds{lock=\"a\"} 7.0001\n",
      "redlock_last_wait_seconds{lock=\"a\"} .000\n",
      "redlock_last_wait_seconds{lock=\"a\"} 7.-01\n",
      "redlock_last_wait_seconds{lock=\"a\"} NaN\n",
      "redlock_last_wait_seconds{lock=\"a\"} 18446744073709551615.000\n",
  };
  for (const char* text : others) {
    CAPTURE(text);
    CHECK_FALSE(parse_metrics(text));
  }
}

}  // namespace
}  // namespace redlock::run

// SPDX-License-Identifier: MIT
//
// What servers store about the holders of a lock, as a stranger may have written it.
#include "records/records.h"

#include "diag/blocker.h"
#include "diag/reporter.h"
#include "fuzz.h"
#include "lock/value.h"
#include "observe/json.h"
#include "redis/requests/answer.h"

namespace redlock::fuzz {

using namespace std::chrono_literals;

void holder(std::string_view input) {
  if (const auto read = records::read_holder(input)) {
    const std::string written = records::to_json(*read);
    const auto again = records::read_holder(written);
    require(again && records::to_json(*again) == written, "a record is read as it is written");
    require(read->ttl >= 0ms && read->since >= 0ms, "no time is below zero");
    static_cast<void>(observe::holder_json(read, {}).output());
    require(lock::read_value(records::revoked_value(std::string(40, 'a'), *read)).kind ==
                lock::Value::Kind::revoked,
            "a revocation is read as one");
    require(records::revoked_value(std::string(40, 'a'), *read).size() < 600,
            "a revocation is short");
  }
  if (const auto refused = records::read_refused(input)) {
    const std::string written = records::to_json(*refused);
    const auto again = records::read_refused(written);
    require(again && records::to_json(*again) == written, "a refusal is read as it is written");
  }
  const lock::Refused refusal{
      .blocker = std::string(40, 'b'), .ttl_left = 5s, .holder = std::string(input)};
  static_cast<void>(diag::describe(refusal));
  static_cast<void>(diag::name_blocker(refusal));
}

void log_entry(std::string_view input) {
  const auto read = records::read_log_entry(input);
  if (!read) return;
  const std::string written = records::to_json(*read);
  const auto again = records::read_log_entry(written);
  require(again && records::to_json(*again) == written, "a line is read as it is written");
}

void notice(std::string_view input) {
  if (const auto in = redis::read_wake_up(input)) {
    require(*in >= 0ms && *in <= 366 * 24h + 1ms, "a wake-up is for a time that can be waited for");
  }
  const std::string text(input);
  static_cast<void>(records::revocation_in_notice(text));
  static_cast<void>(records::read_revocation(text));
  static_cast<void>(diag::revoked_by({{0, lock::NotMine{text}}}, text));
  const lock::Refused refusal{.blocker = text, .ttl_left = std::nullopt, .holder = {}};
  static_cast<void>(diag::describe(refusal));
  os::Stderr out;
  diag::Reporter reporter(out, "L", {"db1"}, diag::Verbosity::detailed, {.shown = true});
  reporter.say_notice(0, text);
  reporter.say(lock::report::Stopping{.reason = lock::StopReason::lost,
                                      .complaints = {{0, lock::NotMine{text, true}}}});
  reporter.say(lock::report::Contended{
      .refusal = refusal, .when = lock::report::Contended::When::begins, .waited = {}});
  const std::string said = take_stderr();
  require(std::string_view(said).substr(0, 9) == "redlock: ", "redlock says something");
  require_clean_lines(said);
}

}  // namespace redlock::fuzz

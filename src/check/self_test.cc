// SPDX-License-Identifier: MIT
#include "check/self_test.h"

#include <algorithm>
#include <utility>

#include "driver/holder_info.h"
#include "driver/setup.h"
#include "os/clock.h"
#include "os/random.h"

namespace redlock::check {

namespace {

lock::Plan test_plan(const config::Settings& settings) {
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl, .grace = std::min(settings.grace(), settings.ttl / 3)},
      .patience = {.wait = lock::Duration::zero(), .server_wait = settings.server_wait},
      .max_runtime = std::nullopt,
      .server_timeout = settings.request_timeout(),
      .seed = os::random_seed(),
  };
}

}  // namespace

SelfTest::SelfTest(const config::Settings& settings, const driver::LockId& lock)
    : plan_(test_plan(settings)),
      patience_(2 * (settings.request_timeout() + settings.connect_timeout())),
      servers_(driver::open_servers(
          settings, lock,
          driver::record_of(driver::describe_ourselves(settings, lock, {"redlock", "check"})))),
      session_(plan_, os::boot_now()),
      driver_(session_, *this, servers_, signals_, {}) {
  result_.servers.resize(settings.servers.size());
}

SelfTestResult SelfTest::run() {
  driver::require_connections(servers_.size());
  driver_.run();
  result_.outcome = session_.outcome();
  // A quorum is enough for the session, but this test waits for the release on every server.
  while (servers_.deadline() != lock::kNever) driver_.turn();
  return std::move(result_);
}

/// Acts as the job. Needs no subscriptions, and writes no log.
bool SelfTest::perform(const lock::Effect& effect, lock::Instant now) {
  if (std::holds_alternative<lock::Ask>(effect)) return false;
  if (const auto* report = std::get_if<lock::Report>(&effect)) {
    note(*report);
  } else if (std::holds_alternative<lock::Spawn>(effect)) {
    holding_ = true;
    go_on_by_ = now + patience_;
    driver_.step(lock::JobStarted{}, now);
  } else if (holding_ && std::holds_alternative<lock::Kill>(effect)) {
    holding_ = false;  // there is no process to kill
    driver_.step(lock::JobExited{0}, now);
    driver_.step(lock::JobTreeGone{}, now);
  }
  return true;
}

/// The work of the pretended job: waits until all servers have voted, then until all have renewed,
/// and ends.
void SelfTest::turned(lock::Instant now) {
  if (!holding_ || session_.finished()) return;
  const bool late = now >= go_on_by_;
  if (!jumped_) {
    if (!late && !all_answered(&SelfTestResult::Steps::acquired)) return;
    jumped_ = true;
    driver_.jump(plan_.timing.renew_every());
    go_on_by_ = driver_.now() + patience_;
    driver_.step(lock::Tick{}, driver_.now());
  } else if (late || all_answered(&SelfTestResult::Steps::renewed)) {
    holding_ = false;
    driver_.step(lock::JobExited{0}, now);
  }
}

bool SelfTest::all_answered(Step step) const {
  return std::ranges::all_of(result_.servers,
                             [step](const auto& server) { return (server.*step).has_value(); });
}

bool SelfTest::take_signal(const lock::Signal& signal, lock::Instant now) {
  if (!signal.ends_waiting) return true;
  result_.interrupted = signal.number;
  if (session_.finished()) return true;
  if (!std::exchange(holding_, false)) return false;
  driver_.step(lock::JobExited{}, now);
  return true;
}

void SelfTest::note(const lock::Report& report) {
  if (const auto* acquired = std::get_if<lock::report::Acquired>(&report)) {
    result_.grant = *acquired;
  } else if (const auto* contended = std::get_if<lock::report::Contended>(&report)) {
    result_.holder = contended->refusal;
  } else if (const auto* unavailable = std::get_if<lock::report::Unavailable>(&report)) {
    result_.complaints = unavailable->complaints;
  }
}

void SelfTest::heard(const lock::Reply& reply) {
  SelfTestResult::Steps& server = result_.servers.at(reply.ask.server);
  switch (reply.ask.op) {
    case lock::Op::acquire:
      server.acquired = reply.answer;
      return;
    case lock::Op::renew:
      server.renewed = reply.answer;
      return;
    case lock::Op::release:
    case lock::Op::leave:
      server.released = reply.answer;
      return;
    case lock::Op::commit:
    case lock::Op::repair:
    case lock::Op::mark:
    case lock::Op::unmark:
    case lock::Op::inquire:
    case lock::Op::leave_queue:
      return;
  }
}

}  // namespace redlock::check

// SPDX-License-Identifier: MIT
#include "check/trial.h"

#include <algorithm>
#include <utility>

#include "driver/holder_info.h"
#include "os/clock.h"
#include "os/random.h"

namespace redlock::check {

namespace {

lock::Plan trial_plan(const config::Settings& settings) {
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl, .grace = settings.grace()},
      .patience = {.wait = lock::Duration::zero(), .server_wait = settings.server_wait},
      .max_runtime = std::nullopt,
      .server_timeout = settings.request_timeout(),
      .seed = os::random_seed(),
  };
}

}  // namespace

Trial::Trial(const config::Settings& settings, const std::string& name)
    : plan_(trial_plan(settings)),
      patience_(2 * (settings.request_timeout() + settings.connect_timeout())),
      servers_(
          settings.servers, {.prefix = settings.prefix, .name = name}, settings.ttl,
          [who = driver::describe_ourselves(settings, {"redlock", "check"})] {
            return diag::to_json(diag::since_now(who));
          },
          {.request = settings.request_timeout(), .connect = settings.connect_timeout()},
          settings.restart_grace, settings.tls),
      session_(plan_, os::boot_now()) {
  result_.servers.resize(settings.servers.size());
}

lock::Instant Trial::now() const {
  return os::boot_now() + jump_;
}

TrialResult Trial::run() {
  step(lock::Tick{});
  while (!session_.finished()) turn();
  result_.outcome = session_.outcome();
  // A quorum is enough for the session; here it is every server's release that counts.
  while (servers_.deadline() != lock::kNever) turn();
  return std::move(result_);
}

void Trial::turn() {
  const lock::Instant deadline = session_.finished()
                                     ? servers_.deadline()
                                     : std::min(session_.deadline(), servers_.deadline());
  interests_.assign(1, os::Interest{.fd = signals_.fd(), .read = true});
  servers_.interests(interests_);
  const bool due = deadline <= now();
  loop_.wait(interests_,
             due ? os::boot_now() : (deadline == lock::kNever ? deadline : deadline - jump_));
  if (!session_.finished()) step(lock::Tick{});
  if (interests_.front().ready) take_signals();
  for (const lock::Reply& reply : servers_.turn(now())) {
    note(reply);
    if (!session_.finished()) step(reply);
  }
  if (holding_ && !session_.finished()) go_on();
}

void Trial::step(const lock::Event& event) {
  consequences_.push_back(event);
  while (!consequences_.empty()) {
    const lock::Event next = std::move(consequences_.front());
    consequences_.erase(consequences_.begin());
    for (const lock::Effect& effect : session_.step(next, now())) perform(effect);
  }
}

void Trial::perform(const lock::Effect& effect) {
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    servers_.ask(*ask, now());
  } else if (const auto* report = std::get_if<lock::Report>(&effect)) {
    note(*report);
  } else if (std::holds_alternative<lock::Spawn>(effect)) {
    holding_ = true;
    go_on_by_ = now() + patience_;
    consequences_.emplace_back(lock::JobStarted{});
  } else if (holding_ && std::holds_alternative<lock::Kill>(effect)) {
    holding_ = false;  // there is nobody to kill
    consequences_.emplace_back(lock::JobExited{0});
    consequences_.emplace_back(lock::JobTreeGone{});
  }
}

/// What a job does while it holds the lock: it waits until all servers have voted, then until all
/// have renewed, and ends.
void Trial::go_on() {
  const bool late = now() >= go_on_by_;
  if (jump_ == lock::Duration::zero()) {
    if (!late && !all_answered(&TrialResult::Steps::acquired)) return;
    jump_ = plan_.timing.renew_every();
    go_on_by_ = now() + patience_;
    step(lock::Tick{});
  } else if (late || all_answered(&TrialResult::Steps::renewed)) {
    holding_ = false;
    step(lock::JobExited{0});
  }
}

bool Trial::all_answered(Step step) const {
  return std::ranges::all_of(result_.servers,
                             [step](const auto& server) { return (server.*step).has_value(); });
}

void Trial::take_signals() {
  for (const os::ReceivedSignal& signal : signals_.take()) {
    if (signal.number == SIGCHLD || !os::ends_process_by_default(signal.number)) continue;
    result_.interrupted = signal.number;
    if (holding_) {
      holding_ = false;
      step(lock::JobExited{});
    } else if (!session_.finished()) {
      step(lock::Signal{signal.number, true});
    }
  }
}

void Trial::note(const lock::Report& report) {
  if (const auto* acquired = std::get_if<lock::report::Acquired>(&report)) {
    result_.grant = *acquired;
  } else if (const auto* contended = std::get_if<lock::report::Contended>(&report)) {
    result_.holder = contended->refusal;
  } else if (const auto* unavailable = std::get_if<lock::report::Unavailable>(&report)) {
    result_.complaints = unavailable->complaints;
  }
}

void Trial::note(const lock::Reply& reply) {
  TrialResult::Steps& server = result_.servers.at(reply.ask.server);
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

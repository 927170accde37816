// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <new>
#include <utility>

#include "diag/blocker.h"
#include "diag/text.h"
#include "lock/value.h"
#include "os/clock.h"
#include "redis/requests/answer.h"
#include "redis/requests/keys.h"

namespace redlock::driver {

/// For servers that are about to answer; see redis::Link::loses_requests().
constexpr lock::Duration kLateAnswers = std::chrono::milliseconds(50);

Driver::Driver(lock::Machine& machine, Host& host, redis::ServerSet& servers,
               os::SignalSource& signals, Voices voices, os::Loop loop)
    : drive_(machine, *this),
      host_(host),
      servers_(servers),
      signals_(signals),
      voices_(voices),
      loop_(std::move(loop)) {}

Driver::Driver(Driver& parents, Host& host, os::Loop loop)
    : Driver(parents.drive_.machine(), host, parents.servers_, parents.signals_, parents.voices_,
             std::move(parents.loop_)) {
  loop_ = std::move(loop);  // closes the other one here
  replies_.swap(parents.replies_);
}

lock::Instant Driver::now() const {
  return os::boot_now() + ahead_;
}

void Driver::run() {
  step(lock::Tick{}, now());
  hand_on_replies(now());
  while (!over()) iterate();
  if (stopped_) return;
  finish_requests([this] { return !servers_.loses_requests(); }, now() + kLateAnswers);
  // Only now: a request after it, such as a release, might get lost (ServerSet::note_refusal).
  try {
    if (given_up_) servers_.note_refusal(given_up_->host, given_up_->data, now());
  } catch (const std::bad_alloc&) {  // as for a line of the log
    return;
  }
}

void Driver::iterate() {
  wait();
  const lock::Instant now = this->now();
  if (!over()) step(lock::Tick{}, now);
  if (stopped_) return;
  const bool signalled = interests_[0].ready;
  if (signalled) take_signals(now);
  if (!stopped_) host_.poll_process(signalled || interests_[1].ready, now);
  // The start of a job takes time, so the machine may have taken a later event since.
  if (!stopped_) take_replies(std::max(now, drive_.latest()));
  if (!stopped_) take_messages(std::max(now, drive_.latest()));
  if (!stopped_) host_.iterated(std::max(now, drive_.latest()));
}

void Driver::wait() {
  interests_.assign(1, os::Interest{.fd = signals_.fd(), .read = true});
  interests_.push_back(host_.watch());
  servers_.interests(interests_);
  lock::Instant deadline = std::min(servers_.deadline(), host_.deadline());
  if (!over()) deadline = std::min(deadline, drive_.machine().deadline());
  await(interests_, deadline);
}

void Driver::await(std::span<os::Interest> interests, lock::Instant deadline) {
  const bool due = deadline <= now();
  if (due) deadline = lock::Instant::min();
  const bool shifts = !due && deadline != lock::kNever;  // the others are no times of a clock
  try {
    loop_.wait(interests, shifts ? deadline - ahead_ : deadline);
  } catch (const std::exception&) {
    if (!host_.tolerates_failures()) throw;
    const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
    ::nanosleep(&pause, nullptr);
    for (os::Interest& interest : interests) interest.ready = interest.fd >= 0;
  }
}

void Driver::take_signals(lock::Instant now) {
  for (const os::ReceivedSignal& received : signals_.take()) {
    if (received.number == SIGCHLD || stopped_) continue;
    const lock::Signal signal{received.number, os::ends_process_by_default(received.number)};
    if (!host_.take_signal(signal, now)) step(signal, now);
  }
}

/// Notices come first: one may tell who revoked the lock that the replies miss.
void Driver::take_replies(lock::Instant now) {
  for (lock::Reply& reply : servers_.turn(now)) replies_.push_back(std::move(reply));
  notices_ = servers_.subscribers().take();
  for (const redis::Notice& notice : notices_) {
    if (voices_.reporter != nullptr) voices_.reporter->say_notice(notice.server, notice.text);
  }
  hand_on_replies(now);
}

void Driver::hand_on_replies(lock::Instant now) {
  while (!replies_.empty() && !stopped_) {
    lock::Reply reply = std::move(replies_.front());
    replies_.pop_front();
    if (voices_.reporter != nullptr) voices_.reporter->say_vote(reply);
    host_.heard(reply);
    if (!over()) step(std::move(reply), now);
  }
}

void Driver::take_messages(lock::Instant now) {
  for (const redis::Notice& notice : std::exchange(notices_, {})) {
    if (!over()) step(lock::Notice{.released = notice.text == redis::kReleasedNotice}, now);
  }
  for (const redis::Notice& wake_up : servers_.take_wake_ups(now)) {
    if (wake_up.text.empty()) {
      if (voices_.reporter != nullptr) voices_.reporter->say_listening(wake_up.server);
      if (!over()) step(lock::Subscribed{wake_up.server}, now);
    } else if (const auto in = redis::read_wake_up(wake_up.text)) {
      const bool by_redisson = wake_up.text == redis::kUnlocked;
      if (voices_.reporter != nullptr) {
        voices_.reporter->say_wake_up(wake_up.server, *in, by_redisson);
      }
      if (!over()) step(lock::Woken{*in}, now);
    }
  }
}

void Driver::perform(const lock::Effect& effect, lock::Instant now) {
  const auto* report = std::get_if<lock::Report>(&effect);
  if (report != nullptr && voices_.who != nullptr) note_giving_up(*report, *voices_.who);
  if (host_.perform(effect, now)) return;
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    servers_.ask(*ask, now);
  } else if (const auto* listen = std::get_if<lock::Subscribe>(&effect)) {
    servers_.subscribe(listen->attempt, now);
  } else if (const auto* join = std::get_if<lock::JoinQueue>(&effect)) {
    servers_.join_queue(join->ticket, join->early, now);
  } else if (const auto* order = std::get_if<lock::Replace>(&effect)) {
    replace(*order, now);
  } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
    log(*line, now);
  }
}

void Driver::log(const lock::Log& line, lock::Instant now) {
  const bool of_wait =
      line.event == lock::Log::Event::superseded || line.event == lock::Log::Event::revoked;
  if (voices_.who == nullptr || (voices_.only_waits && !of_wait)) return;
  try {
    servers_.log(line, records::word_for(line.event),
                 to_json(records::log_entry(line, *voices_.who)), now);
    if (line.hold > lock::Duration::zero()) {
      const records::Holder hold = records::hold_after(line, *voices_.who);
      servers_.describe_hold(to_json(hold));
      servers_.log(line, "acquired", to_json(records::LogEntry{.who = hold, .fence = line.fence}),
                   now);
    }
  } catch (const std::bad_alloc&) {  // no job ends because a line has no memory
    return;
  }
}

/// Not a maintenance hold, whose holder has reasons and no job to stop, and not a newer build. One
/// server may know what the others do not.
void Driver::replace(const lock::Replace& order, lock::Instant now) {
  if (voices_.who == nullptr) return;
  for (const auto& [server, refusal] : order.refusals) {
    const auto holder = records::read_holder(refusal.holder);
    if (holder && (holder->maintenance || holder->build > voices_.who->build)) return;
  }
  records::Holder by = records::since_now(*voices_.who);
  by.replaces = true;
  for (const auto& [server, refusal] : order.refusals) {
    servers_.ask({.server = server,
                  .attempt = lock::kNoAttempt,
                  .operation = lock::op::Revoke{records::revoked_value(
                      lock::read_value(refusal.blocker).token, by)}},
                 now);
  }
}

/// If `who` gives up because another run has the lock, run() tells that to the servers at its end,
/// for `redlock history --refused`.
void Driver::note_giving_up(const lock::Report& report, const records::Holder& who) {
  const auto* contended = std::get_if<lock::report::Contended>(&report);
  if (contended == nullptr || contended->when != lock::report::Contended::When::gives_up) return;
  try {
    const auto holder =
        contended->refusal ? records::read_holder(contended->refusal->holder) : std::nullopt;
    std::string held_by = holder ? diag::person(*holder) : "";
    const std::string work = holder ? diag::work_of(*holder) : "";
    if (!work.empty()) held_by += " (" + work + ")";
    given_up_ = {records::as_field(who.host),
                 records::to_json(records::Refused{who.user, who.command, std::move(held_by)})};
  } catch (const std::bad_alloc&) {  // as for a line of the log
    return;
  }
}

ssize_t Driver::await_message(const os::Fd& from, void* message, std::size_t size,
                              lock::Instant limit) {
  std::array<os::Interest, 1> interests{os::Interest{.fd = from.get(), .read = true}};
  ssize_t length = -1;
  do {
    await(interests, limit);
    length = ::read(from.get(), message, size);
  } while (length < 0 && os::boot_now() < limit);
  return length;
}

void Driver::finish_requests(const std::function<bool()>& done, lock::Instant limit) {
  std::vector<os::Interest> interests;
  while (!done() && now() < limit) {
    interests.clear();
    servers_.interests(interests);
    await(interests, std::min(limit, servers_.deadline()));
    for (const lock::Reply& reply : servers_.turn(now())) host_.heard(reply);
  }
}

Exit exit_of(const lock::Outcome& outcome, ChosenStatus chosen) {
  switch (outcome.kind) {
    case lock::Outcome::Kind::job_ended:
    case lock::Outcome::Kind::not_started:
      return outcome.number;
    case lock::Outcome::Kind::superseded:
    case lock::Outcome::Kind::conflict:
      return chosen.conflict;
    case lock::Outcome::Kind::done:
      return chosen.done;
    case lock::Outcome::Kind::unavailable:
      return ExitStatus::unavailable;
    case lock::Outcome::Kind::misconfigured:
      return ExitStatus::config;
    case lock::Outcome::Kind::interrupted:
      return Exit::by_signal(outcome.number);
    case lock::Outcome::Kind::lost:
      return ExitStatus::lost;
    case lock::Outcome::Kind::max_runtime:
      return ExitStatus::max_runtime;
  }
  return ExitStatus::os_error;
}

bool give_back(Driver& driver, lock::Duration patience) noexcept {
  constexpr int kTries = 3;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 20'000'000};
  redis::ServerSet& servers = driver.servers();
  for (int tries = 0; tries < kTries && servers.owes(); ++tries) {
    try {
      servers.give_back_all(os::boot_now());
      driver.finish_requests([&servers] { return !servers.owes(); }, driver.now() + patience);
    } catch (const std::exception&) {
      // The connection that failed is closed, and the next attempt opens a new one.
      ::nanosleep(&kPause, nullptr);
    }
  }
  return !servers.owes();
}

void give_back(Driver& driver, const lock::Plan& plan, const std::string& name,
               os::Stderr& out) noexcept {
  if (give_back(driver, plan.server_timeout)) return;
  try {
    out.line(
        fmt::format("redlock: warning: {} could not be released, it may stay locked for up to {}",
                    diag::lock_name(name), diag::for_people(plan.timing.life())));
  } catch (const std::exception&) {
    os::last_words("redlock: warning: out of memory, the lock may stay locked until it expires\n");
  }
}

const char* reason_of(const std::exception& error) noexcept {
  return dynamic_cast<const std::bad_alloc*>(&error) == nullptr ? error.what() : "out of memory";
}

}  // namespace redlock::driver

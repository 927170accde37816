// SPDX-License-Identifier: MIT
#include "driver/driver.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <exception>
#include <new>
#include <utility>

#include "os/clock.h"
#include "records/log_entry.h"
#include "redis/requests/keys.h"
#include "redis/requests/queue.h"

namespace redlock::driver {

Driver::Driver(lock::Machine& machine, Host& host, redis::ServerSet& servers,
               os::SignalSource& signals, Voices voices, os::Loop loop)
    : drive_(machine, *this),
      host_(host),
      servers_(servers),
      signals_(signals),
      voices_(voices),
      loop_(std::move(loop)) {}

lock::Instant Driver::now() const {
  return os::boot_now() + ahead_;
}

void Driver::run() {
  step(lock::Tick{}, now());
  while (!over()) turn();
}

void Driver::turn() {
  wait();
  const lock::Instant now = this->now();
  if (!over()) step(lock::Tick{}, now);
  if (stopped_) return;
  const bool signalled = interests_[0].ready;
  if (signalled) take_signals(now);
  if (!stopped_) host_.look(signalled || interests_[1].ready, now);
  // The machine may have taken a later event meanwhile: the start of a job takes time.
  if (!stopped_) take_replies(std::max(now, drive_.latest()));
  if (!stopped_) take_messages(std::max(now, drive_.latest()));
  if (!stopped_) host_.turned(std::max(now, drive_.latest()));
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
    if (!host_.bears_refusals()) throw;
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

void Driver::take_replies(lock::Instant now) {
  for (lock::Reply& reply : servers_.turn(now)) {
    if (voices_.reporter != nullptr) voices_.reporter->say_vote(reply);
    host_.heard(reply);
    if (!over()) step(std::move(reply), now);
    if (stopped_) return;
  }
}

void Driver::take_messages(lock::Instant now) {
  for (const redis::Notice& notice : servers_.take_notices()) {
    if (voices_.reporter != nullptr) voices_.reporter->say_notice(notice.server, notice.text);
    if (!over()) step(lock::Notice{.released = notice.text == redis::kReleasedNotice}, now);
  }
  for (const redis::Notice& wake_up : servers_.take_wake_ups()) {
    if (wake_up.text.empty()) {
      if (!over()) step(lock::Subscribed{wake_up.server}, now);
    } else if (const auto in = redis::read_wake_up(wake_up.text)) {
      if (voices_.reporter != nullptr) voices_.reporter->say_wake_up(wake_up.server, *in);
      if (!over()) step(lock::Woken{*in}, now);
    }
  }
}

void Driver::perform(const lock::Effect& effect, lock::Instant now) {
  if (host_.perform(effect, now)) return;
  if (const auto* ask = std::get_if<lock::Ask>(&effect)) {
    servers_.ask(*ask, now);
  } else if (const auto* listen = std::get_if<lock::Subscribe>(&effect)) {
    servers_.subscribe(listen->attempt, now);
  } else if (const auto* join = std::get_if<lock::JoinQueue>(&effect)) {
    servers_.join_queue(join->ticket, now);
  } else if (const auto* line = std::get_if<lock::Log>(&effect)) {
    log(*line, now);
  }
}

/// The log is for people only: a job must not die because there is no memory for a line.
void Driver::log(const lock::Log& line, lock::Instant now) {
  if (voices_.who == nullptr) return;
  try {
    servers_.log(line, records::word_for(line.event),
                 to_json(records::log_entry(line, *voices_.who)), now);
  } catch (const std::bad_alloc&) {
    return;
  }
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

void Driver::part() {
  finish_requests([this] { return !servers_.amid_answers(); }, now() + servers_.request_timeout());
}

}  // namespace redlock::driver

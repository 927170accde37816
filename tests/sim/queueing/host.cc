// SPDX-License-Identifier: MIT
#include "queueing/host.h"

#include <utility>

#include "queueing/world.h"

namespace redlock::sim::queueing {

namespace {

/// Servers have been up for a while.
constexpr Time kStart = std::chrono::seconds(1'700'000'000);
constexpr std::int64_t kUpForMs = 10'000'000;

}  // namespace

std::size_t scripts_of(const Request& request) {
  return request.op == lock::Op::leave && !request.joins_queue ? 2 : 1;
}

void Host::begin(std::size_t index, World& world, Timeline& timeline, const LockSettings& settings,
                 Interpreter& interpreter) {
  index_ = index;
  world_ = &world;
  timeline_ = &timeline;
  const Clock clock(0, kStart);
  server_.reset(static_cast<std::uint32_t>(index), clock,
                kStart / std::chrono::milliseconds(1) - kUpForMs, lock_key(0), settings,
                interpreter);
  // The lock was used before, so the servers agree on the next number.
  server_.set_fence(41, true);
  server_.set_wake([this](Waiter waiter, lock::Duration in) {
    if (!subscribers_.contains(waiter)) return false;
    world_->deliver(index_, waiter, in);
    return true;
  });
}

void Host::take(const Request& request, std::function<void(const lock::Answer&)> answer) {
  if (!up_) return;
  if (stopped_) {
    arrived_.push_back({request, std::move(answer)});
    return;
  }
  const lock::Answer response = server_.execute(request, timeline_->now());
  evals_ += scripts_of(request);
  world_->executed(*this, request);
  answer(response);
}

void Host::resume() {
  stopped_ = false;
  trouble_ = timeline_->now();
  for (Arrived& each : std::exchange(arrived_, {})) take(each.request, std::move(each.answer));
}

void Host::crash() {
  up_ = stopped_ = false;
  trouble_ = timeline_->now();
  ++life_;
  arrived_.clear();
  subscribers_.clear();
}

void Host::come_back(Server::Restart how) {
  up_ = true;
  trouble_ = timeline_->now();
  server_.restart(how, timeline_->now());
}

void Host::set_clock_by(Time step) {
  trouble_ = timeline_->now();
  server_.step_clock(step, trouble_);
}

}  // namespace redlock::sim::queueing

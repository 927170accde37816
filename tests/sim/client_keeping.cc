// SPDX-License-Identifier: MIT
//
// A host with `redlock acquire --keep-for` on it: the loop of a keeper around a real
// lock::Keeping, and a ward, which nobody stops.
#include <utility>

#include "client.h"

namespace redlock::sim {

void Client::hear_released(std::uint32_t session) {
  if (!session_ || session != run()) return;
  word_ = true;
  turn();
}

bool Client::keeps(Token token) const {
  return keeping_ && job_.leader && token == kept_;
}

bool Client::is_finished() const {
  return drive_->machine().finished();
}

/// What was started is no job but a ward: it lives on without the lock, if it wants to.
void Client::begin_keeping(const lock::Spawn& order) {
  kept_ = tokens_.lock(order.attempt);
  job_.lingers = false;
  checks().ward_started(index_);
  keeping_.emplace(
      *session_, scene_->schedule->servers,
      lock::Log{
          .event = lock::Log::Event::acquired, .attempt = order.attempt, .fence = order.fence});
  drive_->change_machine(*keeping_);
}

void Client::lose_ward(lock::Instant local) {
  if (scene_->story->on()) say("has no ward any more");
  checks().ward_ended(kept_);
  step(lock::JobExited{}, local);
  finish_turn(local);
}

void Client::warn_ward() {
  if (!keeping_ || !keeping_->warns() || std::exchange(warned_, true)) return;
  if (scene_->story->on()) say("tells its ward that the lock is not kept any more");
  checks().ward_warned(index_, kept_, now());
}

/// The lock is left to expire; by who has not warned its ward, nothing is left.
void Client::end_keeping() {
  if (scene_->story->on()) say("ends, and leaves the lock to expire");
  const bool orderly = !keeping_->warns();
  for (std::size_t i = 0; i < scene_->schedule->servers; ++i) links_[i].end(orderly);
  job_.leader = job_.tree = false;
  keeping_.reset();
  session_.reset();
  start_later();
}

}  // namespace redlock::sim

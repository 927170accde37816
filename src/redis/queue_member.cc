// SPDX-License-Identifier: MIT
#include "redis/queue_member.h"

#include <utility>

#include "os/random.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kWaiterBytes = 10;

}  // namespace

QueueMember::QueueMember(const Routes& routes, Voters& voters)
    : routes_(routes), voters_(voters), places_(routes.size()) {}

void QueueMember::join(lock::Instant now) {
  const std::string& key = voters_.lock_key();
  if (waiter_.empty()) waiter_ = os::random_hex(kWaiterBytes);
  if (subscribers_.empty()) subscribers_.open(routes_, wake_channel(key, waiter_));
  subscribers_.subscribe(now);
  left_ = false;
  ++joins_;
  voters_.note_with_echo(encode_join_queue(key, waiter_, voters_.holder()), now);
}

void QueueMember::leave(const lock::Ask& ask, lock::Instant now) {
  if (!std::exchange(left_, true)) {
    subscribers_ = Subscribers();
    subscribed_.clear();
    places_.assign(routes_.size(), std::nullopt);
  }
  voters_.ask_if_connected(ask, {encode_leave_queue(voters_.lock_key(), waiter_), 1}, now);
}

/// An answer counts until the answer to the next join() has had its time to come.
std::optional<QueuePlace> QueueMember::place() const {
  std::optional<QueuePlace> farthest;
  for (const auto& answered : places_) {
    if (!answered || answered->join + 1 < joins_) continue;
    if (!farthest || answered->place.place > farthest->place) farthest = answered->place;
  }
  return farthest;
}

std::vector<Notice> QueueMember::take_wake_ups() {
  std::vector<Notice> notices = subscribers_.take();
  // A subscription that is made again after its connection broke is no news. Where connections
  // break all the time, it would make us ask, subscribe and ask again for ever. A wake-up that was
  // missed meanwhile costs a little time.
  std::erase_if(notices, [this](const Notice& notice) {
    return notice.text.empty() && !subscribed_.insert(notice.server).second;
  });
  return notices;
}

void QueueMember::turn(lock::Instant now) {
  for (lock::ServerIndex server = 0; server < places_.size(); ++server) {
    if (const auto answer = voters_.take_echo(server)) note_place(server, *answer);
  }
  subscribers_.turn(now);
}

void QueueMember::note_place(lock::ServerIndex server, const Value& answer) {
  const auto place = read_joined(answer);
  places_[server] = place ? std::optional(Answered{*place, joins_}) : std::nullopt;
}

}  // namespace redlock::redis

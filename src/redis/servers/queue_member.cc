// SPDX-License-Identifier: MIT
#include "redis/servers/queue_member.h"

#include <utility>

#include "redis/requests/queue.h"

namespace redlock::redis {

void QueueMember::join(lock::Ticket ticket, lock::Instant now) {
  const LockContext& context = voters_.context();
  if (subscribers_.empty())
    subscribers_.open(routes_, context.lock_key, wake_channel(context.lock_key, context.waiter));
  for (lock::ServerIndex server = 0; server < routes_.size(); ++server) {
    // A waiter that listens elsewhere counts as gone: only subscribers at this node are counted.
    const Endpoint* const place = voters_.place(server);
    if (place != nullptr) subscribers_.follow(server, *place);
  }
  subscribers_.subscribe(now);
  joined_ = true;
  if (ticket == 0) return;
  voters_.note_if_answering(
      encode_join_queue(context.lock_key, context.waiter, voters_.holder(), ticket), now);
}

void QueueMember::leave(const lock::Ask& ask, lock::Instant now) {
  if (std::exchange(joined_, false)) {
    subscribers_ = Subscribers();
    subscribed_.clear();
  }
  const LockContext& context = voters_.context();
  voters_.ask_if_connected(ask, {encode_leave_queue(context.lock_key, context.waiter), 1}, now);
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

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/connection/pipeline.h"

#include <algorithm>
#include <iterator>

#include "lock/timing.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

// A stopped server that wakes up reads 16 KiB, and no more if the client is gone and the server
// cannot answer. Half of that is left for the requests that release a lock.
constexpr std::size_t kMaxUnread = 8 * 1024;

// A server that sends more messages in one turn floods its subscriber.
constexpr std::size_t kMostAtOnce = 16;

// How often a request is repeated that a node refuses for the moment.
constexpr unsigned kMostAttempts = 5;

/// The request takes something of ours away from a server: it is sent however late.
bool takes_away(lock::Op op) {
  return lock::is_release(op) || op == lock::Op::leave_queue;
}

/// The request may give us the lock.
bool takes(lock::Op op) {
  return op == lock::Op::acquire || op == lock::Op::repair;
}

/// The request is among the last ones of an attempt or a job: it never waits for answers, but for
/// leave_queue: see add().
bool is_last(lock::Op op) {
  return takes_away(op) || op == lock::Op::mark || op == lock::Op::unmark;
}

/// A note or a look: it belongs to no attempt.
bool has_no_attempt(const Pipeline::Pending& pending) {
  return pending.ask.attempt == lock::kNoAttempt;
}

bool is_note(const Pipeline::Pending& pending) {
  return has_no_attempt(pending) && pending.reported == Pipeline::Reported::answered;
}

/// A request that timed out unsent is reported as never sent, and must not be sent any more. But
/// the server may yet carry out the request that a release undoes, and a late release does no harm.
bool still_counts(const Pipeline::Pending& pending) {
  return pending.written > 0 || takes_away(pending.ask.op());
}

}  // namespace

Pipeline::Pending& Pipeline::add(const lock::Ask& ask, Flight flight, std::string wire,
                                 lock::Instant now) {
  return insert({ask, std::move(flight), std::move(wire), now});
}

Pipeline::Pending& Pipeline::insert(Pending pending) {
  const lock::Op op = pending.ask.op();
  // An acquire with a ticket that must wait puts us into the queue: we leave it after that.
  const bool waits = op == lock::Op::leave_queue &&
                     std::any_of(first_waiting(), requests_.end(), [](const Pending& other) {
                       const auto* acquire = other.ask.as<lock::op::Acquire>();
                       return acquire != nullptr && acquire->ticket != 0;
                     });
  const auto end = is_last(op) && !waits ? first_waiting() : requests_.end();
  return *requests_.insert(end, std::move(pending));
}

/// Requests that waited are gone. If that acquire is among them, our leaving of the queue waits for
/// nothing any more, and must not stand after the others.
void Pipeline::let_leave_queue_go() {
  const auto leave = std::ranges::find_if(requests_, [](const Pending& pending) {
    return pending.ask.op() == lock::Op::leave_queue && pending.written == 0;
  });
  if (leave == requests_.end()) return;
  Pending pending = std::move(*leave);
  requests_.erase(leave);
  insert(std::move(pending));
}

void Pipeline::add_note(Flight flight, std::string wire, lock::Instant now) {
  Pending note{{.attempt = lock::kNoAttempt}, std::move(flight), std::move(wire), now};
  note.reported = Reported::answered;
  // We may have ended before a waiting acquire can be sent.
  requests_.insert(first_waiting(), std::move(note));
}

void Pipeline::cancel_notes() {
  const auto unsent_note = [](const Pending& other) {
    return is_note(other) && other.written == 0;
  };
  std::erase_if(requests_, unsent_note);
  std::erase_if(refused_, unsent_note);
}

void Pipeline::cancel_unsent(lock::AttemptId attempt) {
  const auto unsent = [attempt](const Pending& pending) {
    return pending.ask.attempt == attempt && pending.written == 0;
  };
  std::erase_if(requests_, unsent);
  std::erase_if(refused_, unsent);
  let_leave_queue_go();
}

/// An acquire waits while a request of another attempt is unanswered: of several acquires, each
/// with its release after it, the last one that a server reads might stay without its release.
/// While many bytes are unanswered, all but the last requests wait. (A look never does.)
bool Pipeline::must_wait(const Pending& pending) const {
  const bool look = has_no_attempt(pending) && !is_note(pending);
  if (pending.written > 0 || is_last(pending.ask.op()) || look) return false;
  std::size_t unread = 0;
  bool other_attempt = false;
  for (const Pending& other : requests_) {
    if (other.written == 0) continue;
    unread += other.wire.size();
    other_attempt =
        other_attempt || (!has_no_attempt(other) && other.ask.attempt != pending.ask.attempt);
  }
  if (unread > 0 && unread + pending.wire.size() > kMaxUnread) return true;
  return pending.ask.op() == lock::Op::acquire && !has_no_attempt(pending) && other_attempt;
}

std::deque<Pipeline::Pending>::iterator Pipeline::first_waiting() {
  return std::ranges::find_if(requests_,
                              [this](const Pending& pending) { return must_wait(pending); });
}

/// The index of next_to_send(), or size().
std::size_t Pipeline::next() const {
  const auto found = std::ranges::find_if(
      requests_, [](const Pending& pending) { return !pending.rest().empty(); });
  if (found == requests_.end() || must_wait(*found)) return requests_.size();
  if (found->written == 0 && has_refused()) return requests_.size();
  return static_cast<std::size_t>(found - requests_.begin());
}

Pipeline::Pending* Pipeline::next_to_send() {
  const std::size_t index = next();
  if (index == requests_.size()) return nullptr;
  Pending& pending = requests_[index];
  pending.begins_attempt =
      !has_no_attempt(pending) && sent_attempts_.try_emplace(pending.ask.attempt, false).second;
  return &pending;
}

void Pipeline::sent(Pending& pending, std::size_t bytes, lock::Instant now) {
  if (bytes == 0 && pending.begins_attempt) sent_attempts_.erase(pending.ask.attempt);
  if (bytes > 0 && pending.written == 0) pending.sent = now;
  pending.written += bytes;
}

bool Pipeline::may_repeat(lock::Instant when) const {
  if (requests_.empty()) return false;
  const Pending& pending = requests_.front();
  const bool taken_back =
      !takes_away(pending.ask.op()) &&
      std::any_of(std::next(requests_.begin()), requests_.end(), [](const Pending& other) {
        return takes_away(other.ask.op()) || other.ask.op() == lock::Op::unmark;
      });
  // Other commands of a subscription may have been carried out, and their replies are on the way.
  return pending.answered == pending.flight.answer() && pending.attempts < kMostAttempts &&
         when < pending.deadline && !taken_back && !is_note(pending) && !pending.flight.endless;
}

/// Whether the server can have read enough of the first request to send the next reply: it answers
/// the first commands of a flight while the last one is on its way.
bool Pipeline::expects_reply() const {
  if (requests_.empty()) return false;
  const Pending& pending = requests_.front();
  if (pending.rest().empty()) return true;
  return pending.written > 0 && !pending.flight.endless &&
         pending.answered + 1 < pending.flight.replies();
}

bool Pipeline::take_reply(Value& reply, Refusal refusal) {
  if (!expects_reply()) return false;
  Pending& pending = requests_.front();
  const bool endless = pending.flight.endless;
  if (refusal != Refusal::none) {
    pending.refused = true;
    pending.refusal = refusal;
    if (refusal != Refusal::redirected) ++pending.attempts;
  }
  if (pending.refused) {
    if (++pending.answered == pending.flight.replies() || endless) put_aside();
    return true;
  }
  if (endless && arrivals_.size() >= kMostAtOnce) return false;
  const bool first = pending.answered++ == pending.flight.answer();
  const bool last = !endless && pending.answered == pending.flight.replies();
  const bool waits = pending.flight.awaits_last();
  if (first && waits) {
    pending.first = std::move(reply);
  } else if (endless || ((waits ? last : first) && pending.reported != Reported::answered)) {
    Value& content = waits ? pending.first : reply;
    arrivals_.push_back({pending.ask, pending.sent, std::move(content)});
    if (waits) arrivals_.back().waited = std::move(reply);
    pending.reported = Reported::answered;
  }
  if (last) requests_.pop_front();
  return true;
}

/// The first request was refused. If it has timed out, it is sent again only if it releases
/// something. A token that was released is never asked for again: the release after this acquire
/// may time out, and then it stays with the old node.
void Pipeline::put_aside() {
  Pending& pending = requests_.front();
  if (is_released_later(pending)) {
    const lock::Unreachable withdrawn{.maybe_applied = false, .why = {}};
    report(pending, pending.refusal == Refusal::redirected ? slot_is_moving() : withdrawn);
  }
  const bool awaited = pending.reported != Reported::timed_out;
  if (awaited || takes_away(pending.ask.op())) {
    pending.refused = false;
    pending.written = 0;
    pending.answered = 0;
    if (pending.refusal == Refusal::redirected) pending.deadline = lock::kNever;
    refused_.push_back(std::move(pending));
  }
  requests_.pop_front();
}

bool Pipeline::drained() const {
  return std::ranges::none_of(requests_, [](const Pending& pending) {
    return pending.written > 0 && pending.reported != Reported::timed_out;
  });
}

void Pipeline::note_late_attempts() noexcept {
  for (const Pending& pending : requests_) {
    const bool unanswered = pending.written > 0 && !pending.answered_request();
    const auto known = sent_attempts_.find(pending.ask.attempt);
    if (takes(pending.ask.op()) && unanswered && known != sent_attempts_.end())
      known->second = true;
  }
}

void Pipeline::clear() noexcept {
  note_late_attempts();
  requests_.clear();
  refused_.clear();
}

void Pipeline::restore_refused() {
  note_late_attempts();
  std::erase_if(requests_, [](const Pending& pending) { return pending.written > 0; });
  repeat_refused();
}

void Pipeline::restore_sent() {
  std::erase_if(requests_, [](const Pending& pending) { return pending.answered_request(); });
  for (Pending& pending : requests_) pending.written = pending.answered = 0;
}

void Pipeline::repeat_refused() {
  const auto unsent =
      std::ranges::find_if(requests_, [](const Pending& pending) { return pending.written == 0; });
  requests_.insert(unsent, std::make_move_iterator(refused_.begin()),
                   std::make_move_iterator(refused_.end()));
  refused_.clear();
}

void Pipeline::report(Pending& pending, lock::Unreachable why) {
  if (pending.reported != Reported::nothing) return;
  pending.reported = Reported::timed_out;
  arrivals_.push_back({pending.ask, pending.sent, std::move(why)});
}

void Pipeline::expire(lock::Instant now, std::chrono::milliseconds limit) {
  for (std::deque<Pending>* const pendings : {&refused_, &requests_}) {
    for (Pending& pending : *pendings) {
      if (now < pending.deadline) continue;
      lock::Unreachable late = request_timed_out(limit);
      late.maybe_applied = still_counts(pending);
      report(pending, std::move(late));
    }
    std::erase_if(*pendings, [](const Pending& pending) {
      return pending.reported == Reported::timed_out && !still_counts(pending);
    });
  }
  let_leave_queue_go();
}

void Pipeline::fail(const lock::Unreachable& why) {
  for (std::deque<Pending>* const pendings : {&refused_, &requests_}) {
    for (Pending& pending : *pendings) {
      lock::Unreachable reason = why;
      reason.maybe_applied = why.maybe_applied && pending.written > 0;
      report(pending, std::move(reason));
    }
  }
  clear();
}

lock::Instant Pipeline::deadline() const {
  if (!arrivals_.empty()) return lock::Instant::min();
  lock::Instant earliest = lock::kNever;
  for (const std::deque<Pending>* const pendings : {&refused_, &requests_}) {
    for (const Pending& pending : *pendings) {
      if (pending.reported == Reported::nothing) earliest = std::min(earliest, pending.deadline);
    }
  }
  return earliest;
}

bool Pipeline::all_reported() const {
  const auto open = [](const Pending& pending) { return pending.reported == Reported::nothing; };
  return std::ranges::none_of(requests_, open) && std::ranges::none_of(refused_, open);
}

bool Pipeline::is_withdrawn() const {
  return !requests_.empty() && is_released_later(requests_.front());
}

bool Pipeline::is_released_later(const Pending& request) const {
  return takes(request.ask.op()) &&
         std::ranges::any_of(requests_, [&request](const Pending& other) {
           return lock::is_release(other.ask.op()) && other.ask.attempt == request.ask.attempt;
         });
}

std::size_t Pipeline::overdue() const {
  return lock::how_many(requests_, Reported::timed_out, &Pending::reported);
}

}  // namespace redlock::redis

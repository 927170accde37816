// SPDX-License-Identifier: MIT
//
// The requests to one server, in the order in which they are sent. Absent on purpose: the
// connection and its sockets (link.h), and the meaning of a reply (request.h).
#pragma once

#include <deque>
#include <map>
#include <utility>

#include "lock/time.h"
#include "lock/vote.h"
#include "redis/requests/command.h"
#include "redis/wire/resp.h"

namespace redlock::redis {

/// Decides which request may be sent next, and which reply answers which request. Pure: it reads no
/// clock and does no I/O.
///
/// An acquire waits until all requests of other attempts are answered. While many bytes are
/// unanswered, only requests that release a lock are sent. A request that times out is reported and
/// keeps its place: the server may still carry it out, and its reply is still to come.
class Pipeline {
 public:
  /// A reply to a request, or why there is none.
  struct Arrival {
    lock::Ask ask;
    lock::Instant sent;  ///< its first byte, to the kernel; if none was sent, when it was asked
    std::variant<Value, lock::Unreachable> content;
    Value waited{};  ///< the reply to WAIT, if the flight has it
  };

  /// What the caller knows of a request. A note counts as answered from the beginning.
  enum class Reported { nothing, timed_out, answered };

  /// Whether the server has refused to carry out the request.
  enum class Refusal {
    none,
    redirected,     ///< another node may carry it out
    in_this_form,   ///< this one carries it out in another form, and has a new time-out for that
    for_the_moment  ///< this one may do so soon, within the time of the first attempt
  };

  struct Pending {
    lock::Ask ask;
    Flight flight;
    std::string wire;    ///< the flight as it goes to the server
    lock::Instant sent;  ///< when it was asked, until written > 0
    lock::Instant deadline = lock::kNever;
    std::size_t written = 0;
    std::size_t answered = 0;  ///< replies of the flight that have come
    Reported reported = Reported::nothing;
    Value first{};                    ///< the reply to the request, until that to its WAIT has come
    bool refused = false;             ///< it goes nowhere until its last reply has come
    Refusal refusal = Refusal::none;  ///< the last one
    unsigned attempts = 0;            ///< how often it was refused, but for redirections
    bool begins_attempt = false;      ///< nothing else of its attempt was ever sent

    /// The reply to the request itself has come.
    [[nodiscard]] bool answered_request() const { return answered > flight.answer(); }
    [[nodiscard]] std::string_view rest() const { return std::string_view(wire).substr(written); }
  };

  /// Adds a request; `wire`: its bytes for this server. Valid until the next change.
  Pending& add(const lock::Ask& ask, Flight flight, std::string wire, lock::Instant now);

  /// Adds a flight whose replies nobody waits for, ahead of the requests that must wait.
  void add_note(Flight flight, std::string wire, lock::Instant now);

  void cancel_notes();

  /// Forgets the attempt's unsent requests. None of them is answered.
  void cancel_unsent(lock::AttemptId attempt);

  /// The first request that is not completely sent, or null if there is none or it must wait. Its
  /// attempt counts as sent before a byte is: what the server may hold must be known even if no
  /// memory is left afterwards.
  Pending* next_to_send();
  [[nodiscard]] bool can_send() const { return next() < requests_.size(); }

  /// All requests before it are answered.
  [[nodiscard]] bool is_first(const Pending& pending) const {
    return &pending == &requests_.front();
  }

  /// The kernel took `bytes` more of next_to_send().
  void sent(Pending& pending, std::size_t bytes, lock::Instant now);

  /// Every request can be sent from now on, and has this deadline.
  void set_deadlines(lock::Instant deadline) {
    for (Pending& pending : requests_) pending.deadline = deadline;
  }

  /// Moves from `reply`, or returns false: no request is left for it, or there are more messages in
  /// one turn than a subscription may bring.
  bool take_reply(Value& reply, Refusal refusal = Refusal::none);

  /// Whether the request that the next reply answers may be sent once more at `when`: within its
  /// deadline, at most five times, and not after a request that takes its effect back (a repair
  /// after its release would take the lock again).
  [[nodiscard]] bool may_repeat(lock::Instant when) const;
  /// Whether that request asks for a lock that a later request gives back.
  [[nodiscard]] bool is_withdrawn() const;

  /// Reports the requests whose deadline has passed; `limit`: the time that they had.
  void expire(lock::Instant now, std::chrono::milliseconds limit);

  /// Each request sent has an answer, was refused or has timed out.
  [[nodiscard]] bool drained() const;

  /// After the connection of a drained pipeline has ended: the refused requests come first again.
  void restore_refused();

  /// The same if the connection goes on: they come after the requests that were sent over it.
  void repeat_refused();

  /// After the connection has ended, when the server has carried out nothing that it has not
  /// answered: the requests are sent again.
  void restore_sent();

  /// The requests that were refused; their bytes may change.
  std::deque<Pending>& refused() { return refused_; }

  /// The requests that were refused, for the caller to send elsewhere.
  std::deque<Pending> take_refused() { return std::exchange(refused_, {}); }

  /// The next reply is the one to a request itself, and not to a command that goes with it.
  [[nodiscard]] bool awaits_answer() const {
    return !requests_.empty() && requests_.front().answered == requests_.front().flight.answer();
  }

  /// The command that the next reply answers names its script by its hash.
  [[nodiscard]] bool hashed() const {
    return !requests_.empty() && requests_.front().flight.hashed(requests_.front().answered);
  }

  /// The command that the next reply answers declares more_keys.
  [[nodiscard]] bool declares_more() const {
    return !requests_.empty() && requests_.front().flight.declares_more(requests_.front().answered);
  }

  /// The command that the next reply answers, alone and in full; only if there is one.
  [[nodiscard]] Flight next_command() const {
    const Pending& pending = requests_.front();
    return {.commands = {pending.flight.commands.at(pending.answered)},
            .redisson_key = pending.flight.redisson_key};
  }

  /// The next reply belongs to a flight that was refused.
  [[nodiscard]] bool is_refusing() const { return !requests_.empty() && requests_.front().refused; }

  /// A request was refused: until restore_, repeat_ or take_refused(), no other one begins.
  [[nodiscard]] bool has_refused() const { return !refused_.empty(); }

  /// The connection has ended: reports that for every request, and forgets all.
  void fail(const lock::Unreachable& why);

  void clear() noexcept;

  std::vector<Arrival> take_arrivals() { return std::exchange(arrivals_, {}); }

  /// When to call expire(); a past instant if there are arrivals.
  [[nodiscard]] lock::Instant deadline() const;

  [[nodiscard]] bool empty() const { return requests_.empty() && refused_.empty(); }
  [[nodiscard]] std::size_t size() const { return requests_.size(); }

  /// Each request has an answer, or the reason why there is none.
  [[nodiscard]] bool all_reported() const;

  /// The server may carry out an acquire or a repair of this attempt later: it did not answer, and
  /// the connection has ended since.
  [[nodiscard]] bool may_come_late(lock::AttemptId attempt) const {
    const auto found = sent_attempts_.find(attempt);
    return found != sent_attempts_.end() && found->second;
  }

  /// When the oldest unanswered request was sent; only if there is one.
  [[nodiscard]] lock::Instant waits_since() const { return requests_.front().sent; }

  /// The oldest request is a subscription.
  [[nodiscard]] bool subscribes() const {
    return !requests_.empty() && requests_.front().flight.endless;
  }

  /// How many requests have timed out and may yet be answered.
  [[nodiscard]] std::size_t overdue() const;

  /// The attempts that may have left something on the server, also over an earlier connection, and
  /// whether each may_come_late().
  [[nodiscard]] const std::map<lock::AttemptId, bool>& sent_attempts() const {
    return sent_attempts_;
  }
  void presume_sent(lock::AttemptId attempt) { sent_attempts_.try_emplace(attempt, false); }
  void forget_attempt(lock::AttemptId attempt) { sent_attempts_.erase(attempt); }

 private:
  Pending& insert(Pending pending);
  void let_leave_queue_go();
  [[nodiscard]] std::size_t next() const;
  [[nodiscard]] bool must_wait(const Pending& pending) const;
  [[nodiscard]] bool is_released_later(const Pending& request) const;
  std::deque<Pending>::iterator first_waiting();
  [[nodiscard]] bool expects_reply() const;
  void put_aside();
  void note_late_attempts() noexcept;
  void report(Pending& pending, lock::Unreachable why);

  std::deque<Pending> requests_;  ///< in the order sent; those not (completely) sent at the end
  std::deque<Pending> refused_;   ///< in the order sent
  std::map<lock::AttemptId, bool> sent_attempts_;
  std::vector<Arrival> arrivals_;
};

}  // namespace redlock::redis

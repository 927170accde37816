// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/dialer.h"
#include "redis/request.h"
#include "redis/resp.h"
#include "redis/stream.h"
#include "redis/timeouts.h"
#include "redis/trouble.h"
#include "redis/uri.h"

namespace redlock::redis {

/// One server's ordered connection. What is asked is sent in the order it was asked, over one
/// socket, and nothing is ever sent twice. An acquire is sent when what was asked for other
/// attempts has been answered, and while much is unanswered only what gives a lock back. Passive:
/// it never blocks; the caller polls interests() and calls turn().
///
///   idle → dialing → securing → authenticating → ready
///
/// It connects when asked, and goes back to idle whenever the connection ends. A request that
/// times out is reported and yet stays where it is, and so does the connection: the server may
/// still carry it out, and what is asked later (its release!) must come after it.
class Link {
 public:
  enum class Note {
    any,
    echoed  ///< its first reply is kept for take_echo()
  };

  /// A reply, or why there is none, to what was asked. `sent`: when the first byte went to the
  /// kernel; when it was asked, if none did.
  struct Arrival {
    lock::Ask ask;
    lock::Instant sent;
    std::variant<Value, lock::Unreachable> content;
  };

  /// `endpoint` and `tls` must outlive the link; `tls` is null for an endpoint without it.
  /// `user_timeout` as in Dialer; who asks something once need not think about it.
  Link(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
       std::chrono::milliseconds user_timeout = std::chrono::seconds(1));
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  /// Queues a request and sends as much as can be sent now.
  void ask(const lock::Ask& ask, Flight flight, lock::Instant now);

  /// Sends a flight that nobody waits for, in the same order as all else, but ahead of what is held
  /// back; if there is no connection to send it over, it is dropped. It may be held back itself.
  void note(Flight flight, lock::Instant now, Note kind = Note::any);

  /// The last first reply to a note whose reply was to be kept, if one has come.
  std::optional<Value> take_echo() { return std::exchange(echo_, std::nullopt); }

  /// Forgets the notes that are held back.
  void cancel_notes();

  /// Forgets what was asked for the attempt and not begun to be sent. None of it is answered.
  void cancel_unsent(lock::AttemptId attempt);

  /// There is a connection over which a request can be sent at once.
  [[nodiscard]] bool ready() const { return state_ == State::ready; }

  /// Something asked is not answered to its end, and not given up. One that is answered without end
  /// is that as long as the connection lasts.
  [[nodiscard]] bool busy() const { return !queue_.empty(); }

  /// Something asked has not been answered in time, and may yet be.
  [[nodiscard]] bool owes_answers() const { return unanswered() > 0; }

  /// The server has read something that it has yet to answer, in time, and was asked for more
  /// since. If it finds nobody there for one answer, it does not read what was asked after that. So
  /// it is with a Unix socket; to TCP a server can write once more, and reads on.
  [[nodiscard]] bool amid_answers() const;

  /// Whether a byte of a request of this attempt was ever sent (and forget_attempt() not called).
  [[nodiscard]] bool ever_sent(lock::AttemptId attempt) const { return sent_.contains(attempt); }

  /// The attempts of which the server may hold something.
  [[nodiscard]] const std::set<lock::AttemptId>& sent_attempts() const { return sent_; }

  /// Another process may have sent requests of this attempt.
  void presume_sent(lock::AttemptId attempt) { sent_.insert(attempt); }

  /// The server has said that it holds nothing of this attempt.
  void forget_attempt(lock::AttemptId attempt) { sent_.erase(attempt); }

  /// Appends what it waits for to `out`.
  void interests(std::vector<os::Interest>& out) const;
  /// Lets go of the connection without a word on it: it is a forked child's now.
  void abandon();

  /// When the server's certificate expires; none without TLS or a connection.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_expires() const {
    return stream_ ? stream_->certificate_expires() : std::nullopt;
  }

  [[nodiscard]] lock::Instant deadline() const;
  /// Throws if the machine fails. Then the connection is closed, and nothing that was asked is
  /// answered any more; sent_attempts() still knows all that was sent. The same goes for ask() and
  /// note().
  std::vector<Arrival> turn(lock::Instant now);

 private:
  enum class State { idle, dialing, securing, authenticating, ready };
  /// What the caller knows of a request; what it does not ask for counts as answered.
  enum class Reported { nothing, timed_out, answered };

  struct Pending {
    lock::Ask ask;
    Flight flight;
    lock::Instant sent;  ///< when it was asked, until written > 0
    lock::Instant deadline = lock::kNever;
    std::size_t written = 0;
    unsigned answered = 0;  ///< replies of the flight that have come
    Reported reported = Reported::nothing;
    Note note = Note::any;
  };

  void move_on(lock::Instant now);
  void connect(lock::Instant now);
  void dial(lock::Instant now);
  bool open(std::size_t index, lock::Instant now);
  void secure(lock::Instant now);
  void become_ready(lock::Instant now);
  void flush(lock::Instant now);
  void flush_handshake();
  void receive(lock::Instant now);
  void take_replies(lock::Instant now);
  void take_handshake_reply(const Value& reply, lock::Instant now);
  void take_reply(Value reply);
  void expire(lock::Instant now);
  void report(Pending& pending, lock::Unreachable why);
  void disconnect(const lock::Unreachable& why);
  void break_off() noexcept;
  bool note_attempt(const Pending& pending);
  template <class Work>
  void guard(Work work);
  [[nodiscard]] std::size_t unanswered() const;
  /// A note, or a look: no attempt's.
  static bool is_of_none(const Pending& pending) { return pending.ask.attempt == lock::kNoAttempt; }
  static bool is_note(const Pending& pending) {
    return is_of_none(pending) && pending.reported == Reported::answered;
  }
  void watch_reading();
  [[nodiscard]] bool must_wait(const Pending& pending) const;
  std::deque<Pending>::iterator first_held();
  [[nodiscard]] bool has_unwritten() const;
  [[nodiscard]] lock::Unreachable why_it_ended(int error) const;
  [[nodiscard]] Step step() const;

  const Endpoint& endpoint_;
  const TlsContext* tls_;
  Timeouts timeouts_;
  Flight handshake_;  ///< AUTH and SELECT, as far as needed
  Dialer dialer_;
  State state_ = State::idle;
  lock::Instant connect_deadline_ = lock::kNever;
  std::optional<Stream> stream_;
  std::optional<ReplyParser> parser_;
  bool heard_ = false;  ///< anything over this connection
  /// How much lay unread in the server's Unix socket after the last write.
  int unread_ = 0;
  bool has_read_ = false;  ///< since nothing was unanswered
  std::size_t handshake_written_ = 0;
  unsigned handshake_answered_ = 0;
  std::deque<Pending> queue_;  ///< in the order sent; those not (fully) written at the end
  std::set<lock::AttemptId> sent_;
  std::vector<Arrival> arrivals_;
  std::optional<Value> echo_;
};

}  // namespace redlock::redis

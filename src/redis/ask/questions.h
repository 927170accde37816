// SPDX-License-Identifier: MIT
//
// Questions outside of a session: commands for each server, and what to do with each answer. Absent
// on purpose: what is asked (the other files of this folder), and the loop (driver/setup.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"

namespace redlock::redis {

/// A server that we ask until it says that this was all may never say so: why we stop after answers
/// of `bytes` bytes, if we do.
std::optional<std::string> too_much(std::size_t bytes);

/// Numbered connections, each opened by its first question. Passive, as Link is: the caller polls
/// interests() and calls turn() until finished().
class Questions {
 public:
  /// What a server said, or why it said nothing in time. Untrusted.
  struct Answer {
    std::variant<Value, lock::Unreachable> content;
    lock::Duration took;  ///< from the first byte of the question to the answer

    /// Null: there is a reply.
    [[nodiscard]] const lock::Unreachable* silence() const {
      return std::get_if<lock::Unreachable>(&content);
    }
    [[nodiscard]] const Value& reply() const { return std::get<Value>(content); }
  };
  /// May ask again, also over another connection.
  using Take = std::function<void(Answer answer, lock::Instant now)>;

  /// A connection to `place`; returns its number, from 0. `tls`: as for Link, must outlive this.
  std::size_t connect(Endpoint place, const TlsContext* tls, Timeouts timeouts);
  /// A further connection, to `place`, with the TLS and the time-outs of `like`.
  std::size_t connect_like(std::size_t like, Endpoint place);

  /// Before the first question about this key: in a Cluster it may be on another node.
  void go_to(std::size_t connection, const std::string& key);
  /// As Link::allow().
  void allow(std::size_t connection, ReplyLimits limits) { all_[connection].limits = limits; }

  /// `take` gets one answer, unless forget() comes first. An answer after the time-out is ignored.
  void ask(std::size_t connection, Flight flight, Take take, lock::Instant now);

  /// Nobody waits for the answers over this connection any more.
  void forget(std::size_t connection) { all_[connection].takes.clear(); }
  /// The same, and ends the connection. The next question opens another one.
  void close(std::size_t connection);

  [[nodiscard]] std::size_t unanswered(std::size_t connection) const {
    return all_[connection].takes.size();
  }
  [[nodiscard]] bool finished() const;
  [[nodiscard]] const Endpoint& place(std::size_t connection) const {
    return all_[connection].place;
  }
  /// Only after a question over it.
  [[nodiscard]] const Link& link(std::size_t connection) const { return *all_[connection].link; }

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;
  void turn(lock::Instant now);

 private:
  struct Connection {
    Endpoint place;
    const TlsContext* tls;
    Timeouts timeouts;
    std::string key = {};
    ReplyLimits limits = {};
    std::unique_ptr<Link> link = {};
    std::map<std::uint32_t, Take> takes = {};  ///< by the question's tag
    std::uint32_t last_tag = 0;
  };
  std::deque<Connection> all_;  ///< a deque, since links and answers refer to its elements
};

}  // namespace redlock::redis

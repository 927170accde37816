// SPDX-License-Identifier: MIT
//
// Questions outside of a session: commands for each server, and what to do with each answer. Absent
// on purpose: what is asked (observe/, check/, force/), and the loop (driver/setup.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"

namespace redlock::redis {

/// A server that we ask until it says that this was all may never say so: why we stop after answers
/// of `bytes` bytes, if we do.
inline std::optional<std::string> too_much(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{64} << 20U;
  if (bytes <= kMost) return std::nullopt;
  return "has answered with more than " + std::to_string(kMost >> 20U) +
         " MiB; the rest is left out";
}

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
  std::size_t connect(Endpoint place, const TlsContext* tls, Timeouts timeouts) {
    all_.push_back({std::move(place), tls, timeouts});
    return all_.size() - 1;
  }
  /// A further connection, to `place`, with the TLS and the time-outs of `like`.
  std::size_t connect_like(std::size_t like, Endpoint place) {
    return connect(std::move(place), all_[like].tls, all_[like].timeouts);
  }

  /// Before the first question about this key: in a Cluster it may be on another node.
  void go_to(std::size_t connection, const std::string& key) {
    if (all_[connection].place.kind == Endpoint::Kind::cluster) close(connection);
    all_[connection].key = key;
  }
  /// As Link::allow().
  void allow(std::size_t connection, ReplyLimits limits) { all_[connection].limits = limits; }

  /// `take` gets one answer, unless forget() comes first. An answer after the time-out is ignored.
  void ask(std::size_t connection, Flight flight, Take take, lock::Instant now) {
    Connection& to = all_[connection];
    if (!to.link) {
      to.link = std::make_unique<Link>(to.place, to.tls, to.timeouts, to.key);
      to.link->allow(to.limits);
    }
    to.takes.emplace(++to.last_tag, std::move(take));
    // A question is no vote: it belongs to no attempt, and the link hands its tag back.
    to.link->ask({.attempt = lock::kNoAttempt, .round = to.last_tag}, std::move(flight), now);
  }

  /// Nobody waits for the answers over this connection any more.
  void forget(std::size_t connection) { all_[connection].takes.clear(); }
  /// The same, and ends the connection. The next question opens another one.
  void close(std::size_t connection) {
    forget(connection);
    all_[connection].link.reset();
  }

  [[nodiscard]] std::size_t unanswered(std::size_t connection) const {
    return all_[connection].takes.size();
  }
  [[nodiscard]] bool finished() const {
    return std::ranges::all_of(all_, [](const Connection& one) { return one.takes.empty(); });
  }
  [[nodiscard]] const Endpoint& place(std::size_t connection) const {
    return all_[connection].place;
  }
  /// Only after a question over it.
  [[nodiscard]] const Link& link(std::size_t connection) const { return *all_[connection].link; }

  void interests(std::vector<os::Interest>& out) const {
    for (const Connection& one : all_) {
      if (!one.takes.empty()) one.link->interests(out);
    }
  }
  [[nodiscard]] lock::Instant deadline() const {
    lock::Instant earliest = lock::kNever;
    for (const Connection& one : all_) {
      if (!one.takes.empty()) earliest = std::min(earliest, one.link->deadline());
    }
    return earliest;
  }
  void turn(lock::Instant now) {
    // By number: an answer may lead to further connections.
    for (std::size_t connection = 0; connection < all_.size(); ++connection) {
      Connection& one = all_[connection];
      if (one.takes.empty()) continue;
      for (Link::Arrival& arrival : one.link->turn(now)) {
        auto found = one.takes.extract(arrival.ask.round);
        if (found.empty()) continue;
        found.mapped()({std::move(arrival.content), now - arrival.sent}, now);
      }
    }
  }

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

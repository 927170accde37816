// SPDX-License-Identifier: MIT
//
// The configured servers as voters on one lock. Absent on purpose: what follows from a vote
// (lock/), channels (subscribers.h), and the queue of waiters (queue_member.h), whose requests
// only share the connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/connection/routes.h"
#include "redis/requests/attempt_tokens.h"
#include "redis/requests/request.h"

namespace redlock::redis {

/// Takes lock::Ask, gives back lock::Reply. One ordered connection per server; nothing here blocks,
/// and no server waits for another. Passive, as Link is.
class Voters {
 public:
  /// `routes` and `tokens` must outlive this. `holder`: as in ServerSet.
  Voters(const Routes& routes, AttemptTokens& tokens, LockContext context,
         std::function<std::string()> holder);
  Voters(const Voters&) = delete;
  Voters& operator=(const Voters&) = delete;

  /// Queues the request (connecting first if need be) and tries to send it at once. Its reply comes
  /// out of turn(), never from inside this call. Any request but Op::leave_queue.
  ///
  /// A release also forgets the requests of its attempt that are not sent yet: those get no reply
  /// and never reach the server. If nothing of the attempt was ever sent there, nobody but us knows
  /// its token, and the release is answered Missing without asking the server.
  void ask(const lock::Ask& ask, lock::Instant now);

  /// Sends `flight` for `ask`, the last request of its kind, behind all earlier requests, and
  /// forgets the notes that are not sent yet. A server that is not connected, and that nothing is
  /// to be sent to, is not asked: its answer is Unreachable.
  void ask_if_connected(const lock::Ask& ask, Flight flight, lock::Instant now);

  /// Another process may have sent requests of this attempt to every server.
  void presume_sent(lock::AttemptId attempt);

  /// From now on every leave of the attempt carries this command, which has one reply.
  void add_to_leaves(lock::AttemptId attempt, std::string command);

  /// Sends a command with one reply to every server that is connected. Nothing waits for the reply.
  void note(const std::string& command, lock::Instant now);

  /// The same, but only to servers that owe no answers.
  void note_if_answering(const std::string& command, lock::Instant now);

  /// Asks the server to take back whatever it may hold of any attempt. For when the machine has
  /// failed, and nobody knows any more how far the attempts have come. The replies come out of
  /// turn(), and are of no use to a session.
  void give_back(lock::ServerIndex server, lock::Instant now);

  /// Where the server was reached last; null: it is not connected.
  [[nodiscard]] const Endpoint* place(lock::ServerIndex server) const;

  /// A server may hold something of an attempt of ours.
  [[nodiscard]] bool owes() const;

  /// A server would perhaps not read the latest requests if the connections ended now.
  [[nodiscard]] bool amid_answers() const;

  /// Closes every connection without sending anything: they belong to a forked child now. Nothing
  /// can be asked any more.
  void abandon();

  void interests(std::vector<os::Interest>& out) const;

  /// When turn() must be called at the latest; a past instant if replies are ready already.
  [[nodiscard]] lock::Instant deadline() const;

  /// Moves everything on that can move without blocking, applies time-outs at `now`, and returns
  /// the replies that came in, in the order they came.
  std::vector<lock::Reply> turn(lock::Instant now);

  /// The description of us, as JSON, that goes with requests at present; describe_holder() renews
  /// it.
  [[nodiscard]] const std::string& holder() const { return context_.holder_json; }
  void describe_holder();

  [[nodiscard]] const LockContext& context() const { return context_; }

 private:
  void describe_holder_for(const lock::Ask& ask);
  Flight encode(const lock::Ask& ask);
  lock::Reply read(Link& link, Link::Arrival arrival);

  const Routes& routes_;
  AttemptTokens& tokens_;
  LockContext context_;
  /// How long a server may wait for replicas: its answer must come before we give up waiting for
  /// it.
  std::chrono::milliseconds wait_;
  std::function<std::string()> holder_;
  /// The round for which the context describes us.
  std::pair<lock::AttemptId, std::uint32_t> described_{};
  std::map<lock::AttemptId, std::string> with_leaves_;
  std::deque<Link> links_;          ///< a deque, since a Link cannot move
  std::vector<lock::Reply> ready_;  ///< answers that needed no server
};

}  // namespace redlock::redis

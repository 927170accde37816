// SPDX-License-Identifier: MIT
//
// Reads locks on one configured server, for `redlock status` and `redlock list`. Absent on purpose:
// any change to a key, and the meaning of several servers' answers together (lock/judgement.h).
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/inspection/cluster_map.h"
#include "redis/inspection/node_observer.h"

namespace redlock::redis {

/// Looks at one server over one connection, but at a Cluster over a connection to each primary,
/// after it has asked which primary has which keys. Passive, as Link is: the caller polls
/// interests() and calls turn() until finished().
class Observer {
 public:
  using Marks = NodeObserver::Marks;

  /// `endpoint` and `tls` must outlive this, as for Link.
  Observer(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts);

  /// Finds the keys of all locks that have this helper key there, by SCAN in bounded steps:
  /// "holder" of the locks that redlock holds, "log" of those that it has held.
  void scan(std::string_view part, lock::Instant now);

  /// As NodeObserver::look().
  void look(std::vector<std::string> keys, Marks marks, std::string reader, lock::Instant now);

  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;
  void turn(lock::Instant now);
  [[nodiscard]] bool finished() const;

  /// Why the server could not be asked, or not to the end.
  [[nodiscard]] std::optional<lock::Unreachable> trouble() const;
  /// By scan(); a lock that was taken or released meanwhile may be missing or not.
  [[nodiscard]] std::set<std::string> found() const;
  /// Why we stopped reading the server's answers, if they were too many. Safe to print.
  [[nodiscard]] std::optional<std::string> cut() const;
  /// By look(), in the order of the keys; each can be taken once.
  [[nodiscard]] Observation take(std::size_t index);

 private:
  void ask_for_map(lock::Instant now);
  void take_map(const Link::Arrival& arrival, lock::Instant now);
  void begin(lock::Instant now);
  void begin_look(lock::Instant now);

  const Endpoint& endpoint_;
  const TlsContext* tls_;
  Timeouts timeouts_;
  std::optional<Link> map_link_;  ///< while a Cluster is asked for its map
  std::optional<ClusterMap> map_;
  std::vector<Endpoint> primaries_;  ///< of a Cluster
  std::deque<NodeObserver> nodes_;   ///< a deque, since they cannot move
  bool looks_ = false;               ///< look() was called last, and not scan()
  std::string part_;                 ///< of the scan
  std::vector<std::string> keys_;
  std::string reader_;
  Marks marks_ = Marks::ignored;
  /// By key, the node and the index that it has there; none: no node has it.
  std::vector<std::optional<std::pair<std::size_t, std::size_t>>> places_;
  std::optional<lock::Unreachable> trouble_;
};

}  // namespace redlock::redis

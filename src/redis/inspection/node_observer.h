// SPDX-License-Identifier: MIT
//
// Reads locks over one connection, for `redlock status` and `redlock list`. Absent on purpose: any
// change to a key, and which node of a Cluster has which lock (observer.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lock/judgement.h"
#include "lock/time.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/requests/queue.h"
#include "redis/wire/budget.h"

namespace redlock::redis {

/// One server's answer about one lock.
struct Observation {
  lock::Seen seen;
  std::optional<lock::Done> done;  ///< the last run with --once, if we asked for it
  std::optional<Queue> queue;      ///< none: unknown
};

/// Passive, as Link is: the caller polls interests() and calls turn() until finished().
class NodeObserver {
 public:
  enum class Marks { asked, ignored };

  /// Why this node: it is the server that the user named, or a Cluster's map names it.
  enum class Named { by_user, by_map };

  /// `endpoint` and `tls` must outlive this, as for Link; `key` as for Locator.
  NodeObserver(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
               std::string key = {}, Named named = Named::by_user);

  /// As Observer::scan().
  void scan(std::string_view part, lock::Instant now);

  /// Reads the locks with these keys; `marks`: whether to read the marks of --once, too. If the
  /// token `reader` is a reader's, it is among the readers, however many there are.
  void look(std::vector<std::string> keys, Marks marks, std::string reader, lock::Instant now);

  void interests(std::vector<os::Interest>& out) const { link_.interests(out); }
  [[nodiscard]] lock::Instant deadline() const { return link_.deadline(); }
  void turn(lock::Instant now);
  [[nodiscard]] bool finished() const { return finished_; }

  /// Why the server could not be asked, or not to the end.
  [[nodiscard]] const std::optional<lock::Unreachable>& trouble() const { return trouble_; }
  /// By scan(); a lock that was taken or released meanwhile may be missing or not.
  [[nodiscard]] const std::set<std::string>& found() const { return found_; }
  /// Why we stopped reading the server's answers, if they were too many. Safe to print.
  [[nodiscard]] const std::optional<std::string>& cut() const { return cut_; }
  /// By look(), in the order of the keys; each can be taken once.
  [[nodiscard]] Observation take(std::size_t index) { return std::move(observations_[index]); }

 private:
  enum class Question : std::uint32_t { scan, lock, waiting, mark };

  void ask_scan(lock::Instant now);
  void ask_more(lock::Instant now);
  void take(Question question, std::size_t index, const Value& reply, lock::Instant now);
  void take_scan(const Value& reply, lock::Instant now);
  void give_up(const lock::Unreachable& why);
  void cut_off(const std::string& why);
  void finish_with(const lock::Unreachable& why);

  Named named_;
  Link link_;
  std::vector<std::string> keys_;
  std::string reader_;
  Marks marks_ = Marks::ignored;
  std::vector<Observation> observations_;
  std::size_t asked_ = 0;       ///< of keys_
  std::size_t unanswered_ = 0;  ///< requests
  std::set<std::string> found_;
  std::string part_;    ///< of the scan
  std::string cursor_;  ///< of the scan
  Budget budget_;
  std::optional<std::string> cut_;
  std::optional<lock::Unreachable> trouble_;
  bool finished_ = true;
};

}  // namespace redlock::redis

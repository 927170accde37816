// SPDX-License-Identifier: MIT
//
// Reads locks on one configured server, for `redlock status` and `redlock list`. Absent on purpose:
// any change to a key, and the meaning of several servers' answers together (lock/judgement.h).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lock/judgement.h"
#include "redis/connection/questions.h"
#include "redis/requests/answer.h"

namespace redlock::observe {

/// The hash slot of a key, 0 to 16383
/// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
std::uint16_t slot_of(std::string_view key);

/// Which primary of a Redis Cluster has which key.
class ClusterMap {
 public:
  /// Each slot may be a range of its own, with 30 elements and 500 bytes for its nodes.
  static constexpr redis::ReplyLimits kLimits{
      .bytes = 8 * 1024 * 1024, .of_array = 16 * 1024, .of_reply = 512 * 1024};

  /// Reads the reply to CLUSTER SLOTS, if it is one. `asked`: the host of the node that sent it,
  /// for nodes without a host.
  static std::optional<ClusterMap> read(const redis::Value& reply, const std::string& asked);

  /// Each primary once.
  [[nodiscard]] const std::vector<redis::Address>& primaries() const { return primaries_; }

  /// The index in primaries() of the one that has the key, if a node serves its slot.
  [[nodiscard]] std::optional<std::size_t> primary_of(std::string_view key) const;

  /// The number of slots that no node serves: their locks cannot be seen.
  [[nodiscard]] std::size_t unserved() const;

 private:
  struct Range {
    std::int64_t first;
    std::int64_t last;
    std::size_t primary;
  };
  std::vector<redis::Address> primaries_;
  std::vector<Range> ranges_;
};

/// One server's answer about one lock.
struct Observation {
  lock::Seen seen = lock::Unreachable{};
  std::optional<lock::Done> done;         ///< the last run with --once, if we asked for it
  std::optional<lock::Superseded> built;  ///< the last build that succeeded, if we asked for it
  std::optional<redis::Queue> queue;      ///< if it is known
  std::vector<redis::GivenUp> refusals;   ///< if we asked for the marks
};

/// Whether to read the marks of --once and the refusals, too.
enum class Marks { asked, ignored };

/// Looks at one server over one connection, but at a Cluster over a connection to each primary,
/// after it has asked which has which keys. The results are there once the questions are finished.
class Observer {
 public:
  /// `server`: a connection of `questions`, which must outlive this.
  Observer(redis::Questions& questions, std::size_t server);
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// Finds the keys of all locks that have this helper key there, by SCAN in bounded steps:
  /// "holder" of the locks that redlock holds, "log" of those that it has held, "fence" of all.
  void scan(std::string_view part, lock::Instant now);

  /// Reads the locks with these keys. If `reader` is a reader's token, it is among the readers,
  /// however many there are.
  void look(std::vector<std::string> keys, Marks marks, std::string reader, lock::Instant now);

  /// Why the server could not be asked, or not to the end.
  [[nodiscard]] std::optional<std::string> trouble() const;
  /// Why we stopped reading, if there was too much. Safe to print.
  [[nodiscard]] const std::optional<std::string>& cut() const { return cut_; }
  /// By scan(); a lock that was taken or released in the meantime may be missing or not.
  [[nodiscard]] const std::set<std::string>& found() const { return found_; }
  /// By look(), in the order of the keys; each can be taken once.
  [[nodiscard]] Observation take(std::size_t index) { return std::move(observations_[index]); }

 private:
  struct Node {
    std::size_t connection;
    std::size_t bytes = 0;                 ///< of its answers
    std::vector<std::size_t> wanted = {};  ///< by look(), the indices of its keys
    std::size_t asked = 0;                 ///< of these
    std::string cursor = {};               ///< of the scan
    std::optional<lock::Unreachable> trouble = {};
  };

  using Take = std::function<void(const redis::Value& reply, lock::Instant now)>;

  void ask_for_map(lock::Instant now);
  void begin(lock::Instant now);
  void begin_look(lock::Instant now);
  void ask(Node& node, redis::Command command, Take take, lock::Instant now);
  void ask_scan(Node& node, lock::Instant now);
  void take_scan(Node& node, const redis::Value& reply, lock::Instant now);
  void ask_more(Node& node, lock::Instant now);
  void ask_look(Node& node, std::size_t index, std::vector<std::string> declared,
                lock::Instant now);
  void go_on(Node& node, const redis::Value& reply, lock::Instant now);
  void stop(Node& node, const lock::Unreachable& why);

  redis::Questions& questions_;
  std::size_t server_;
  std::optional<ClusterMap> map_;
  std::deque<Node> nodes_;  ///< of a Cluster: its primaries, in the map's order
  bool looks_ = false;      ///< look() was called last, and not scan()
  std::string part_;        ///< of the scan
  std::set<std::string> found_;
  std::vector<std::string> keys_;
  std::string reader_;
  Marks marks_ = Marks::ignored;
  std::vector<Observation> observations_;
  std::optional<lock::Unreachable> trouble_;  ///< with the map of a Cluster
  std::optional<std::string> gap_;            ///< the locks that scan() cannot find
  std::optional<std::string> cut_;            ///< see cut()
};

}  // namespace redlock::observe

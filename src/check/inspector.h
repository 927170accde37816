// SPDX-License-Identifier: MIT
//
// Asks one server about itself, for `redlock check`. Absent on purpose: any judgement of the
// answers (check/diagnosis.h).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection/questions.h"

namespace redlock::check {

/// Untrusted.
struct Inspection {
  /// The server could not be used at all. If only other commands than those of a lock were not
  /// answered (a proxy may refuse them), no_time or no_info says why.
  std::optional<lock::Unreachable> trouble;
  std::optional<lock::Unreachable> no_time;
  std::optional<lock::Unreachable> no_info;
  std::optional<lock::Unreachable> no_messages;  ///< why SUBSCRIBE was not answered
  std::string place;                         ///< the address of a TCP server, wherever it was found
  std::optional<lock::Duration> round_trip;  ///< the shortest of a few
  std::optional<std::chrono::milliseconds> ahead;  ///< its clock, of ours
  /// The fields of INFO (https://redis.io/docs/latest/commands/info/); empty: not permitted.
  std::map<std::string, std::string, std::less<>> info;
  /// The run_ids that further connections to a TCP server found, over each address of its name.
  std::vector<std::string> run_ids;
  std::optional<std::string> appendfsync;  ///< if CONFIG is permitted
  /// Commands that the user may not run; "&": the user may not use our channels.
  std::vector<std::string> denied;
  std::optional<lock::Unreachable> scripts_refused;  ///< why none of our scripts would run
  /// Of the commands for messages to the nodes of one slot, those that the user may not run.
  std::vector<std::string> denied_sharded;
  /// What --as redisson needs besides, if the check asked for that; as in `denied`.
  std::vector<std::string> denied_redisson;
  /// Of "newest" and "build", those whose key may not be used, and that key.
  std::vector<std::pair<std::string_view, std::string>> denied_options;
  bool may_log = true;    ///< the user may write into the lock's log, or we do not know
  bool may_queue = true;  ///< the user may use the lock's queue, or we do not know
  /// When the server's certificate expires, if it speaks TLS.
  std::optional<std::chrono::system_clock::time_point> certificate_expires;

  [[nodiscard]] std::string field(std::string_view name) const;
};

/// Asks one server one question after another, over the same kind of connection as votes. The
/// result is there once the questions are finished.
class Inspector {
 public:
  static constexpr std::chrono::minutes kSweptFor{5};

  /// `server`: a connection of `questions`, which must outlive this. `lock_key`: of the trial lock.
  /// `redisson`: that is a hash, as Redisson's are.
  Inspector(redis::Questions& questions, std::size_t server, std::string lock_key, bool redisson);
  Inspector(const Inspector&) = delete;
  Inspector& operator=(const Inspector&) = delete;

  void start(lock::Instant now) { ask(0, now); }
  [[nodiscard]] const Inspection& inspection() const { return inspection_; }

  enum class Remains {
    there,    ///< the server has carried out all requests for the lock
    expected  ///< it may yet carry out some of them
  };
  /// Deletes the helper keys that a lock leaves. Only for a name that nobody uses: if requests are
  /// still expected, this takes the lock's key for kSweptFor, so that the server refuses them.
  void sweep(Remains remains, lock::Instant now);

 private:
  struct Step {
    std::size_t connection;
    redis::Command command;
    std::function<void(const redis::Value& reply, lock::Duration took)> take;
    /// Where to note why there is no answer, if that matters. `trouble` ends the questions.
    std::optional<lock::Unreachable> Inspection::*unanswered = nullptr;
  };

  void ask(std::size_t step, lock::Instant now);
  void pass(std::size_t step, lock::Unreachable why, lock::Instant now);
  [[nodiscard]] std::vector<Step> all_steps(bool redisson);
  void take_place();
  void take_time(const redis::Value& reply, lock::Duration round_trip);
  void take_permissions(const redis::Value& reply);
  void take_subscription(const redis::Value& reply);

  redis::Questions& questions_;
  std::size_t server_;
  std::string lock_key_;
  Inspection inspection_;
  std::vector<Step> steps_;
};

}  // namespace redlock::check

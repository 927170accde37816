// SPDX-License-Identifier: MIT
//
// Asks one server about itself, for `redlock check`. Absent on purpose: any judgement of the
// answers (check/diagnosis.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/requests/keys.h"

namespace redlock::redis {

/// Untrusted, as all that comes from a server.
struct Inspection {
  /// The server could not be used at all, or stopped answering.
  std::optional<lock::Unreachable> trouble;
  std::string place;                         ///< the address of a TCP server, wherever it was found
  std::optional<lock::Duration> round_trip;  ///< the shortest of a few
  std::optional<std::chrono::milliseconds> ahead;  ///< its clock, of ours
  /// The fields of INFO (https://redis.io/docs/latest/commands/info/); empty: not permitted.
  std::map<std::string, std::string, std::less<>> info;
  std::optional<std::string> appendfsync;  ///< none: CONFIG is not permitted
  /// Commands that the user may not run; "&": the user may not use our channels.
  std::vector<std::string> denied;
  std::optional<lock::Unreachable> scripts_refused;  ///< why none of our scripts would run
  /// Of the commands for messages to the nodes of one slot, those that the user may not run.
  std::vector<std::string> denied_sharded;
  bool may_log = true;    ///< the user may write into the lock's log, or we do not know
  bool may_queue = true;  ///< the user may use the lock's queue, or we do not know
  /// When the server's certificate expires; none without TLS.
  std::optional<std::chrono::system_clock::time_point> certificate_expires;

  [[nodiscard]] std::string field(std::string_view name) const;
};

/// Asks one server one question after the other, over the same kind of connection as votes.
/// Passive, as Link is: the caller polls interests() and calls turn().
class Inspector {
 public:
  static constexpr std::chrono::minutes kSweptFor{5};

  /// `endpoint` and `tls` must outlive this, as for Link. `lock_key`: of the lock that check tries.
  Inspector(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
            std::string lock_key);

  void start(lock::Instant now);
  void interests(std::vector<os::Interest>& out) const;
  [[nodiscard]] lock::Instant deadline() const;
  void turn(lock::Instant now);
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] const Inspection& inspection() const { return inspection_; }

  enum class Remains {
    there,    ///< the server has carried out all requests for the lock
    expected  ///< it may yet carry out some of them
  };
  /// Deletes the helper keys that a lock leaves behind. Only for a name that nobody uses: if the
  /// server may yet carry out requests, this takes the lock's key for kSweptFor, so that the server
  /// refuses them and they leave nothing. The caller then calls turn() until finished().
  void sweep(Remains remains, lock::Instant now);

 private:
  enum class Question {
    first_time,
    time,
    last_time,
    info,
    appendfsync,
    permissions,
    subscribe,
    log,
    queue,
    sharded_publish,
    sharded_subscribe,
    sweep
  };

  static bool subscribes(Question question) {
    return question == Question::subscribe || question == Question::sharded_subscribe;
  }
  void ask(Question question, lock::Instant now);
  [[nodiscard]] std::string encode_taking() const;
  void take(Question question, const Value& reply, lock::Duration round_trip, lock::Instant now);
  void take_time(const Value& reply, lock::Duration round_trip);
  void take_subscription(const Value& reply);
  void finish(lock::Unreachable why);

  const bool in_cluster_;
  std::string lock_key_;
  std::string holder_key_;
  std::string fence_key_;
  std::string dead_key_;
  std::string log_key_;
  std::string channel_;  ///< of the lock's holder
  Link link_;
  Link subscription_;  ///< a connection with a subscription takes no other requests
  Inspection inspection_;
  std::optional<Remains> sweeping_;
  bool finished_ = false;
};

}  // namespace redlock::redis

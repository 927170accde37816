// SPDX-License-Identifier: MIT
//
// Takes a lock away on one server, for `redlock release --force`. Absent on purpose: who holds the
// lock, and how many servers a takeover needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/judgement.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/connection/link.h"
#include "redis/requests/log.h"

namespace redlock::redis {

/// Passive, as Link is: the caller polls interests() and calls turn() until finished(). Each
/// request compares and sets: a key that has changed since the user saw it stays as it is.
class Revoker {
 public:
  /// `endpoint` and `tls` must outlive this, as for Link. `key`: the lock's.
  Revoker(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key);

  /// Revokes the lock with this token: its key gets `value`. The holder receives a notice, also if
  /// the lock was revoked before.
  void revoke(const std::string& token, const std::string& value, lock::Instant now);

  /// Deletes the key that the user saw. `token`: of its lock, or empty for a key of another
  /// program. `readers`: the tokens of those that hold a shared lock, on any server.
  void remove(const lock::Sighting& seen, const std::string& token,
              const std::vector<std::string>& readers, lock::Instant now);

  /// Writes lines, at least one, into the lock's log. The answer does not say whether that worked.
  void log(const std::vector<LogLine>& lines, unsigned most, lock::Instant now);

  void interests(std::vector<os::Interest>& out) const { link_.interests(out); }
  [[nodiscard]] lock::Instant deadline() const { return link_.deadline(); }
  void turn(lock::Instant now);
  [[nodiscard]] bool finished() const { return finished_; }

  /// To the last request: Released if the server has carried it out, Missing or NotMine if the key
  /// is missing or has changed. None before the first request.
  [[nodiscard]] const std::optional<lock::Answer>& answer() const { return answer_; }
  /// How many subscribers received the notice that their lock was revoked.
  [[nodiscard]] std::int64_t notified() const { return notified_; }
  /// The tokens of the readers from which this server has revoked the lock.
  [[nodiscard]] const std::vector<std::string>& readers() const { return readers_; }

 private:
  void ask(std::string wire, unsigned replies, lock::Instant now);
  [[nodiscard]] lock::Answer read(const Value& reply);

  const Endpoint& endpoint_;
  std::string key_;
  Link link_;
  std::optional<lock::Answer> answer_;
  std::int64_t notified_ = 0;
  std::vector<std::string> readers_;
  std::uint32_t asked_ = 0;
  bool finished_ = true;
};

}  // namespace redlock::redis

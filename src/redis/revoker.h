// SPDX-License-Identifier: MIT
//
// Takes a lock away on one server, for `redlock release --force`. Absent on purpose: whose it is,
// and how many servers it takes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lock/judgement.h"
#include "lock/time.h"
#include "lock/vote.h"
#include "os/loop.h"
#include "redis/link.h"
#include "redis/log.h"

namespace redlock::redis {

/// Passive, as Link is: the caller polls interests() and calls turn() until finished(). Each
/// request compares and sets: what is not as it was shown stays as it is.
class Revoker {
 public:
  /// `endpoint` and `tls` must outlive this, as for Link. `key`: the lock's.
  Revoker(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts, std::string key);

  /// The lock with this token is revoked: its key gets `value`. Its holder is told, also if it was
  /// revoked before.
  void revoke(const std::string& token, const std::string& value, lock::Instant now);

  /// What was seen is deleted. `token`: whose lock it is, or empty for a key of another program.
  void remove(const lock::Sighting& seen, const std::string& token, lock::Instant now);

  /// Writes a line into the lock's log. The answer says nothing of it.
  void log(const LogLine& line, unsigned most, lock::Instant now);

  void interests(std::vector<os::Interest>& out) const { link_.interests(out); }
  [[nodiscard]] lock::Instant deadline() const { return link_.deadline(); }
  void turn(lock::Instant now);
  [[nodiscard]] bool finished() const { return finished_; }

  /// Of the last request: Released if it was done, Missing or NotMine if there is nothing or
  /// something else. None if nothing was asked.
  [[nodiscard]] const std::optional<lock::Answer>& answer() const { return answer_; }
  /// How many listened when their lock was revoked.
  [[nodiscard]] std::int64_t told() const { return told_; }

 private:
  void ask(std::string wire, unsigned replies, lock::Instant now);
  [[nodiscard]] lock::Answer read(const Value& reply);

  std::string key_;
  Link link_;
  std::optional<lock::Answer> answer_;
  std::int64_t told_ = 0;
  std::uint32_t asked_ = 0;
  bool finished_ = true;
};

}  // namespace redlock::redis

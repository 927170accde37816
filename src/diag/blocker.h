// SPDX-License-Identifier: MIT
//
// Names the process in our way: it holds, cools or revoked the lock, or its run already did our
// work. All text is safe to print.
#pragma once

#include "lock/effect.h"
#include "lock/value.h"
#include "lock/vote.h"
#include "records/records.h"

namespace redlock::diag {

std::string person(const records::Holder& who);   ///< "root@web1"
std::string process(const records::Holder& who);  ///< "root@web1 (pid 4711)"
std::string command_of(const records::Holder& holder);
std::string message_of(const records::Holder& holder);

/// What the lock is held for, for the column COMMAND of a table: "./backup.sh (every hour)",
/// "maintenance (schema migration)". May be empty.
std::string work_of(const records::Holder& holder);

/// A holder that has missed a renewal.
struct Overdue {
  std::chrono::milliseconds renewed_ago;
  std::chrono::milliseconds period;  ///< between two renewals
};

/// How long ago the holder of a lock renewed it, by the time that its lease has left, or the key of
/// a lock without a minimum hold. None if that is not known, or if no process renews the lock.
std::optional<std::chrono::milliseconds> renewed_ago(const records::Holder& holder,
                                                     std::optional<std::chrono::milliseconds> left);

/// None if the holder has missed no renewal. (It renews after a third of the ttl; half of it leaves
/// time for a slow server.) For a lock that is held: nobody renews one that cools or is revoked.
std::optional<Overdue> overdue(const records::Holder& holder,
                               std::optional<std::chrono::milliseconds> left);

/// "last renewed 13 s ago (every 10 s): the holder may be dead"
std::string describe(const Overdue& overdue);

/// A refusal, read: whose lock it is, in what state, and the words for that. Every sentence about a
/// lock that somebody else has begins with them.
struct Blocker {
  explicit Blocker(const lock::Refused& refusal);

  lock::Value::Kind kind;
  std::optional<records::Holder> holder;
  bool maintenance;
  bool shared;
  std::optional<Overdue> late;  ///< of a lock that one job holds
  std::string_view verb;        ///< "held by ", "cooling down after "…
  std::string_view nobody;      ///< stands for a holder that is not known: "another program"…
  std::string_view says_why;    ///< " (its key says nothing about itself)"…
  std::string_view job;         ///< what happens to the job of a revoked lock
};

/// "held by root@web1 (pid 4711, ./backup.sh) for 3m 2s", "cooling down after …", or what is known
/// of another program's key.
std::string describe(const lock::Refused& refusal);

/// The same without times: "held by root@web1 (pid 4711, ./backup.sh)".
std::string name_blocker(const lock::Refused& refusal);

/// "done by root@web1 (pid 4711, ./backup.sh), begun 3m 2s ago"
std::string describe(const lock::Done& done);

/// ` was revoked by ops@bastion (pid 4711)` if a server says so, or `: replaced by …`; ` was
/// revoked` if no server says who did it; nothing if it was not revoked. `notice`, the last one
/// that reached us, counts if the key is gone or another's.
std::optional<std::string> revoked_by(const std::vector<lock::Complaint>& complaints,
                                      std::string_view notice);

}  // namespace redlock::diag

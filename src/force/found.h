// SPDX-License-Identifier: MIT
//
// The lock that `redlock release --force` takes away, and what the command says about it.
#pragma once

#include <string>
#include <string_view>

#include "observe/observed.h"

namespace redlock::force {

/// Whether a run inside the holder's job holds the lock, too.
bool is_joined(const observe::Observed& lock);

struct Found {
  observe::Observed lock{};
  bool hold = false;    ///< it is a maintenance hold, of which only a run inside has a job
  bool failed = false;  ///< it became one after we had looked

  /// `redlock acquire` took it without --keep-for: no redlock renews it.
  [[nodiscard]] bool unattended() const;
  /// A process has it that redlock neither stops nor warns.
  [[nodiscard]] bool stops_nothing() const;

  /// "root@web1 (pid 7, ./backup.sh)", "its 3 readers"
  [[nodiscard]] std::string holder() const;
  [[nodiscard]] std::string_view holders() const;
  /// ", in 30 s at the latest": when the lock expires.
  [[nodiscard]] std::string latest() const;

  /// `removes`: the key will be deleted, so that nobody waits for a job.
  [[nodiscard]] std::string question(bool removes) const;
  /// After a revocation, and `notified` if a holder heard of it: what the holders do now, and when
  /// the lock is free.
  [[nodiscard]] std::string outlook(bool notified) const;
  /// After the key was deleted: what a user who takes the lock now has to know.
  [[nodiscard]] std::string how_free() const;
};

}  // namespace redlock::force

// SPDX-License-Identifier: MIT
//
// Several locks together (`--also`). Each lock has a redlock of its own: when the first one has its
// lock, its job is the redlock that takes the next lock, and the job of the last one is the user's
// command. So each lock is renewed, lost and released as if it were the only one, and whatever ends
// one of them ends the command.
//
// All take the locks in the order of their names, so no two such runs wait for each other.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/command_line.h"
#include "driver/setup.h"
#include "error.h"
#include "os/process.h"
#include "run/metrics.h"

namespace redlock::run {

/// Throws Error (64) if the environment has what a stage tells the next one, but our parent is not
/// a redlock. To be called before anything reads these variables: they name descriptors to read.
void require_stage_before();

/// One of the redlocks of a run: the one that takes the lock `name()`.
class Stage {
 public:
  /// The stage that this process is: the first, or the one that REDLOCK_STAGE names. Throws Error
  /// (64) if that variable does not fit: `held`, REDLOCK_HELD, must name all locks of the stages
  /// before ours. Also if the run would take its locks out of the order (lock/stages.h).
  Stage(const cli::Run& request, std::string_view held, lock::Instant now);

  [[nodiscard]] const std::string& name() const { return names_[number_]; }
  [[nodiscard]] bool is_first() const { return number_ == 0; }
  [[nodiscard]] bool is_last() const { return number_ + 1 == names_.size(); }

  /// The settings of this stage. All stages together wait as long as the user said, and only the
  /// last one knows the longest runtime.
  [[nodiscard]] config::Settings settings(lock::Instant now) const;

  /// What this stage runs: the user's command, or the next stage.
  [[nodiscard]] std::vector<std::string> argv() const;
  /// Starts it. Only the next stage inherits what the stages share.
  [[nodiscard]] os::Spawned spawn(const std::vector<std::string>& environment,
                                  const os::SignalSource& signals, os::Placement placement) const;

  /// The last stage tells the others that the command has started; the others do nothing.
  void note_start(lock::Instant start) const;
  using Job = RunFacts::Job;
  /// The run of the command, for the metrics of our lock; none: it did not start. `job`: the run of
  /// what this stage ran, from `start` on.
  [[nodiscard]] std::optional<Job> run_of_command(Job job, lock::Instant start) const;

  struct Variables {
    std::vector<std::string> dropped;  ///< names
    std::vector<std::string> added;    ///< "NAME=value"
  };
  enum class Reader { job, lost_hook };
  /// What it changes in the environment of what it runs, or of the command of --on-lost, besides
  /// REDLOCK_HELD, when it has the lock. The last stage's are the same for both.
  [[nodiscard]] Variables variables(Reader reader, const std::string& token,
                                    std::uint64_t fence) const;

 private:
  void keep_pipes();

  const cli::Run& request_;
  std::vector<std::string> names_;  ///< in the order in which redlock takes them
  std::size_t number_ = 0;          ///< ours among them
  lock::Instant limit_{};           ///< of -w, for all stages; kNever: without it
  /// With --metrics-file, in memory and shared by all stages: when the command started, in ns of
  /// CLOCK_BOOTTIME; empty: it has not.
  os::Fd start_;
  std::vector<os::Fd> pipes_;   ///< in memory: what redlock read from pipes
  std::string pipes_variable_;  ///< config::kPipesVariable
};

// REDLOCK_HELD: the locks that our ancestors hold, for a redlock inside their jobs to join. One
// entry per lock, separated by blanks:
//
//   TOKEN:FENCE:FINGERPRINT:KEY
//
// FINGERPRINT is that of the set of servers, KEY is in hexadecimal digits. redlock does not trust
// it: it asks the servers whether the lock has that token.

/// The last entry of that lock in a REDLOCK_HELD. Skips malformed entries.
std::optional<lock::Inherited> find_held(std::string_view environment, const driver::LockId& id);

/// Whether the outer run may still hold that lock. A process that it left behind keeps its
/// REDLOCK_HELD. True if too few servers answer. Asks them; throws Error (71, 78).
bool may_still_hold(const lock::Inherited& held, const std::string& name,
                    const config::Settings& settings);

/// REDLOCK_HELD with one more entry, instead of an older one of the same lock.
std::string add_held(std::string_view environment, const driver::LockId& id,
                     const lock::Inherited& held);

}  // namespace redlock::run

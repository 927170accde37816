// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "config/settings.h"
#include "diag/text.h"
#include "diag/reporter.h"
#include "lock/session.h"
#include "lock/time.h"
#include "os/process.h"
#include "os/stderr.h"
#include "redis/ask/log_reader.h"
#include "redis/servers/server_set.h"

namespace redlock::driver {

/// How long the runs of a lock usually take, for the live line of a wait: reads the end of the
/// lock's log from the first server that answers, over a connection of its own. If anything goes
/// wrong, only these words are missing. The loop does not poll the connection: turn() looks at it.
class UsualRun {
 public:
  /// `settings` and `servers` must outlive this. `key`: of the lock.
  UsualRun(const config::Settings& settings, const redis::ServerSet& servers, std::string key);

  /// Lets turn() read; has an effect once.
  void begin(lock::Instant now) {
    if (!std::exchange(begun_, true)) next_ = now;
  }

  /// When turn() is due; kNever if there is nothing to read.
  [[nodiscard]] lock::Instant deadline() const { return next_; }

  /// True: usual() has just become known.
  bool turn(lock::Instant now) noexcept;

  void stop() noexcept;
  [[nodiscard]] const std::optional<diag::Usual>& usual() const { return usual_; }

 private:
  struct Reading {
    Reading(const redis::Endpoint& place, const redis::TlsContext* tls, redis::Timeouts timeouts)
        : log(questions, questions.connect(place, tls, timeouts)) {}

    redis::Questions questions;
    redis::LogReader log;
  };

  void read(lock::Instant now);

  const config::Settings& settings_;
  const redis::ServerSet& servers_;
  std::string key_;
  bool begun_ = false;
  std::size_t server_ = 0;
  std::optional<Reading> reading_;
  lock::Instant next_ = lock::kNever;
  lock::Instant limit_ = lock::kNever;
  std::optional<diag::Usual> usual_;
};

/// Shows a user who waits for a lock how the wait is going. It has no timer: the loop wakes up at
/// its deadline, which is kNever if there is nothing to show.
class Progress {
 public:
  enum class Mode {
    none,
    live,   ///< one line, rewritten each second
    lines,  ///< a line now, and then every minute
    status  ///< for the service manager, every 5 s; nothing on standard error
  };

  /// `began`: the moment from which the session measures its limits. `manager`: for Mode::status.
  Progress(Mode mode, std::string lock_name, const lock::Patience& patience, os::Stderr& out,
           lock::Instant began, const os::ServiceManager* manager = nullptr);
  ~Progress() { hide(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Adds to the live line how long the runs usually take. `settings` and `servers` must outlive
  /// this.
  void tell_usual(const config::Settings& settings, const redis::ServerSet& servers,
                  const std::string& lock_key);

  [[nodiscard]] lock::Instant deadline(const lock::Session& session) const {
    if (!session.acquiring()) return lock::kNever;
    return usual_ ? std::min(next_, usual_->deadline()) : next_;
  }
  void turn(const lock::Session& session, lock::Instant now);

  /// To be called when the session has stopped acquiring, before any other output, and before a
  /// fork.
  void hide() {
    if (usual_) usual_->stop();
    if (mode_ == Mode::live) out_.hide();
  }

 private:
  void show(const lock::Waiting& state, lock::Instant now) const;

  Mode mode_;
  std::string lock_;
  std::optional<lock::Duration> limit_;
  os::Stderr& out_;
  const os::ServiceManager* manager_;
  lock::Instant began_;
  lock::Instant next_;
  std::optional<UsualRun> usual_;
};

/// How to show the wait on our standard error.
Progress::Mode progress_mode(const config::Settings& settings);

/// Words the events of that lock, as the settings want it.
diag::Reporter reporter_for(const config::Settings& settings, const std::string& lock_name,
                            os::Stderr& out);

}  // namespace redlock::driver

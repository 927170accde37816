// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "config/settings.h"
#include "diag/progress.h"
#include "diag/reporter.h"
#include "lock/session.h"
#include "lock/time.h"
#include "os/stderr.h"
#include "redis/server_set.h"

namespace redlock::driver {

/// Shows somebody who waits for a lock how things stand, for as long as that is so. It has no
/// timer: whoever turns the loop wakes by its deadline, which is never where nothing is to be
/// shown.
class Progress {
 public:
  enum class Mode {
    none,
    live,  ///< one line, rewritten each second
    lines  ///< a line at once, and then every minute
  };

  /// `began`: the moment from which the session counts its limits.
  Progress(Mode mode, std::string lock_name, const lock::Patience& patience, os::Stderr& out,
           lock::Instant began);
  ~Progress() { hide(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// When turn() is due.
  [[nodiscard]] lock::Instant deadline(const lock::Session& session) const {
    return session.acquiring() ? next_ : lock::kNever;
  }

  /// Shows what is known if that is due.
  void turn(const lock::Session& session, const redis::ServerSet& servers, lock::Instant now);

  /// To be called before anything else happens to the terminal once the session is not acquiring.
  void hide() const {
    if (mode_ == Mode::live) out_.hide();
  }

 private:
  [[nodiscard]] diag::WaitFacts facts(const lock::Waiting& state, const redis::ServerSet& servers,
                                      lock::Instant now) const;
  void show(const diag::WaitFacts& facts) const;

  Mode mode_;
  std::string lock_;
  std::optional<lock::Duration> limit_;
  os::Stderr& out_;
  lock::Instant began_;
  lock::Instant next_;
};

/// How the wait is to be shown on our standard error.
Progress::Mode progress_mode(const config::Settings& settings);

/// What else is to be said of it.
diag::WaitNews wait_news(const config::Settings& settings);

}  // namespace redlock::driver

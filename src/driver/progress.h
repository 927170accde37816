// SPDX-License-Identifier: MIT
#pragma once

#include "config/settings.h"
#include "diag/reporter.h"
#include "diag/text.h"
#include "lock/session.h"
#include "lock/time.h"
#include "os/process.h"
#include "os/stderr.h"

namespace redlock::driver {

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

  [[nodiscard]] lock::Instant deadline(const lock::Session& session) const {
    return session.acquiring() ? next_ : lock::kNever;
  }
  void update(const lock::Session& session, lock::Instant now);

  /// To be called when the session has stopped acquiring, before any other output, and before a
  /// fork.
  void hide() {
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
};

/// How to show the wait on our standard error.
Progress::Mode progress_mode(const config::Settings& settings);

/// Words the events of that lock, as the settings want it.
diag::Reporter reporter_for(const config::Settings& settings, const std::string& lock_name,
                            os::Stderr& out);

}  // namespace redlock::driver

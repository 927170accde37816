// SPDX-License-Identifier: MIT
//
// The processes of `redlock run`. A class is one of them, and none asks which one it is:
//
//   runner.cc       Until redlock holds the lock there is one process. It waits for the lock, then
//                   forks, and waits until the child has started the job. If the job does not
//                   start, the child ends, and this process goes on with its session.
//   worker.h        The child: starts the job, goes on with the session, releases the lock.
//   supervisor.h    The parent once the job runs; it has no connection to a server.
//
// Each has its own copy of what is below; what they share is in supervision.h.
#pragma once

#include <fmt/format.h>

#include <new>
#include <string>
#include <vector>

#include "diag/reporter.h"
#include "diag/text.h"
#include "driver/setup.h"
#include "redis/servers/server_set.h"
#include "run/job_control.h"
#include "run/stage.h"

namespace redlock::run {

/// Throws Error if redlock cannot run a job.
Exit carry_out(const cli::Run& request);

/// What is to be done, which does not change any more, and what each process works with.
struct Run {
  const lock::Plan plan;
  const config::Settings& settings;
  const driver::LockId lock;
  const records::Holder& who;  ///< for the lock's log
  const std::string& held;     ///< REDLOCK_HELD as we found it
  const Stage& stage;          ///< which lock of several this one is, and what to run
  redis::ServerSet& servers;
  os::Stderr& out;
  diag::Reporter& reporter;
  os::SignalSource signals{};  ///< from here on no signal ends us while we hold a lock
  os::ProcessTree tree{};
  const std::string title = diag::lock_name(lock.name);  ///< the lock, as sentences name it
  JobKiller killer{tree, out, title};

  void say(const lock::Report& report) const {
    try {
      reporter.say(report);
    } catch (const std::bad_alloc&) {
      out.line("redlock: out of memory, a message is missing here");
    }
  }
  void say_no_start(const char* why) const noexcept {
    try {
      out.line(fmt::format("redlock: cannot start the job: {}", why));
      out.drain();
    } catch (const std::exception&) {
      os::last_words("redlock: cannot start the job: out of memory\n");
    }
  }
};

/// What the process before the fork prepares for one start of the job.
struct Start {
  std::vector<std::string> environment;  ///< the job's
  LostHook hook;
  JobControl job_control;
};

}  // namespace redlock::run

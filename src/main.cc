// SPDX-License-Identifier: MIT
//
// redlock: run a job under a lock that holds across hosts.
//
// A map of the program, from top to bottom; includes go downward only:
//
//   main.cc    one line per command, see below
//
//   run/       a job under a lock, below two processes
//   hold/      a lock without a job: acquire and its keeper, hold, renew, release
//   look/      status, list, history, config; check, which also tries a lock
//   force/     release --force: taking a lock from its holder
//   sandbox/   private servers to try things with
//
//   driver/    the code that these rooms share: the loop, from settings to servers, output
//   cli/       argv, split by hand and then read by CLI11
//   config/    the table of all settings: flag, environment variable, file, default
//   diag/      the sentences about locks, holders and times that several rooms share
//   redis/     one connection per server, the Lua scripts, replies turned into votes
//   records/   what servers store for people: holder, log entry, revocation; JSON out and in
//   os/        processes, signals, clock: Linux facts without policy
//   lock/      the protocol itself, a pure state machine: start reading at lock/session.h
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <variant>
#include <vector>

#include "cli/command_line.h"
#include "driver/output.h"
#include "error.h"
#include "force/force_release.h"
#include "hold/hold.h"
#include "look/look.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "run/run.h"
#include "run/stage.h"
#include "sandbox/sandbox.h"

namespace {

using namespace redlock;

Exit carry_out(const cli::Print& print) {
  return driver::print(print.text, ExitStatus::ok);
}

void warn(const config::Settings& settings) {
  if (settings.quiet || settings.warnings.empty()) return;
  std::vector<std::string> lines;
  for (const std::string& warning : settings.warnings) lines.push_back("warning: " + warning);
  driver::complain(lines);
}

Exit carry_out(const cli::Run& run) {
  return run::run(run);
}

Exit carry_out(const cli::Acquire& acquire) {
  warn(acquire.settings);
  return hold::acquire(acquire);
}

Exit carry_out(const cli::Hold& hold) {
  warn(hold.settings);
  return hold::hold(hold);
}

Exit carry_out(const cli::Renew& renew) {
  warn(renew.settings);
  return hold::renew(renew);
}

Exit carry_out(const cli::Release& release) {
  warn(release.settings);
  return hold::release(release);
}

Exit carry_out(const cli::ForceRelease& release) {
  warn(release.settings);
  return force::force_release(release);
}

Exit carry_out(const cli::ShowConfig& show) {
  warn(show.draft.settings);
  return carry_out(cli::Print{look::describe_settings(show.draft)});
}

Exit carry_out(const cli::Check& check) {
  return look::check(check);
}

Exit carry_out(const cli::Status& status) {
  warn(status.settings);
  return look::status(status);
}

Exit carry_out(const cli::List& list) {
  warn(list.settings);
  return look::list(list);
}

Exit carry_out(const cli::History& history) {
  warn(history.settings);
  return look::history(history);
}

Exit carry_out(const cli::Complete& line) {
  return look::complete(line);
}

Exit carry_out(const cli::Sandbox& sandbox) {
  return sandbox::run_sandbox(sandbox);
}

int fail(ExitStatus status, const char* message) {
  try {
    driver::complain({message});
  } catch (const std::bad_alloc&) {
    os::last_words("redlock: out of memory\n");
  }
  return static_cast<int>(status);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    os::occupy_standard_descriptors();
    run::require_stage_before();
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const cli::Invocation invocation =
        cli::parse(arguments, [](const char* name) { return std::getenv(name); });
    const Exit result =
        std::visit([](const auto& request) { return carry_out(request); }, invocation);
    // Everything has been cleaned up. This includes KILL (the job ran out of memory): our parent
    // sees the status that it would have seen of the job itself, and no process is left that could
    // be killed with us.
    if (result.signal != 0) os::end_by(result.signal);
    return result.status;
  } catch (const Error& error) {
    return fail(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitStatus::os_error, "out of memory");
  } catch (const std::exception& error) {
    return fail(ExitStatus::os_error, error.what());
  }
}

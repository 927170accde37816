// SPDX-License-Identifier: MIT
//
// redlock: run a job under a lock that holds across hosts.
//
// A map of the program, from top to bottom; includes go downward only:
//
//   main.cc    what you see below
//   commands/  one file per command; runner.cc is the loop that everything happens in
//   cli/       argv, split by hand and then read by CLI11
//   config/    the table of all settings: flag, environment variable, file, default
//   diag/      every word that redlock says to people
//   redis/     one connection per server, the Lua scripts, replies turned into votes
//   os/        processes, signals, clock: Linux facts without policy
//   lock/      the protocol itself, a pure state machine: start reading at lock/session.h
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <variant>
#include <vector>

#include "cli/command_line.h"
#include "commands/acquire.h"
#include "commands/check.h"
#include "commands/config.h"
#include "commands/force_release.h"
#include "commands/history.h"
#include "commands/list.h"
#include "commands/output.h"
#include "commands/release.h"
#include "commands/renew.h"
#include "commands/run.h"
#include "commands/sandbox.h"
#include "commands/status.h"
#include "error.h"
#include "os/last_words.h"
#include "os/signals.h"
#include "os/standard_fds.h"
#include "os/stderr.h"

namespace {

using namespace redlock;

Exit carry_out(const cli::Print& print) {
  return {commands::print(print.text, ExitStatus::ok)};
}

void warn(const config::Settings& settings) {
  if (settings.quiet || settings.warnings.empty()) return;
  os::Stderr out;
  for (const std::string& warning : settings.warnings) out.line("redlock: warning: " + warning);
  out.drain(std::chrono::milliseconds(100));
}

Exit carry_out(const cli::Run& run) {
  warn(run.settings);
  return commands::run(run);
}

Exit carry_out(const cli::Acquire& acquire) {
  warn(acquire.settings);
  return commands::acquire(acquire);
}

Exit carry_out(const cli::Renew& renew) {
  warn(renew.settings);
  return commands::renew(renew);
}

Exit carry_out(const cli::Release& release) {
  warn(release.settings);
  return commands::release(release);
}

Exit carry_out(const cli::ForceRelease& release) {
  warn(release.settings);
  return {commands::force_release(release)};
}

Exit carry_out(const cli::ShowConfig& show) {
  warn(show.draft.settings);
  return carry_out(cli::Print{commands::describe_settings(show.draft)});
}

Exit carry_out(const cli::Check& check) {
  return commands::check(check);
}

Exit carry_out(const cli::Status& status) {
  warn(status.settings);
  return {commands::status(status)};
}

Exit carry_out(const cli::List& list) {
  warn(list.settings);
  return {commands::list(list)};
}

Exit carry_out(const cli::History& history) {
  warn(history.settings);
  return {commands::history(history)};
}

Exit carry_out(const cli::Sandbox& sandbox) {
  return commands::run_sandbox(sandbox.servers, sandbox.command);
}

int fail(ExitStatus status, const char* message) {
  try {
    os::Stderr out;
    out.line(std::string("redlock: ") + message);
    out.drain(std::chrono::milliseconds(100));
  } catch (const std::bad_alloc&) {
    os::last_words("redlock: out of memory\n");
  }
  return static_cast<int>(status);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    os::occupy_standard_descriptors();
    const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
    const cli::Invocation invocation =
        cli::parse(arguments, [](const char* name) { return std::getenv(name); });
    const Exit result =
        std::visit([](const auto& request) { return carry_out(request); }, invocation);
    // All is put in order. KILL too (the job ran out of memory): who started us sees what it would
    // have seen of the job itself, and nothing is left that could be killed with us.
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

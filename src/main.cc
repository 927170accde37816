// SPDX-License-Identifier: MIT
//
// redlock: run a job under a lock that holds across hosts.
//
// A map of the program, from top to bottom; includes go downward only. src/README.md says more:
//
//   main.cc                 carries out a request, in one of these rooms:
//   run/ hold/ look/ check/ force/ sandbox/
//                           a room for each thing that a user does
//   observe/                what the servers say about locks
//   driver/                 the code that these rooms share: the loop, output
//   cli/ config/            argv, split by hand and then read by CLI11; all settings
//   diag/ redis/ records/   sentences; servers; what they store for users
//   os/ lock/               Linux; the protocol, which begins at lock/session.h
#include <concepts>
#include <cstdlib>
#include <exception>
#include <new>

#include "check/check.h"
#include "cli/command_line.h"
#include "cli/help.h"
#include "driver/output.h"
#include "error.h"
#include "force/force_release.h"
#include "hold/hold.h"
#include "look/look.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "run/run.h"
#include "sandbox/sandbox.h"

namespace {

using namespace redlock;

using check::carry_out;
using force::carry_out;
using hold::carry_out;
using look::carry_out;
using run::carry_out;
using sandbox::carry_out;

Exit carry_out(const cli::Print& print) {
  const std::size_t width = driver::output_screen({}).width;
  const bool narrow = print.help && width < cli::kHelpWidth;
  return driver::print(narrow ? cli::fitted(print.text, width) : print.text, ExitStatus::ok);
}

/// Prints what is odd about the settings before the command says anything. Not for run, which does
/// that only at the first of several locks, nor for check, whose findings contain it.
template <class Request>
void warn(const Request& request) {
  constexpr bool by_itself = std::same_as<Request, cli::Run> || std::same_as<Request, cli::Check>;
  if constexpr (!by_itself && requires { request.settings.warnings; }) {
    if (request.settings.quiet || request.settings.warnings.empty()) return;
    std::vector<std::string> lines = request.settings.warnings;
    for (std::string& line : lines) line.insert(0, "warning: ");
    driver::complain(lines);
  }
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
    const Exit result = std::visit(
        [](const auto& request) -> Exit {
          warn(request);
          return carry_out(request);
        },
        invocation);
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

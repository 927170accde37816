// SPDX-License-Identifier: MIT
//
// What the tests of the command line share.
#pragma once

#include "doctest.h"

#include <map>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "contains.h"
#include "error.h"

namespace redlock::tests {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

inline config::Environment environment(Variables variables) {
  variables.emplace("REDLOCK_CONFIG", "/dev/null");  // not this machine's
  return [variables = std::move(variables)](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

inline cli::Invocation parse(Words words, Variables variables = {}) {
  return cli::parse(std::move(words), environment(std::move(variables)));
}

const Variables kOne = {{"REDLOCK_SERVERS", "redis://one"}};

/// The request that this command makes of these words, with kOne unless there are other servers.
template <class Command>
Command parse_as(const std::string& command, Words words, Variables variables = {}) {
  words.insert(words.begin(), command);
  variables.insert(kOne.begin(), kOne.end());
  return std::get<Command>(parse(std::move(words), std::move(variables)));
}
inline cli::Run parse_run(Words words, Variables variables = {}) {
  return parse_as<cli::Run>("run", std::move(words), std::move(variables));
}

/// The text of --help, --version and the like.
inline std::string printed(const Words& words) {
  return std::get<cli::Print>(parse(words)).text;
}

struct Failure {
  ExitStatus status;
  std::string message;
};

/// The error these words end in.
inline Failure failure(Words words, Variables variables = {}) {
  try {
    parse(std::move(words), std::move(variables));
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return {error.status(), error.what()};
  }
  return {ExitStatus::ok, "no error"};
}

/// Checks both parts of a failure, showing both if one is wrong.
inline void check_failure(const Failure& got, ExitStatus status, const std::string& part) {
  CAPTURE(got.message);
  CAPTURE(part);
  CHECK(static_cast<int>(got.status) == static_cast<int>(status));
  CHECK(contains(got.message, part));
}

/// These words are wrong usage, or a wrong configuration, and the message has that part.
inline void check_usage(Words words, const std::string& part, Variables variables = {}) {
  check_failure(failure(std::move(words), std::move(variables)), ExitStatus::usage, part);
}
inline void check_config(Words words, const std::string& part, Variables variables = {}) {
  check_failure(failure(std::move(words), std::move(variables)), ExitStatus::config, part);
}

}  // namespace redlock::tests

// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

#include "exit_status.h"

namespace redlock {

/// Ends the program: wrong usage or configuration, or the machine fails. Only main catches it,
/// prints `redlock: <message>` and exits with the status. What a distributed system does every day
/// (a server refused, a lock lost) is a value, never an Error.
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  [[nodiscard]] ExitStatus status() const { return status_; }

 private:
  ExitStatus status_;
};

}  // namespace redlock

// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "os/fd.h"

namespace redlock::sandbox {

/// TCP ports of 127.0.0.1 that no other process gets, except one that binds with SO_REUSEADDR and
/// listens, as a Redis server does. The kernel gives none of them to an outgoing connection.
class ReservedPorts {
 public:
  /// A port, and the port 10,000 above it: there a node of a Redis Cluster listens for the others.
  /// Throws Error (71) if there are no two such ports.
  std::uint16_t reserve();

 private:
  std::vector<os::Fd> held_;
};

}  // namespace redlock::sandbox

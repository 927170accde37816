// SPDX-License-Identifier: MIT
//
// Memory for the end. A program that gets none any more can still give back a lock and kill a job,
// but the code that does both allocates. So one block is part of the program, and from the moment
// at which something has failed, what malloc(3) refuses is taken from there (os/spare_malloc.cc).
// OpenSSL alone takes from it at once (redis/tls/openssl.cc): a connection in which it got no
// memory cannot be used any more, and a lock is given back over its connections.
#pragma once

#include <cstddef>

namespace redlock::os {

/// From now on, in this process and its children. Does nothing in a build with sanitizers, which
/// bring a malloc(3) of their own.
void use_spare_memory() noexcept;
[[nodiscard]] bool spare_memory_is_in_use() noexcept;

/// Aligned for any type. Null if the block has not so much left.
void* take_spare_memory(std::size_t size) noexcept;

[[nodiscard]] bool is_spare_memory(const void* memory) noexcept;
[[nodiscard]] std::size_t size_of_spare_memory(const void* memory) noexcept;

/// Once all of it has been given back, the whole block can be taken again.
void return_spare_memory(void* memory) noexcept;

}  // namespace redlock::os

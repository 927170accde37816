// SPDX-License-Identifier: MIT
//
// Memory for the end. A program that gets no more memory must still give back its lock and kill its
// job, but the code for both allocates. So one block is part of the program. Once
// use_spare_memory() was called, an allocation that malloc(3) refuses comes from this block
// (os/spare_malloc.cc). OpenSSL alone takes from it before that call (redis/tls/openssl.cc): it
// cannot go on with a connection for which it got no memory, and the lock is given back over that.
#pragma once

#include <cstddef>

namespace redlock::os {

/// Puts the block into use, in this process and its children. Does nothing in a build with
/// sanitizers, which bring a malloc(3) of their own.
void use_spare_memory() noexcept;
[[nodiscard]] bool spare_memory_is_in_use() noexcept;

/// Aligned for any type. Null if the block has too little left.
void* take_spare_memory(std::size_t size) noexcept;

[[nodiscard]] bool is_spare_memory(const void* memory) noexcept;
[[nodiscard]] std::size_t size_of_spare_memory(const void* memory) noexcept;

/// Once all pieces have been given back, the whole block is free again.
void return_spare_memory(void* memory) noexcept;

}  // namespace redlock::os

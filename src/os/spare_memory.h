// SPDX-License-Identifier: MIT
//
// Memory for the end. A program that gets no more memory must still give back its lock and kill its
// job, but the code for both allocates. So one block is part of the program. Once
// use_spare_memory() was called, an allocation that malloc(3) refuses comes from this block
// (os/spare_malloc.cc). Absent on purpose: any use of the block before that call.
#pragma once

#include <cstddef>

namespace redlock::os {

/// Puts the block into use, in this process and its children. Does nothing in a build with
/// sanitizers, which bring a malloc(3) of their own.
void use_spare_memory() noexcept;

/// Aligned for any type. Null if the block is not in use, or has too little left.
void* take_spare_memory(std::size_t size) noexcept;

[[nodiscard]] bool is_spare_memory(const void* memory) noexcept;
[[nodiscard]] std::size_t size_of_spare_memory(const void* memory) noexcept;

/// Once all pieces have been given back, the whole block is free again.
void return_spare_memory(void* memory) noexcept;

}  // namespace redlock::os

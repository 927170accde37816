// SPDX-License-Identifier: MIT
//
// One atomic word holds how many bytes of the block are taken, and by how many pieces. So threads
// need no lock, and a child that is forked at any moment cannot inherit a locked one.
#include "os/spare_memory.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace redlock::os {

namespace {

/// Enough to read /proc with thousands of processes. The kernel provides a page at its first use.
constexpr std::size_t kBlock = std::size_t{1024} * 1024;
constexpr std::size_t kAlignment = alignof(std::max_align_t);
/// The size of each piece is in front of it.
constexpr std::size_t kHead = kAlignment;
static_assert(kHead >= sizeof(std::size_t));

alignas(kAlignment) std::array<char, kBlock> block;

/// Aligned so that no compiler needs libatomic for it.
struct alignas(std::uint64_t) Taken {
  std::uint32_t bytes = 0;
  std::uint32_t pieces = 0;
};
std::atomic<Taken> taken{};
static_assert(std::atomic<Taken>::is_always_lock_free);

std::atomic<bool> in_use{false};

}  // namespace

void use_spare_memory() noexcept {
  in_use.store(true);
}

bool spare_memory_is_in_use() noexcept {
  return in_use.load();
}

void* take_spare_memory(std::size_t size) noexcept {
  if (size > kBlock - kHead) return nullptr;
  const std::size_t whole = kHead + (size + kAlignment - 1) / kAlignment * kAlignment;
  Taken before = taken.load();
  Taken after;
  do {
    if (whole > kBlock - before.bytes) return nullptr;
    after = {before.bytes + static_cast<std::uint32_t>(whole), before.pieces + 1};
  } while (!taken.compare_exchange_weak(before, after));
  char* const piece = block.data() + before.bytes;
  std::memcpy(piece, &size, sizeof size);
  return piece + kHead;
}

bool is_spare_memory(const void* memory) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reinterpret_cast<std::uintptr_t>(block.data());
  return address >= begin && address < begin + kBlock;
}

std::size_t size_of_spare_memory(const void* memory) noexcept {
  std::size_t size = 0;
  std::memcpy(&size, static_cast<const char*>(memory) - kHead, sizeof size);
  return size;
}

void return_spare_memory(void* memory) noexcept {
  const auto begin = static_cast<std::uint32_t>(static_cast<char*>(memory) - kHead - block.data());
  const std::size_t size = size_of_spare_memory(memory);
  const std::size_t end = begin + kHead + (size + kAlignment - 1) / kAlignment * kAlignment;
  Taken before = taken.load();
  Taken after;
  do {
    after = {before.bytes, before.pieces - 1};
    if (after.pieces == 0) {
      after.bytes = 0;
    } else if (before.bytes == end) {
      after.bytes = begin;  // the last piece is free again: so most temporaries leave no gap
    }
  } while (!taken.compare_exchange_weak(before, after));
}

}  // namespace redlock::os

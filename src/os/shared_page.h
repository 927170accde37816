// SPDX-License-Identifier: MIT
#pragma once

#include <sys/mman.h>

#include <new>
#include <type_traits>

#include "os/fail.h"

namespace redlock::os {

/// A T in memory that this process shares with every process forked later. T consists of lock-free
/// atomics: each of these processes may die at any instruction.
template <class T>
class SharedPage {
 public:
  static_assert(std::is_trivially_destructible_v<T>);

  /// Throws Error (71).
  SharedPage() {
    void* const memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    content_ = ::new (memory) T{};
  }
  ~SharedPage() { ::munmap(static_cast<void*>(content_), sizeof(T)); }
  SharedPage(const SharedPage&) = delete;
  SharedPage& operator=(const SharedPage&) = delete;

  T& operator*() const { return *content_; }
  T* operator->() const { return content_; }

 private:
  T* content_;
};

}  // namespace redlock::os

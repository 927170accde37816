// SPDX-License-Identifier: MIT
//
// All code that is linked into the program (C++ with its library, hiredis) calls these functions in
// place of malloc(3) and the like: ld(1), --wrap. They do not see the allocations inside libc,
// which libc also frees itself.
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "os/spare_memory.h"

using namespace redlock::os;

namespace {

void* take(std::size_t size) {
  return spare_memory_is_in_use() ? take_spare_memory(size) : nullptr;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the linker's --wrap makes these names.
extern "C" {

void* __real_malloc(std::size_t size);
void* __real_calloc(std::size_t count, std::size_t size);
void* __real_realloc(void* old, std::size_t size);
void __real_free(void* memory);

void* __wrap_malloc(std::size_t size) {
  void* const memory = __real_malloc(size);
  return memory != nullptr ? memory : take(size);
}

void* __wrap_calloc(std::size_t count, std::size_t size) {
  void* memory = __real_calloc(count, size);
  if (memory != nullptr || (size > 0 && count > SIZE_MAX / size)) return memory;
  memory = take(count * size);
  return memory == nullptr ? nullptr : std::memset(memory, 0, count * size);
}

void __wrap_free(void* memory) {
  if (is_spare_memory(memory)) {
    return_spare_memory(memory);
  } else {
    __real_free(memory);
  }
}

void* __wrap_realloc(void* old, std::size_t size) {
  const bool spare = is_spare_memory(old);
  void* memory = spare ? __real_malloc(size) : __real_realloc(old, size);
  if (memory == nullptr && size > 0) {
    memory = take(size);
    if (memory == nullptr) return nullptr;
  } else if (!spare) {
    return memory;
  }
  const std::size_t had = spare ? size_of_spare_memory(old) : malloc_usable_size(old);
  if (old != nullptr) std::memcpy(memory, old, std::min(had, size));
  __wrap_free(old);
  return memory;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

// SPDX-License-Identifier: MIT
#include "redis/tls/openssl.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "os/spare_memory.h"

namespace redlock::redis {
namespace {

// What OpenSSL allocates. It gets from the spare memory what malloc(3) refuses: see there.
void* allocate(std::size_t size, const char*, int) {
  void* const memory = std::malloc(size);
  return memory != nullptr ? memory : os::take_spare_memory(size);
}

void release(void* memory, const char*, int) {
  if (os::is_spare_memory(memory)) {
    os::return_spare_memory(memory);
  } else {
    std::free(memory);
  }
}

void* reallocate(void* old, std::size_t size, const char* file, int line) {
  void* const memory = allocate(size, file, line);
  if (memory == nullptr || old == nullptr) return memory;
  const std::size_t had =
      os::is_spare_memory(old) ? os::size_of_spare_memory(old) : ::malloc_usable_size(old);
  std::memcpy(memory, old, std::min(had, size));
  release(old, file, line);
  return memory;
}

}  // namespace

OpenSslLibrary::OpenSslLibrary() : handle_(open()) {
  const auto set_functions =
      reinterpret_cast<decltype(&CRYPTO_set_mem_functions)>(find("CRYPTO_set_mem_functions"));
  // It refuses once it has allocated something, and then goes on with its own.
  static_cast<void>(set_functions(allocate, reallocate, release));
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/tls/openssl.h"

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "error.h"
#include "os/spare_memory.h"

namespace redlock::redis {
namespace {

// All releases of OpenSSL 3 share this ABI, and we are compiled with their headers.
constexpr const char* kLibrary = "libssl.so.3";
static_assert(OPENSSL_VERSION_MAJOR == 3);

[[noreturn]] void fail() {
  const char* const why = ::dlerror();
  throw Error(ExitStatus::config,
              std::string("TLS needs OpenSSL 3 (on Debian the package libssl3): ") +
                  (why == nullptr ? kLibrary : why));
}

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

OpenSslLibrary::OpenSslLibrary() : handle_(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) fail();
  const auto set_functions =
      reinterpret_cast<decltype(&CRYPTO_set_mem_functions)>(find("CRYPTO_set_mem_functions"));
  // It refuses once it has allocated something, and then goes on with its own.
  static_cast<void>(set_functions(allocate, reallocate, release));
}

void* OpenSslLibrary::find(const char* function) const {
  // dlsym(3) also searches the libraries that it depends on: most functions are libcrypto's.
  void* const address = ::dlsym(handle_, function);
  if (address == nullptr) fail();
  return address;
}

}  // namespace redlock::redis

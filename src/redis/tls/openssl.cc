// SPDX-License-Identifier: MIT
#include "redis/tls/openssl.h"

#include <dlfcn.h>

#include <string>

#include "error.h"

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

}  // namespace

OpenSslLibrary::OpenSslLibrary() : handle_(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) fail();
}

void* OpenSslLibrary::find(const char* function) const {
  // dlsym(3) also searches the libraries that it depends on: most functions are libcrypto's.
  void* const address = ::dlsym(handle_, function);
  if (address == nullptr) fail();
  return address;
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/tls/openssl.h"

#include <dlfcn.h>

#include <string>

#include "error.h"

namespace redlock::redis {
namespace {

// The ABI of all of OpenSSL 3, whose headers we are compiled with.
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
  // Looked for in the libraries it depends on, too: most of these are libcrypto's.
  void* const address = ::dlsym(handle_, function);
  if (address == nullptr) fail();
  return address;
}

}  // namespace redlock::redis

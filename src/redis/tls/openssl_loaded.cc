// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <string>

#include "error.h"
#include "redis/tls/openssl.h"

namespace redlock::redis {
namespace {

// All releases of OpenSSL 3 share this ABI, and we are compiled with their headers.
constexpr const char* kOpenSslLibrary = "libssl.so.3";
static_assert(OPENSSL_VERSION_MAJOR == 3);

[[noreturn]] void fail_to_load() {
  const char* const why = ::dlerror();
  throw Error(ExitStatus::config,
              std::string("TLS needs OpenSSL 3 (on Debian the package libssl3): ") +
                  (why == nullptr ? kOpenSslLibrary : why));
}

}  // namespace

OpenSslLibrary::OpenSslLibrary() : handle_(::dlopen(kOpenSslLibrary, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) fail_to_load();
}

OpenSslLibrary::Found OpenSslLibrary::find(const char* function) const {
  // dlsym(3) also searches the libraries that it depends on: most functions are libcrypto's.
  void* const address = ::dlsym(handle_, function);
  if (address == nullptr) fail_to_load();
  return {address};
}

}  // namespace redlock::redis

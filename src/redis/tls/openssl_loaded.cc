// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <string>

#include "error.h"
#include "redis/tls/openssl.h"

namespace redlock::redis {

// All releases of OpenSSL 3 share this ABI, and we are compiled with their headers.
static_assert(OPENSSL_VERSION_MAJOR == 3);

void* load_openssl(const char* function) {
  constexpr const char* kName = "libssl.so.3";
  static void* const library = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  // dlsym(3) also searches the libraries that it depends on: most functions are libcrypto's.
  void* const address = library == nullptr ? nullptr : ::dlsym(library, function);
  if (address != nullptr) return address;
  const char* const why = ::dlerror();
  throw Error(ExitStatus::config,
              std::string("TLS needs OpenSSL 3 (on Debian the package libssl3): ") +
                  (why == nullptr ? kName : why));
}

}  // namespace redlock::redis

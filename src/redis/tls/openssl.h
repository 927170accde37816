// SPDX-License-Identifier: MIT
//
// OpenSSL's functions, loaded when the first server with TLS is set up. If OpenSSL were linked in
// the ordinary way (or statically, because of its relocations), it would slow down every start of
// redlock, with TLS or without; loaded like this, it costs nothing unless it is used. Only the
// portable build (REDLOCK_STATIC) has it inside.
#pragma once

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace redlock::redis {

/// libssl.so.3 together with the libcrypto that it needs; never unloaded.
class OpenSslLibrary {
 public:
  /// A function of any type: the caller's.
  struct Found {
    void* address;

    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };

  /// Throws Error (78) if the library is not installed.
  OpenSslLibrary();
  /// Throws Error (78) if it has no such function.
  [[nodiscard]] Found find(const char* function) const;

 private:
  void* handle_;
};

/// The functions that redlock calls, each under its own name and with the type from its header.
/// src/redis/CMakeLists.txt lists them.
struct OpenSsl {
#include <openssl_functions.inc>
};

}  // namespace redlock::redis

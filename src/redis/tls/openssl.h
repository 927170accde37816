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

/// The function's address in libssl.so.3 or the libcrypto that it needs; neither is ever unloaded.
/// Throws Error (78) if the library is not installed or has no such function.
void* load_openssl(const char* function);

/// The functions that redlock calls, each under its own name and with the type from its header.
/// src/redis/CMakeLists.txt lists them.
struct OpenSsl {
#include <openssl_functions.inc>
};

}  // namespace redlock::redis

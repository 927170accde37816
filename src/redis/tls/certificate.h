// SPDX-License-Identifier: MIT
#pragma once

#include <openssl/x509.h>

namespace redlock::redis {

/// Verifies a server's chain and name as OpenSSL does, and notes the problem while the certificate
/// in question is at hand: afterwards OpenSSL keeps only a number. For
/// SSL_CTX_set_cert_verify_callback, with the OpenSsl as its argument. The note goes to the
/// connection's TlsNotes.
int verify_certificate(X509_STORE_CTX* store, void* argument) noexcept;

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
//
// If a server speaks plain Redis on a port where we expect TLS, it takes our first packet for an
// unfinished command and waits for the rest, while we wait for its answer. Our padding makes it
// answer at once that it does not know the command: Redis ends a command at the first newline,
// unless a zero byte comes first. The fourth and fifth bytes of the packet are its length, and the
// seventh is a zero. So the padding gives the packet a length whose second byte is a newline. The
// padding is an extension of the kind that RFC 8701 makes every TLS server ignore.
#pragma once

#include <openssl/ssl.h>

#include <optional>
#include <string>

#include "redis/tls/trouble.h"

namespace redlock::redis {

struct OpenSsl;

/// OpenSSL's callbacks read and leave this for one connection. The SSL's ex_data 0 points to it.
struct TlsNotes {
  std::string padding;  ///< for the first packet
  std::optional<CertificateProblem> problem;
  bool no_memory = false;  ///< for the certificate, or for a note on it
};

/// Makes every connection of the context send the padding of its notes. `openssl` must outlive it.
void add_padding(const OpenSsl& openssl, SSL_CTX* context);

/// The padding that makes the first packet, of `length` bytes without it, the right length.
std::string padding_for(std::size_t length);

/// OpenSSL hands its callbacks a pointer to non-const data; ours change nothing.
void* as_argument(const OpenSsl& openssl);

}  // namespace redlock::redis

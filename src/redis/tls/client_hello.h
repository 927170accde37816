// SPDX-License-Identifier: MIT
//
// Redis without TLS, on the port where TLS was expected, takes our first packet for a command
// without an end and waits for more, while we wait for its answer. This makes it answer at once,
// that it knows no such command: Redis ends a command at the first newline, unless a zero byte
// comes first. The fourth and fifth bytes of the packet are its length, and the seventh is a zero.
// So the packet gets a length whose second byte is a newline, by an extension that RFC 8701 has
// made sure every TLS server ignores.
#pragma once

#include <openssl/ssl.h>

#include <optional>
#include <string>

#include "redis/tls/trouble.h"

namespace redlock::redis {

struct OpenSsl;

/// What OpenSSL's callbacks know and leave of one connection. The SSL's ex_data 0 points to it.
struct TlsNotes {
  std::string padding;  ///< for the first packet
  std::optional<CertificateProblem> problem;
  bool no_memory = false;  ///< for the certificate, or for what is wrong with it
};

/// Has every connection of the context send its notes' padding. `openssl` must outlive it.
void add_padding(const OpenSsl& openssl, SSL_CTX* context);

/// The padding that makes the first packet, of `length` bytes without it, the right length.
std::string padding_for(std::size_t length);

/// OpenSSL gives its callbacks a pointer to what may be changed; ours do not.
void* as_argument(const OpenSsl& openssl);

}  // namespace redlock::redis

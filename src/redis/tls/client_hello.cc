// SPDX-License-Identifier: MIT
#include "redis/tls/client_hello.h"

#include "redis/tls/openssl.h"

namespace redlock::redis {
namespace {

constexpr unsigned kIgnored = 0x0a0a;
constexpr std::size_t kRecordHeader = 5;

int give_padding(SSL* ssl, unsigned /*type*/, const unsigned char** out, std::size_t* length,
                 int* /*alert*/, void* argument) {
  const auto& openssl = *static_cast<const OpenSsl*>(argument);
  const auto* const notes = static_cast<const TlsNotes*>(openssl.SSL_get_ex_data(ssl, 0));
  *out = reinterpret_cast<const unsigned char*>(notes->padding.data());
  *length = notes->padding.size();
  return 1;
}

}  // namespace

void add_padding(const OpenSsl& openssl, SSL_CTX* context) {
  // If this fails, there is no padding, and only a time-out reveals a Redis without TLS.
  openssl.SSL_CTX_add_client_custom_ext(context, kIgnored, &give_padding, nullptr,
                                        as_argument(openssl), nullptr, nullptr);
}

std::string padding_for(std::size_t length) {
  const std::size_t over = (length - kRecordHeader) % 256;
  return std::string((256 + '\n' - over) % 256, '\0');
}

void* as_argument(const OpenSsl& openssl) {
  return const_cast<OpenSsl*>(&openssl);
}

}  // namespace redlock::redis

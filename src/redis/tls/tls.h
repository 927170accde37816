// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lock/vote.h"
#include "redis/tls/context.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The client side of one TLS connection. It has no socket: the caller feeds in bytes from the
/// server and takes out bytes for the server. So it never blocks, and never raises SIGPIPE.
class Tls {
 public:
  /// `context` must outlive it.
  Tls(const TlsContext& context, const Endpoint& endpoint);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  enum class Handshake { under_way, done, failed };
  Handshake handshake();

  /// Feeds in bytes that came from the server.
  void feed(std::string_view bytes);

  /// Moves the bytes for the server to the end of `out`.
  void take(std::string& out);

  /// Decrypts bytes that were fed in into `plain`. 0: no more for now, or see failure(), closed().
  std::size_t read(std::span<char> plain);

  /// Encrypts all of the bytes; false: see failure().
  bool write(std::string_view plain);

  /// Notifies the server that no more bytes will come.
  void close();

  /// The server has sent that notice.
  [[nodiscard]] bool closed() const;

  /// When the certificate that the server has shown expires.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_expires() const;

  /// Why the connection is of no more use; none while it works.
  [[nodiscard]] const std::optional<lock::Unreachable>& failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redlock::redis

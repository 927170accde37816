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
#include "redis/uri.h"

namespace redlock::redis {

/// One connection's TLS, as a client. It has no socket: what comes from the server is fed in, what
/// is to be sent there is taken out. So it never blocks, and never raises SIGPIPE.
class Tls {
 public:
  /// `context` must outlive it.
  Tls(const TlsContext& context, const Endpoint& endpoint);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  enum class Handshake { under_way, done, failed };
  Handshake handshake();

  /// Bytes that came from the server.
  void feed(std::string_view bytes);

  /// Moves what is to be sent to the server to the end of `out`.
  void take(std::string& out);

  /// Decrypts into `plain` what was fed. 0: nothing more for now, or see failure(), closed().
  std::size_t read(std::span<char> plain);

  /// Encrypts all of it; false: see failure().
  bool write(std::string_view plain);

  /// Tells the server that nothing more will come.
  void close();

  /// The server has said so.
  [[nodiscard]] bool closed() const;

  /// When the certificate that the server has shown expires.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_expires() const;

  /// Nothing goes any more, and why.
  [[nodiscard]] const std::optional<lock::Unreachable>& failure() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redlock::redis

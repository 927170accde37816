// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include <chrono>
#include <span>

#include "lock/vote.h"
#include "os/fd.h"
#include "redis/tls/context.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The server sent the fatal alert `number` of https://www.iana.org/assignments/tls-parameters.
/// `ours`: we have shown a certificate. `before_data`: the server has not answered anything yet, so
/// it cannot have carried out a request.
struct Alert {
  int number;
  bool ours;
  bool before_data;
};
lock::Unreachable alerted(const Alert& alert);

/// A connected socket, in plain text or with TLS. It never blocks; its results are those of send(2)
/// and recv(2). errno EPROTO: TLS failed, see failure(). Only this file and context.cc use OpenSSL.
class Stream {
 public:
  /// Without `tls` in plain text; it must outlive the stream.
  Stream(os::Fd socket, const TlsContext* tls, const Endpoint& endpoint);
  ~Stream();

  enum class Handshake { under_way, done, failed };
  /// To be called whenever the socket is ready, until it is done (in plain text it is) or failed.
  Handshake handshake();

  /// Returns how many bytes were taken. They count as sent, though with TLS some may have to wait
  /// for send_rest(): so a vote counts from an earlier time, never from a later one.
  ssize_t write(std::string_view bytes);
  ssize_t read(std::span<char> bytes);

  /// Sends the bytes that write() has taken and not sent yet.
  void send_rest();
  [[nodiscard]] bool has_rest() const;

  /// The server is reached over a Unix socket.
  [[nodiscard]] bool is_local() const { return local_; }

  /// A measure of the bytes that were sent and that the server has not read, in units of the
  /// kernel; always 0 unless it is_local().
  [[nodiscard]] int unread() const;

  /// The connection will end without a notice to the server: a forked child goes on with it.
  void abandon();

  /// When the server's certificate expires, if it has shown one.
  [[nodiscard]] std::optional<std::chrono::system_clock::time_point> certificate_expires() const;

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] std::optional<lock::Unreachable> failure() const;

 private:
  struct Tls;

  ssize_t receive();

  os::Fd socket_;
  bool local_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace redlock::redis

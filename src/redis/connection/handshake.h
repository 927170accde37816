// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string_view>

#include "redis/connection/locator.h"
#include "redis/requests/request.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The commands before the first request: AUTH, SELECT and the locator's question, as far as the
/// endpoint needs them. The server must confirm them before any other is sent: a server whose
/// default user may write would run a request behind a refused AUTH as the wrong user.
class Handshake {
 public:
  Handshake(const Endpoint& endpoint, const Locator& locator);

  [[nodiscard]] bool needed() const { return flight_.replies > 0; }

  /// Over a new connection.
  void begin();

  /// What is not written yet.
  [[nodiscard]] std::string_view rest() const {
    return std::string_view(flight_.wire).substr(written_);
  }
  void wrote(std::size_t bytes) { written_ += bytes; }

  /// To be called for each reply. True: it is the last one.
  bool count_reply() { return ++answered_ == flight_.replies; }

 private:
  Flight flight_;
  std::size_t written_ = 0;
  unsigned answered_ = 0;
};

}  // namespace redlock::redis

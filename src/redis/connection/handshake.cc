// SPDX-License-Identifier: MIT
#include "redis/connection/handshake.h"

#include <string>

#include "redis/wire/resp.h"

namespace redlock::redis {
namespace {

Flight encode_handshake(const Endpoint& endpoint, const Locator& locator) {
  Flight flight{{}, 0};
  const Credentials& who = endpoint.credentials;
  if (who.given()) {
    flight.wire += who.user.empty() ? encode_command({"AUTH", who.password})
                                    : encode_command({"AUTH", who.user, who.password});
    ++flight.replies;
  }
  if (endpoint.db != 0) {
    flight.wire += encode_command({"SELECT", std::to_string(endpoint.db)});
    ++flight.replies;
  }
  if (const std::string question = locator.question(); !question.empty()) {
    flight.wire += question;
    ++flight.replies;
  }
  return flight;
}

}  // namespace

Handshake::Handshake(const Endpoint& endpoint, const Locator& locator)
    : flight_(encode_handshake(endpoint, locator)) {}

void Handshake::begin() {
  written_ = 0;
  answered_ = 0;
}

}  // namespace redlock::redis

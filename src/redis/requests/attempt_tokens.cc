// SPDX-License-Identifier: MIT
#include "redis/requests/attempt_tokens.h"

#include <utility>

#include "lock/token.h"
#include "os/random.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kTokenBytes = 20;

}  // namespace

AttemptTokens::AttemptTokens(std::string held_token, bool shared, std::size_t slots)
    : held_token_(std::move(held_token)), shared_(shared), slots_(slots) {}

const Secrets& AttemptTokens::of(lock::AttemptId attempt, std::size_t slot) {
  Secrets& known = secrets_[attempt];
  if (known.hold.empty()) {
    known.hold = os::random_hex(kTokenBytes);
    if (shared_) known.hold.front() = lock::kReader;
    if (slot != 0) {
      const std::string head = lock::slot_head(slot, slots_);
      known.hold.replace(0, head.size(), head);
    }
    known.token = lock::is_join(attempt) ? held_token_ : known.hold;
  }
  return known;
}

void AttemptTokens::adopt(lock::AttemptId attempt, const std::string& token) {
  secrets_[attempt] = {.token = token, .hold = token, .adopted = true};
}

const std::string& AttemptTokens::token(lock::AttemptId attempt) const {
  return secrets_.at(attempt).token;
}

}  // namespace redlock::redis

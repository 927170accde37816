// SPDX-License-Identifier: MIT
#include "redis/audience.h"

#include <algorithm>
#include <utility>

namespace redlock::redis {

void Audience::listen(lock::Instant now) {
  for (Listener& listener : listeners_) listener.listen(now);
}

bool Audience::settled() const {
  return std::ranges::none_of(listeners_, &Listener::begins);
}

void Audience::interests(std::vector<os::Interest>& out) const {
  for (const Listener& listener : listeners_) listener.interests(out);
}

lock::Instant Audience::deadline() const {
  lock::Instant earliest = lock::kNever;
  for (const Listener& listener : listeners_) earliest = std::min(earliest, listener.deadline());
  return earliest;
}

void Audience::turn(lock::Instant now) {
  for (lock::ServerIndex server = 0; server < listeners_.size(); ++server) {
    for (std::string& text : listeners_[server].turn(now)) {
      words_.push_back({server, std::move(text)});
    }
  }
}

std::vector<Word> Audience::take() {
  return std::exchange(words_, {});
}

void Audience::abandon() {
  for (Listener& listener : listeners_) listener.abandon();
  listeners_.clear();
}

}  // namespace redlock::redis

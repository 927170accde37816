// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include "server.h"

namespace redlock::sim {

using std::chrono::milliseconds;

Time Server::replicate(Time now, Time lag) {
  // All but the last of what the replica has by now is of no use.
  const auto late = std::ranges::find_if(replica_, [&](const Copy& copy) { return copy.at > now; });
  if (late - replica_.begin() > 1) replica_.erase(replica_.begin(), late - 1);
  Time at = std::max(now + lag, replica_held_);
  if (!replica_.empty()) at = std::max(at, replica_.back().at);
  replica_.push_back({at, data_});
  return at;
}

void Server::lose_primary(Time now) {
  const auto late = std::ranges::find_if(replica_, [&](const Copy& copy) { return copy.at > now; });
  if (late != replica_.begin()) {
    data_ = std::prev(late)->data;
  } else {
    forget_data();
  }
  replica_.clear();
  replica_.push_back({now, data_});
  replica_held_ = {};
  ++memory_;
}

void Server::promote(Time now) {
  std::swap(clock_, replica_clock_);
  started_ms_ = replica_started_ms_;
  replica_started_ms_ = now_ms(now);
  ++life_;
  ++memory_;  // by the new clock, a lock may end earlier than was foreseen while nobody answered
  failed_over_ = true;
}

std::int64_t Server::left(Token token, Time now) const {
  const Key& key = data_.lock;
  const std::int64_t clock = now_ms(now);
  std::int64_t end = key.value == token ? key.expires_ms : 0;
  if (is_listed(token)) end = std::min(stand(token, clock).ends_ms, key.expires_ms);
  return std::max<std::int64_t>(end - clock, 0);
}

std::int64_t Server::left_on_replica(Token token, Time now) const {
  const std::int64_t ahead = (replica_clock_.shown(now) - clock_.shown(now)) / milliseconds(1);
  return std::max<std::int64_t>(left(token, now) - ahead, 0);
}

}  // namespace redlock::sim

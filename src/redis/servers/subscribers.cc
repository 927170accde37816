// SPDX-License-Identifier: MIT
#include "redis/servers/subscribers.h"

#include <algorithm>
#include <utility>

namespace redlock::redis {

void Subscribers::open(const Routes& routes, const std::string& key, const std::string& channel) {
  for (lock::ServerIndex server = 0; server < routes.size(); ++server) {
    subscribers_.emplace_back(routes.endpoint(server), routes.tls_for(server), routes.timeouts(),
                              routes.user_timeout(), key, channel);
  }
}

void Subscribers::subscribe(lock::Instant now) {
  for (Subscriber& subscriber : subscribers_) subscriber.subscribe(now);
}

void Subscribers::follow(lock::ServerIndex server, const Endpoint& place) {
  subscribers_[server].follow(place);
}

bool Subscribers::settled() const {
  return std::ranges::none_of(subscribers_, &Subscriber::begins);
}

void Subscribers::interests(std::vector<os::Interest>& out) const {
  for (const Subscriber& subscriber : subscribers_) subscriber.interests(out);
}

lock::Instant Subscribers::deadline() const {
  lock::Instant earliest = lock::kNever;
  for (const Subscriber& subscriber : subscribers_)
    earliest = std::min(earliest, subscriber.deadline());
  return earliest;
}

void Subscribers::turn(lock::Instant now) {
  for (lock::ServerIndex server = 0; server < subscribers_.size(); ++server) {
    for (std::string& text : subscribers_[server].turn(now)) {
      notices_.push_back({server, std::move(text)});
    }
  }
}

std::vector<Notice> Subscribers::take() {
  return std::exchange(notices_, {});
}

void Subscribers::abandon() {
  for (Subscriber& subscriber : subscribers_) subscriber.abandon();
  subscribers_.clear();
}

}  // namespace redlock::redis

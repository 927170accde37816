// SPDX-License-Identifier: MIT
#include "redis/ask/questions.h"

#include <algorithm>
#include <utility>

namespace redlock::redis {

std::optional<std::string> too_much(std::size_t bytes) {
  constexpr std::size_t kMost = std::size_t{64} << 20U;
  if (bytes <= kMost) return std::nullopt;
  return "has answered with more than " + std::to_string(kMost >> 20U) +
         " MiB; the rest is left out";
}

std::size_t Questions::connect(Endpoint place, const TlsContext* tls, Timeouts timeouts) {
  all_.push_back({std::move(place), tls, timeouts});
  return all_.size() - 1;
}

std::size_t Questions::connect_like(std::size_t like, Endpoint place) {
  return connect(std::move(place), all_[like].tls, all_[like].timeouts);
}

void Questions::go_to(std::size_t connection, const std::string& key) {
  if (all_[connection].place.kind == Endpoint::Kind::cluster) close(connection);
  all_[connection].key = key;
}

void Questions::ask(std::size_t connection, Flight flight, Take take, lock::Instant now) {
  Connection& to = all_[connection];
  if (!to.link) {
    to.link = std::make_unique<Link>(to.place, to.tls, to.timeouts, to.key);
    to.link->allow(to.limits);
  }
  to.takes.emplace(++to.last_tag, std::move(take));
  // A question is no vote: it belongs to no attempt, and the link hands its tag back.
  to.link->ask({.attempt = lock::kNoAttempt, .round = to.last_tag}, std::move(flight), now);
}

void Questions::close(std::size_t connection) {
  forget(connection);
  all_[connection].link.reset();
}

bool Questions::finished() const {
  return std::ranges::all_of(all_, [](const Connection& one) { return one.takes.empty(); });
}

void Questions::interests(std::vector<os::Interest>& out) const {
  for (const Connection& one : all_) {
    if (!one.takes.empty()) one.link->interests(out);
  }
}

lock::Instant Questions::deadline() const {
  lock::Instant earliest = lock::kNever;
  for (const Connection& one : all_) {
    if (!one.takes.empty()) earliest = std::min(earliest, one.link->deadline());
  }
  return earliest;
}

void Questions::turn(lock::Instant now) {
  // By number: an answer may lead to further connections.
  for (std::size_t connection = 0; connection < all_.size(); ++connection) {
    Connection& one = all_[connection];
    if (one.takes.empty()) continue;
    for (Link::Arrival& arrival : one.link->turn(now)) {
      auto found = one.takes.extract(arrival.ask.round);
      if (found.empty()) continue;
      found.mapped()({std::move(arrival.content), now - arrival.sent}, now);
    }
  }
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/subscriber.h"

#include <utility>

#include "redis/resp.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMostMessage = 1024;

}  // namespace

Subscriber::Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
                       std::chrono::milliseconds user_timeout, std::string key, std::string channel)
    : channel_(std::move(channel)),
      link_(std::in_place, endpoint, tls, timeouts, std::move(key), user_timeout) {}

void Subscriber::subscribe(lock::Instant now) {
  if (!link_ || link_->busy()) return;
  begins_ = true;
  link_->ask({}, {encode_command({"SUBSCRIBE", channel_}), Flight::kEndless}, now);
}

void Subscriber::follow(const Endpoint& place) {
  if (!link_ || !link_->ready()) return;
  const Endpoint& here = link_->place();
  if (here.host != place.host || here.port != place.port) link_->close();
}

void Subscriber::interests(std::vector<os::Interest>& out) const {
  if (link_) link_->interests(out);
}

lock::Instant Subscriber::deadline() const {
  return link_ ? link_->deadline() : lock::kNever;
}

std::vector<std::string> Subscriber::turn(lock::Instant now) {
  std::vector<std::string> messages;
  if (!link_) return messages;
  for (const Link::Arrival& arrival : link_->turn(now)) {
    if (auto message = read(arrival)) messages.push_back(std::move(*message));
    if (!link_) break;
  }
  return messages;
}

/// A server that refuses the subscription is not asked again: it may log each refusal.
std::optional<std::string> Subscriber::read(const Link::Arrival& arrival) {
  begins_ = false;
  if (const auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
    if (trouble->permanent) link_.reset();
    return std::nullopt;
  }
  const std::vector<Value>& part = std::get<Value>(arrival.content).elements;
  if (part.size() == 3 && part[1].text == channel_) {
    if (part[0].text == "subscribe") return std::string();
    if (part[0].text == "message") return part[2].text.substr(0, kMostMessage);
  }
  link_.reset();
  return std::nullopt;
}

void Subscriber::abandon() {
  if (link_) link_->abandon();
  link_.reset();
}

}  // namespace redlock::redis

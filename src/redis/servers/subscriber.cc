// SPDX-License-Identifier: MIT
#include "redis/servers/subscriber.h"

#include <algorithm>

#include "redis/wire/resp.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMostMessage = 1024;

constexpr std::string_view kSharded = "SSUBSCRIBE";

// A server may say again and again that the slot has moved.
constexpr auto kBetweenMoves = std::chrono::seconds(1);

}  // namespace

Subscriber::Subscriber(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
                       std::string key, std::string channel)
    : channel_(std::move(channel)), link_(std::in_place, endpoint, tls, timeouts, key) {
  // A node without the slot answers the first command with a redirection.
  if (endpoint.kind == Endpoint::Kind::cluster) commands_.push_back(kSharded);
  commands_.emplace_back("SUBSCRIBE");
}

void Subscriber::subscribe(lock::Instant now) {
  if (!link_ || link_->busy()) return;
  unanswered_ = commands_;
  confirmed_ = false;
  std::string wire;
  for (const std::string_view command : commands_) wire += encode_command({command, channel_});
  link_->ask({}, {std::move(wire), Flight::kEndless}, now);
}

void Subscriber::follow(const Endpoint& place) {
  if (!link_ || !link_->ready()) return;
  if (link_->place().address != place.address) close();
}

void Subscriber::move(lock::Instant now) {
  close();
  subscribe(now);
}

void Subscriber::close() {
  if (link_) link_->close();
  unanswered_.clear();
}

/// The server has ended the subscription, since another node has the slot now.
void Subscriber::follow_slot(lock::Instant now) {
  if (followed_ && now - *followed_ < kBetweenMoves) return close();
  followed_ = now;
  move(now);
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
  bool moved = false;
  for (const Link::Arrival& arrival : link_->turn(now)) {
    if (says_that_slot_moved(arrival)) {
      moved = true;
    } else if (auto message = read(arrival)) {
      messages.push_back(std::move(*message));
    }
    if (!link_) return messages;
  }
  if (moved) follow_slot(now);
  return messages;
}

bool Subscriber::says_that_slot_moved(const Link::Arrival& arrival) const {
  const auto* const reply = std::get_if<Value>(&arrival.content);
  return reply != nullptr && reply->elements.size() == 3 &&
         reply->elements[0].text == "sunsubscribe" && reply->elements[1].text == channel_ &&
         std::ranges::find(commands_, kSharded) != commands_.end();
}

std::optional<std::string> Subscriber::read(const Link::Arrival& arrival) {
  if (const auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
    unanswered_.clear();
    if (trouble->permanent) link_.reset();
    return std::nullopt;
  }
  const Value& reply = std::get<Value>(arrival.content);
  if (reply.type == Value::Type::error && !unanswered_.empty()) return take_answer(true);
  const std::vector<Value>& part = reply.elements;
  if (part.size() == 3 && part[1].text == channel_) {
    const std::string& kind = part[0].text;
    if (kind == "subscribe" || kind == "ssubscribe") {
      if (!unanswered_.empty()) return take_answer(false);
      // It may be late: its time-out was reported, and the connection goes on.
      return std::exchange(confirmed_, true) ? std::nullopt : std::optional(std::string());
    }
    if (kind == "message" || kind == "smessage") return part[2].text.substr(0, kMostMessage);
  }
  link_.reset();
  return std::nullopt;
}

/// The last of the answers is news. A server may log each refusal, so we do not ask it again.
std::optional<std::string> Subscriber::take_answer(bool refused) {
  if (refused) std::erase(commands_, unanswered_.front());
  unanswered_.pop_front();
  if (commands_.empty()) link_.reset();
  if (commands_.empty() || !unanswered_.empty()) return std::nullopt;
  confirmed_ = true;
  return std::string();
}

void Subscribers::subscribe(lock::Instant now) {
  for (Subscriber& subscriber : subscribers_) subscriber.subscribe(now);
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

void Subscribers::close() {
  for (Subscriber& subscriber : subscribers_) subscriber.close();
  subscribers_.clear();
}

}  // namespace redlock::redis

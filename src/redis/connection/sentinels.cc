// SPDX-License-Identifier: MIT
#include "redis/connection/sentinels.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

template <class Number>
std::optional<Number> number(std::string_view digits) {
  Number parsed = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, parsed);
  if (digits.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return parsed;
}

/// The reply to SENTINEL MASTER: names and values in turn.
std::string_view field(const Value& reply, std::string_view name) {
  for (std::size_t i = 0; i + 1 < reply.elements.size(); i += 2) {
    if (reply.elements[i].text == name) return reply.elements[i + 1].text;
  }
  return {};
}

/// What an error reply to SENTINEL MASTER means.
lock::Unreachable refused(std::string_view error, const std::string& service) {
  if (error.starts_with("ERR No such master")) return unknown_service(service);
  if (error.starts_with("ERR unknown command")) {
    return {false, true,
            "is not a Sentinel; give the addresses of the Sentinels, which have ports of their own "
            "(26379)"};
  }
  if (error.starts_with("NOAUTH")) {
    return {false, true,
            "wants a password of its own; append ?sentinel_password=PASSWORD to the URI"};
  }
  return error_reply(error);
}

}  // namespace

Sentinels::Sentinels(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts)
    : endpoint_(endpoint), patience_(timeouts.connect / 2) {
  for (const Address& node : endpoint.nodes) {
    Endpoint sentinel;
    sentinel.tls = endpoint.tls;
    sentinel.host = node.host;
    sentinel.port = node.port;
    sentinel.credentials = endpoint.sentinel_credentials;
    endpoints_.push_back(std::move(sentinel));
  }
  for (const Endpoint& sentinel : endpoints_) {
    links_.emplace_back(sentinel, tls, timeouts, std::string());
  }
}

void Sentinels::ask(lock::Instant now) {
  enough_at_ = now + patience_;
  for (Link& link : links_) {
    link.ask({.attempt = lock::kNoAttempt},
             {encode_command({"SENTINEL", "MASTER", endpoint_.service}), 1}, now);
  }
}

void Sentinels::interests(std::vector<os::Interest>& out) const {
  for (const Link& link : links_) link.interests(out);
}

lock::Instant Sentinels::deadline() const {
  lock::Instant earliest = answered_ > 0 ? enough_at_ : lock::kNever;
  for (const Link& link : links_) earliest = std::min(earliest, link.deadline());
  return earliest;
}

void Sentinels::abandon() {
  for (Link& link : links_) link.abandon();
}

void Sentinels::turn(lock::Instant now) {
  for (std::size_t index = 0; index < links_.size(); ++index) {
    for (const Link::Arrival& arrival : links_[index].turn(now)) take(index, arrival);
  }
  const bool majority = answered_ > links_.size() / 2;
  const bool all = answered_ + failed_ == links_.size();
  finished_ = majority || all || (answered_ > 0 && now >= enough_at_);
}

void Sentinels::take(std::size_t index, const Link::Arrival& arrival) {
  const auto fail = [&](lock::Unreachable why) {
    const Address where{endpoints_[index].host, endpoints_[index].port};
    why.why = "Sentinel " + where.display() + ": " + why.why;
    why.maybe_applied = false;
    // What a person must repair tells more than a Sentinel that is down. But as long as one is only
    // down, time may help.
    const bool each_permanent = why.permanent && (failed_ == 0 || permanent_ == failed_);
    if (failed_ == 0 || (why.permanent && permanent_ == 0)) failure_ = why;
    if (why.permanent) ++permanent_;
    ++failed_;
    failure_.permanent = each_permanent;
  };
  if (const auto* silence = std::get_if<lock::Unreachable>(&arrival.content)) {
    return fail(*silence);
  }
  const Value& reply = std::get<Value>(arrival.content);
  if (reply.type == Value::Type::error) {
    return fail(refused(reply.text, endpoint_.service));
  }
  Address primary{.host = std::string(field(reply, "ip")),
                  .port = number<std::uint16_t>(field(reply, "port")).value_or(0)};
  if (!is_host(primary.host) || primary.port == 0) return fail(not_redis(Fate::never_sent));
  const std::uint64_t epoch = number<std::uint64_t>(field(reply, "config-epoch")).value_or(0);
  ++answered_;
  if (primary_ && epoch <= epoch_) return;
  primary_ = std::move(primary);
  epoch_ = epoch;
}

}  // namespace redlock::redis

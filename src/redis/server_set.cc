// SPDX-License-Identifier: MIT
#include "redis/server_set.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "os/random.h"
#include "redis/ballot.h"
#include "redis/keys.h"
#include "redis/link.h"
#include "redis/tls_context.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kTokenBytes = 20;

/// How long a host may acknowledge nothing before its connection is cut: soon enough to have
/// another try, over a new one, well within a lease.
std::chrono::milliseconds user_timeout(std::chrono::milliseconds ttl) {
  return std::max(std::chrono::milliseconds(1000), ttl / 6);
}

bool is_gone(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return (released != nullptr && !released->cooling) ||
         std::holds_alternative<lock::Missing>(answer) ||
         std::holds_alternative<lock::NotMine>(answer);
}

}  // namespace

struct ServerSet::Impl {
  std::vector<Endpoint> endpoints;  // never changed: the links refer to it
  std::optional<TlsContext> tls;    // if any of them speaks it; used by the links
  Ballot ballot;
  std::deque<Link> links;  // a deque, since a Link cannot move
  std::string held_token;
  std::map<lock::AttemptId, Secrets> secrets;
  std::vector<lock::Reply> ready;  // answers that took no server

  const Secrets& secrets_of(lock::AttemptId attempt) {
    Secrets& known = secrets[attempt];
    if (known.hold.empty()) {
      known.hold = os::random_hex(kTokenBytes);
      known.token = lock::is_join(attempt) ? held_token : known.hold;
    }
    return known;
  }

  lock::Reply read(Link& link, Link::Arrival arrival) {
    if (auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
      return {arrival.ask, arrival.sent, std::move(*trouble)};
    }
    lock::Answer answer = read_answer(arrival.ask.op, ballot, std::get<Value>(arrival.content));
    if (lock::is_release(arrival.ask.op) && is_gone(answer)) {
      link.forget_attempt(arrival.ask.attempt);
    }
    return {arrival.ask, arrival.sent, std::move(answer)};
  }
};

ServerSet::ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
                     std::string holder_json, Timeouts timeouts, std::chrono::seconds restart_grace,
                     const TlsSettings& tls)
    : impl_(std::make_unique<Impl>()) {
  impl_->endpoints = std::move(servers);
  const std::string key = lock_key(keys.prefix, keys.name);
  impl_->ballot = {.lock_key = key,
                   .holder_key = helper_key(key, "holder"),
                   .fence_key = helper_key(key, "fence"),
                   .done_key = helper_key(key, "done"),
                   .ttl = ttl,
                   .holder_json = std::move(holder_json),
                   .restart_grace = restart_grace};
  impl_->held_token = std::move(keys.held_token);
  for (const Endpoint& endpoint : impl_->endpoints) {
    if (endpoint.tls && !impl_->tls) impl_->tls.emplace(tls);
    const TlsContext* const context = endpoint.tls ? &*impl_->tls : nullptr;
    impl_->links.emplace_back(endpoint, context, timeouts, user_timeout(ttl));
  }
}

ServerSet::~ServerSet() = default;

void ServerSet::ask(const lock::Ask& ask, lock::Instant now) {
  Link& link = impl_->links.at(ask.server);
  const Secrets& secrets = impl_->secrets_of(ask.attempt);
  if (lock::is_release(ask.op)) {
    // What is still unsent must not reach the server behind the release. A token that never went
    // out is known to nobody: there is nothing to delete, and no need to wait for the server.
    link.cancel_unsent(ask.attempt);
    if (!link.ever_sent(ask.attempt)) {
      impl_->ready.push_back({ask, now, lock::Missing{}});
      return;
    }
  }
  link.ask(ask, encode_request(ask, impl_->ballot, secrets), now);
}

void ServerSet::interests(std::vector<os::Interest>& out) const {
  for (const Link& link : impl_->links) link.interests(out);
}

lock::Instant ServerSet::deadline() const {
  if (!impl_->ready.empty()) return lock::Instant::min();
  lock::Instant earliest = lock::kNever;
  for (const Link& link : impl_->links) earliest = std::min(earliest, link.deadline());
  return earliest;
}

void ServerSet::drop_connections() {
  for (Link& link : impl_->links) link.abandon();
  impl_->links.clear();
}

std::vector<lock::Reply> ServerSet::turn(lock::Instant now) {
  std::vector<lock::Reply> replies = std::exchange(impl_->ready, {});
  for (Link& link : impl_->links) {
    for (Link::Arrival& arrival : link.turn(now)) {
      replies.push_back(impl_->read(link, std::move(arrival)));
    }
  }
  return replies;
}

const std::string& ServerSet::token(lock::AttemptId attempt) const {
  return impl_->secrets.at(attempt).token;
}

std::size_t ServerSet::size() const {
  return impl_->endpoints.size();
}

std::string ServerSet::display(lock::ServerIndex server) const {
  return impl_->endpoints.at(server).display();
}

}  // namespace redlock::redis

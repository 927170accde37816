// SPDX-License-Identifier: MIT
#include "redis/servers/server_set.h"

#include <algorithm>
#include <utility>

#include "lock/token.h"
#include "os/random.h"
#include "redis/connection/routes.h"
#include "redis/requests/attempt_tokens.h"
#include "redis/requests/log.h"
#include "redis/servers/queue_member.h"
#include "redis/servers/subscribers.h"
#include "redis/servers/voters.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kWaiterBytes = 10;

LockContext context_of(const LockKeys& keys, std::chrono::milliseconds ttl,
                       std::chrono::seconds restart_grace) {
  const std::string& key = keys.key;
  std::string waiter = os::random_hex(kWaiterBytes);
  if (keys.shared) waiter.front() = lock::kReader;
  if (keys.slots != 0) {
    const std::string head = lock::slot_head(0, keys.slots);
    waiter.replace(0, head.size(), head);
  }
  return {.lock_key = key,
          .holder_key = helper_key(key, "holder"),
          .fence_key = helper_key(key, "fence"),
          .dead_key = helper_key(key, "dead"),
          .done_key = helper_key(key, "done"),
          .readers_key = helper_key(key, "readers"),
          .waiter = std::move(waiter),
          .ttl = ttl,
          .holder_json = {},
          .restart_grace = restart_grace,
          .replicas = keys.replicas};
}

}  // namespace

struct ServerSet::Impl {
  Impl(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
       std::function<std::string()> holder, Timeouts timeouts, std::chrono::seconds restart_grace,
       const TlsSettings& tls)
      : routes(std::move(servers), timeouts, ttl, tls),
        tokens(std::move(keys.held_token), keys.shared, keys.slots),
        voters(routes, tokens, context_of(keys, ttl, restart_grace), std::move(holder)),
        queue(routes, voters),
        log_entries(keys.log_entries) {}

  Routes routes;
  AttemptTokens tokens;
  Voters voters;
  Subscribers subscribers;  // of the lock's holder; empty until the first subscribe()
  QueueMember queue;
  unsigned log_entries;
};

ServerSet::ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
                     std::function<std::string()> holder, Timeouts timeouts,
                     std::chrono::seconds restart_grace, const TlsSettings& tls)
    : impl_(std::make_unique<Impl>(std::move(servers), std::move(keys), ttl, std::move(holder),
                                   timeouts, restart_grace, tls)) {}

ServerSet::~ServerSet() = default;

void ServerSet::ask(const lock::Ask& ask, lock::Instant now) {
  if (ask.op == lock::Op::leave_queue) {
    impl_->queue.leave(ask, now);
  } else {
    impl_->voters.ask(ask, now);
  }
}

void ServerSet::adopt(lock::AttemptId attempt, const std::string& token) {
  impl_->tokens.adopt(attempt, token);
  impl_->voters.presume_sent(attempt);
  impl_->voters.describe_holder();
}

void ServerSet::subscribe(lock::AttemptId attempt, lock::Instant now) {
  Subscribers& subscribers = impl_->subscribers;
  if (subscribers.empty()) {
    const std::string& key = impl_->voters.context().lock_key;
    subscribers.open(impl_->routes, key, notice_channel(key, impl_->tokens.of(attempt).token));
  }
  subscribers.subscribe(now);
}

Subscribers& ServerSet::subscribers() {
  return impl_->subscribers;
}

std::vector<Notice> ServerSet::take_notices() {
  return impl_->subscribers.take();
}

void ServerSet::join_queue(lock::Ticket ticket, lock::Instant now) {
  impl_->queue.join(ticket, now);
}

std::vector<Notice> ServerSet::take_wake_ups() {
  return impl_->queue.take_wake_ups();
}

bool ServerSet::amid_answers() const {
  return impl_->voters.amid_answers();
}

lock::Duration ServerSet::request_timeout() const {
  return impl_->routes.timeouts().request;
}

void ServerSet::log(const lock::Log& line, std::string_view event, std::string data,
                    lock::Instant now) {
  if (impl_->log_entries == 0) return;
  const std::string& token = impl_->tokens.of(line.attempt).token;
  std::string command = encode_log(
      impl_->voters.context().lock_key,
      {.event = std::string(event), .token = token, .data = std::move(data)}, impl_->log_entries);
  if (line.carrier == lock::Log::Carrier::leave) {
    impl_->voters.add_to_leaves(line.attempt, std::move(command));
  } else {
    impl_->voters.note(command, now);
  }
}

void ServerSet::interests(std::vector<os::Interest>& out) const {
  impl_->voters.interests(out);
  impl_->subscribers.interests(out);
  impl_->queue.interests(out);
}

lock::Instant ServerSet::deadline() const {
  return std::min(
      {impl_->voters.deadline(), impl_->subscribers.deadline(), impl_->queue.deadline()});
}

std::vector<lock::Reply> ServerSet::turn(lock::Instant now) {
  std::vector<lock::Reply> replies = impl_->voters.turn(now);
  impl_->subscribers.turn(now);
  impl_->queue.turn(now);
  return replies;
}

void ServerSet::give_back_all(lock::Instant now) {
  const bool joined = impl_->queue.joined();
  for (lock::ServerIndex server = 0; server < size(); ++server) {
    if (joined) {
      impl_->queue.leave(
          {.server = server, .op = lock::Op::leave_queue, .attempt = lock::kNoAttempt}, now);
    }
    impl_->voters.give_back(server, now);
  }
}

bool ServerSet::owes() const {
  return impl_->voters.owes();
}

void ServerSet::drop_connections() {
  impl_->voters.abandon();
  impl_->subscribers.abandon();
  impl_->queue.abandon();
}

const std::string& ServerSet::token(lock::AttemptId attempt) const {
  return impl_->tokens.token(attempt);
}

std::size_t ServerSet::size() const {
  return impl_->routes.size();
}

const TlsContext* ServerSet::tls_for(std::size_t server) const {
  return impl_->routes.tls_for(server);
}

}  // namespace redlock::redis

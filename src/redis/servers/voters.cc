// SPDX-License-Identifier: MIT
#include "redis/servers/voters.h"

#include <algorithm>
#include <set>
#include <variant>

#include "lock/value.h"
#include "redis/requests/sharded.h"

namespace redlock::redis {
namespace {

// By give_back(), to each server.
constexpr std::size_t kMostGivenBack = 16;

bool is_gone(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return (released != nullptr && !released->cooling) ||
         std::holds_alternative<lock::Missing>(answer) ||
         std::holds_alternative<lock::NotMine>(answer);
}

}  // namespace

Voters::Voters(const Routes& routes, AttemptTokens& tokens, LockContext context,
               std::function<std::string()> holder)
    : routes_(routes),
      tokens_(tokens),
      context_(std::move(context)),
      wait_(std::max(routes.timeouts().request / 2, std::chrono::milliseconds(1))),
      holder_(std::move(holder)) {
  for (lock::ServerIndex server = 0; server < routes.size(); ++server) {
    links_.emplace_back(routes.endpoint(server), routes.tls_for(server), routes.timeouts(),
                        context_.lock_key, routes.user_timeout());
  }
}

void Voters::describe_holder() {
  context_.holder_json = holder_();
}

/// The description says since when we hold the lock: every round of requests may win it.
void Voters::describe_holder_for(const lock::Ask& ask) {
  const auto round = std::pair(ask.attempt, ask.round);
  if (ask.op != lock::Op::acquire || described_ == round) return;
  described_ = round;
  describe_holder();
}

Flight Voters::encode(const lock::Ask& ask) {
  Flight flight = encode_request(ask, context_, tokens_.of(ask.attempt, ask.slot));
  if (context_.replicas > 0 && is_replicated(ask.op)) {
    flight = with_wait(std::move(flight), context_.replicas, wait_);
  }
  if (ask.op != lock::Op::leave) return flight;
  const auto extra = with_leaves_.find(ask.attempt);
  if (extra == with_leaves_.end()) return flight;
  flight.wire += extra->second;
  ++flight.replies;
  return flight;
}

void Voters::ask(const lock::Ask& ask, lock::Instant now) {
  Link& link = links_.at(ask.server);
  describe_holder_for(ask);
  if (lock::is_release(ask.op)) {
    // An unsent request must not reach the server behind the release. A token that was never sent
    // is known to nobody: there is nothing to delete, and no need to wait for the server.
    link.cancel_unsent(ask.attempt);
    if (!link.ever_sent(ask.attempt)) {
      ready_.push_back({ask, now, lock::Missing{}});
      return;
    }
  }
  link.ask(ask, for_server(encode(ask), routes_.endpoint(ask.server)), now);
}

void Voters::ask_if_connected(const lock::Ask& ask, Flight flight, lock::Instant now) {
  Link& link = links_.at(ask.server);
  if (!link.ready() && !link.busy()) {
    ready_.push_back({ask, now, lock::Unreachable{.maybe_applied = false, .why = {}}});
    return;
  }
  link.cancel_notes();  // a note that undoes this one must not come behind it
  link.ask(ask, for_server(std::move(flight), routes_.endpoint(ask.server)), now);
}

void Voters::presume_sent(lock::AttemptId attempt) {
  for (Link& link : links_) link.presume_sent(attempt);
}

void Voters::add_to_leaves(lock::AttemptId attempt, std::string command) {
  with_leaves_[attempt] = std::move(command);
}

void Voters::note(const std::string& command, lock::Instant now) {
  for (Link& link : links_) link.note({command, 1}, now);
}

void Voters::note_if_answering(const std::string& command, lock::Instant now) {
  for (Link& link : links_) {
    if (!link.owes_answers()) link.note({command, 1}, now);
  }
}

void Voters::give_back(lock::ServerIndex server, lock::Instant now) {
  const std::set<lock::AttemptId>& known = links_.at(server).sent_attempts();
  std::vector<lock::AttemptId> attempts(known.rbegin(), known.rend());
  // Earlier attempts were given back long ago: what they left behind has expired.
  attempts.resize(std::min(attempts.size(), kMostGivenBack));
  for (const lock::AttemptId attempt : attempts) {
    ask({.server = server, .op = lock::Op::leave, .attempt = attempt}, now);
  }
}

const Endpoint* Voters::place(lock::ServerIndex server) const {
  const Link& link = links_.at(server);
  return link.ready() ? &link.place() : nullptr;
}

bool Voters::owes() const {
  return std::ranges::any_of(links_,
                             [](const Link& link) { return !link.sent_attempts().empty(); });
}

bool Voters::amid_answers() const {
  return std::ranges::any_of(links_, &Link::amid_answers);
}

void Voters::abandon() {
  for (Link& link : links_) link.abandon();
  links_.clear();
}

void Voters::interests(std::vector<os::Interest>& out) const {
  for (const Link& link : links_) link.interests(out);
}

lock::Instant Voters::deadline() const {
  if (!ready_.empty()) return lock::Instant::min();
  lock::Instant earliest = lock::kNever;
  for (const Link& link : links_) earliest = std::min(earliest, link.deadline());
  return earliest;
}

lock::Reply Voters::read(Link& link, Link::Arrival arrival) {
  if (auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
    return {arrival.ask, arrival.sent, std::move(*trouble)};
  }
  lock::Answer answer = read_answer(arrival.ask.op, context_, std::get<Value>(arrival.content));
  if (context_.replicas > 0 && is_replicated(arrival.ask.op)) {
    answer = read_waited(std::move(answer), arrival.waited, context_.replicas);
  }
  if (lock::is_release(arrival.ask.op) && is_gone(answer)) {
    link.forget_attempt(arrival.ask.attempt);
  }
  if (auto* refusal = std::get_if<lock::NotMine>(&answer)) {
    const lock::Value value = lock::read_value(refusal->blocker);
    refusal->revoked = value.kind == lock::Value::Kind::revoked &&
                       value.token == tokens_.of(arrival.ask.attempt).token;
  }
  return {arrival.ask, arrival.sent, std::move(answer)};
}

std::vector<lock::Reply> Voters::turn(lock::Instant now) {
  std::vector<lock::Reply> replies = std::exchange(ready_, {});
  for (Link& link : links_) {
    for (Link::Arrival& arrival : link.turn(now)) {
      replies.push_back(read(link, std::move(arrival)));
    }
  }
  return replies;
}

}  // namespace redlock::redis

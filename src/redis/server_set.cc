// SPDX-License-Identifier: MIT
#include "redis/server_set.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "lock/value.h"
#include "os/random.h"
#include "redis/keys.h"
#include "redis/link.h"
#include "redis/log.h"
#include "redis/queue.h"
#include "redis/request.h"
#include "redis/subscribers.h"
#include "redis/tls/context.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kTokenBytes = 20;
constexpr std::size_t kWaiterBytes = 10;

// By give_back_all(), to each server.
constexpr std::size_t kMostGivenBack = 16;

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
  LockContext context;
  Timeouts timeouts;
  std::deque<Link> links;   // a deque, since a Link cannot move
  Subscribers subscribers;  // of who holds the lock; empty until the first listen()
  Subscribers queue;        // of who waits for it; empty but while we do
  std::string waiter;       // what we are called there
  bool left_queue = false;
  unsigned joins = 0;  // how often it was joined
  struct Heard {
    QueuePlace place;
    unsigned join = 0;  // when the answer came
  };
  std::vector<std::optional<Heard>> places;  // by server
  std::string held_token;
  unsigned log_entries;
  std::function<std::string()> holder;
  std::pair<lock::AttemptId, std::uint32_t>
      described{};                               ///< the round that the context's holder is of
  std::map<lock::AttemptId, std::string> notes;  ///< what goes with the leaves of an attempt
  std::map<lock::AttemptId, Secrets> secrets;
  std::vector<lock::Reply> ready;              // answers that took no server
  std::set<lock::ServerIndex> could_be_woken;  // they have said so

  const Secrets& secrets_of(lock::AttemptId attempt) {
    Secrets& known = secrets[attempt];
    if (known.hold.empty()) {
      known.hold = os::random_hex(kTokenBytes);
      known.token = lock::is_join(attempt) ? held_token : known.hold;
    }
    return known;
  }

  void open(Subscribers& listeners, const std::string& channel) {
    for (const Endpoint& endpoint : endpoints) {
      listeners.add(endpoint, context_for(endpoint), timeouts, user_timeout(context.ttl), channel);
    }
  }

  [[nodiscard]] const TlsContext* context_for(const Endpoint& endpoint) const {
    return endpoint.tls ? &*tls : nullptr;
  }

  /// Since when we hold the lock is told: every round of requests may be the one that gets it.
  void describe_holder(const lock::Ask& ask) {
    const auto round = std::pair(ask.attempt, ask.round);
    if (ask.op != lock::Op::acquire || described == round) return;
    described = round;
    context.holder_json = holder();
  }

  Flight encode(const lock::Ask& ask) {
    if (ask.op == lock::Op::leave_queue) return {encode_leave_queue(context.lock_key, waiter), 1};
    Flight flight = encode_request(ask, context, secrets_of(ask.attempt));
    if (ask.op != lock::Op::leave || !notes.contains(ask.attempt)) return flight;
    flight.wire += notes.at(ask.attempt);
    ++flight.replies;
    return flight;
  }

  void close_queue() {
    if (std::exchange(left_queue, true)) return;
    queue = Subscribers();
    could_be_woken.clear();
    places.assign(links.size(), std::nullopt);
  }

  void note_place(lock::ServerIndex server, const std::optional<Value>& joined) {
    if (!joined) return;
    const auto place = read_joined(*joined);
    places[server] = place ? std::optional(Heard{*place, joins}) : std::nullopt;
  }

  lock::Reply read(Link& link, Link::Arrival arrival) {
    if (auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
      return {arrival.ask, arrival.sent, std::move(*trouble)};
    }
    lock::Answer answer = read_answer(arrival.ask.op, context, std::get<Value>(arrival.content));
    if (lock::is_release(arrival.ask.op) && is_gone(answer)) {
      link.forget_attempt(arrival.ask.attempt);
    }
    if (auto* word = std::get_if<lock::NotMine>(&answer)) {
      const lock::Value value = lock::read_value(word->blocker);
      word->revoked = value.kind == lock::Value::Kind::revoked &&
                      value.token == secrets_of(arrival.ask.attempt).token;
    }
    return {arrival.ask, arrival.sent, std::move(answer)};
  }
};

ServerSet::ServerSet(std::vector<Endpoint> servers, LockKeys keys, std::chrono::milliseconds ttl,
                     std::function<std::string()> holder, Timeouts timeouts,
                     std::chrono::seconds restart_grace, const TlsSettings& tls)
    : impl_(std::make_unique<Impl>()) {
  impl_->endpoints = std::move(servers);
  const std::string key = lock_key(keys.prefix, keys.name);
  impl_->context = {.lock_key = key,
                    .holder_key = helper_key(key, "holder"),
                    .fence_key = helper_key(key, "fence"),
                    .dead_key = helper_key(key, "dead"),
                    .done_key = helper_key(key, "done"),
                    .ttl = ttl,
                    .holder_json = {},
                    .restart_grace = restart_grace};
  impl_->timeouts = timeouts;
  impl_->held_token = std::move(keys.held_token);
  impl_->log_entries = keys.log_entries;
  impl_->holder = std::move(holder);
  for (const Endpoint& endpoint : impl_->endpoints) {
    if (endpoint.tls && !impl_->tls) impl_->tls.emplace(tls);
    impl_->links.emplace_back(endpoint, impl_->context_for(endpoint), timeouts, user_timeout(ttl));
  }
  impl_->places.resize(impl_->links.size());
}

ServerSet::~ServerSet() = default;

void ServerSet::ask(const lock::Ask& ask, lock::Instant now) {
  Link& link = impl_->links.at(ask.server);
  impl_->describe_holder(ask);
  if (ask.op == lock::Op::leave_queue) {
    impl_->close_queue();
    if (!link.ready()) {
      impl_->ready.push_back({ask, now, lock::Unreachable{.maybe_applied = false, .why = {}}});
      return;
    }
    link.cancel_notes();  // one that has us join must not come behind
  }
  if (lock::is_release(ask.op)) {
    // What is still unsent must not reach the server behind the release. A token that never went
    // out is known to nobody: there is nothing to delete, and no need to wait for the server.
    link.cancel_unsent(ask.attempt);
    if (!link.ever_sent(ask.attempt)) {
      impl_->ready.push_back({ask, now, lock::Missing{}});
      return;
    }
  }
  link.ask(ask, impl_->encode(ask), now);
}

void ServerSet::log(const lock::Log& line, std::string_view event, std::string data,
                    lock::Instant now) {
  if (impl_->log_entries == 0) return;
  const std::string& token = impl_->secrets_of(line.attempt).token;
  std::string wire = encode_log(
      impl_->context.lock_key,
      {.event = std::string(event), .token = token, .data = std::move(data)}, impl_->log_entries);
  if (line.carrier == lock::Log::Carrier::leave) {
    impl_->notes[line.attempt] = std::move(wire);
    return;
  }
  for (Link& link : impl_->links) link.note({wire, 1}, now);
}

void ServerSet::adopt(lock::AttemptId attempt, const std::string& token) {
  impl_->secrets[attempt] = {.token = token, .hold = token, .adopted = true};
  for (Link& link : impl_->links) link.presume_sent(attempt);
  impl_->context.holder_json = impl_->holder();
}

void ServerSet::listen(lock::AttemptId attempt, lock::Instant now) {
  Subscribers& subscribers = impl_->subscribers;
  if (subscribers.empty()) {
    impl_->open(subscribers,
                told_channel(impl_->context.lock_key, impl_->secrets_of(attempt).token));
  }
  subscribers.listen(now);
}

void ServerSet::join_queue(lock::Instant now) {
  const LockContext& context = impl_->context;
  std::string& waiter = impl_->waiter;
  if (waiter.empty()) waiter = os::random_hex(kWaiterBytes);
  if (impl_->queue.empty()) impl_->open(impl_->queue, wake_channel(context.lock_key, waiter));
  impl_->queue.listen(now);
  impl_->left_queue = false;
  ++impl_->joins;
  const std::string wire = encode_join_queue(context.lock_key, waiter, context.holder_json);
  for (Link& link : impl_->links) {
    if (!link.owes_answers()) link.note({wire, 1}, now, Link::Note::echoed);
  }
}

/// An answer counts until that to the next join has had its time to come.
std::optional<QueuePlace> ServerSet::place() const {
  std::optional<QueuePlace> farthest;
  for (const auto& heard : impl_->places) {
    if (!heard || heard->join + 1 < impl_->joins) continue;
    if (!farthest || heard->place.place > farthest->place) farthest = heard->place;
  }
  return farthest;
}

bool ServerSet::amid_answers() const {
  return std::ranges::any_of(impl_->links, &Link::amid_answers);
}

Subscribers& ServerSet::subscribers() {
  return impl_->subscribers;
}

std::vector<Notice> ServerSet::take_notices() {
  return impl_->subscribers.take();
}

std::vector<Notice> ServerSet::take_wake_ups() {
  std::vector<Notice> words = impl_->queue.take();
  // Where it can be heard again after the connection broke, that is no news: where connections
  // break all the time it would make us ask, listen and ask again for ever. What was missed is seen
  // a little later.
  std::erase_if(words, [this](const Notice& word) {
    return word.text.empty() && !impl_->could_be_woken.insert(word.server).second;
  });
  return words;
}

void ServerSet::interests(std::vector<os::Interest>& out) const {
  for (const Link& link : impl_->links) link.interests(out);
  impl_->subscribers.interests(out);
  impl_->queue.interests(out);
}

lock::Instant ServerSet::deadline() const {
  if (!impl_->ready.empty()) return lock::Instant::min();
  lock::Instant earliest = std::min(impl_->subscribers.deadline(), impl_->queue.deadline());
  for (const Link& link : impl_->links) earliest = std::min(earliest, link.deadline());
  return earliest;
}

void ServerSet::give_back_all(lock::Instant now) {
  const bool queued = !impl_->waiter.empty() && !impl_->left_queue;
  for (lock::ServerIndex server = 0; server < impl_->links.size(); ++server) {
    if (queued)
      ask({.server = server, .op = lock::Op::leave_queue, .attempt = lock::kNoAttempt}, now);
    const std::set<lock::AttemptId>& known = impl_->links[server].sent_attempts();
    std::vector<lock::AttemptId> attempts(known.rbegin(), known.rend());
    // Those before were given back long ago: what they left behind has expired.
    attempts.resize(std::min(attempts.size(), kMostGivenBack));
    for (const lock::AttemptId attempt : attempts) {
      ask({.server = server, .op = lock::Op::leave, .attempt = attempt}, now);
    }
  }
}

bool ServerSet::owes() const {
  return std::ranges::any_of(impl_->links,
                             [](const Link& link) { return !link.sent_attempts().empty(); });
}

void ServerSet::drop_connections() {
  for (Link& link : impl_->links) link.abandon();
  impl_->links.clear();
  impl_->subscribers.abandon();
  impl_->queue.abandon();
}

std::vector<lock::Reply> ServerSet::turn(lock::Instant now) {
  std::vector<lock::Reply> replies = std::exchange(impl_->ready, {});
  for (lock::ServerIndex server = 0; server < impl_->links.size(); ++server) {
    Link& link = impl_->links[server];
    for (Link::Arrival& arrival : link.turn(now)) {
      replies.push_back(impl_->read(link, std::move(arrival)));
    }
    impl_->note_place(server, link.take_echo());
  }
  impl_->subscribers.turn(now);
  impl_->queue.turn(now);
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

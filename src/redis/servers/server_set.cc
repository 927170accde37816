// SPDX-License-Identifier: MIT
#include "redis/servers/server_set.h"

#include <variant>

#include "lock/value.h"
#include "os/clock.h"
#include "redis/requests/answer.h"
#include "redis/wire/resp.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {

namespace {

constexpr std::size_t kWaiterBytes = 10;
constexpr std::size_t kTokenBytes = 20;

// By give_back_all(), to each server.
constexpr std::size_t kMostGivenBack = 16;

/// The first bytes of secrets and names tell that their owner reads, or which of how many slots
/// they are for (lock/value.h).
std::string drawn(std::size_t bytes, const LockContext& lock, std::optional<std::size_t> slot) {
  std::string name = os::random_hex(bytes);
  if (lock.redisson) name.front() = lock::kRedisson;
  if (lock.shared) name.front() = lock::kReader;
  if (slot) {
    const std::string head = lock::slot_head(*slot, lock.slots);
    name.replace(0, head.size(), head);
  }
  return name;
}

bool is_gone(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return released != nullptr ? !released->cooling && !released->held
                             : std::holds_alternative<lock::Missing>(answer) ||
                                   std::holds_alternative<lock::NotMine>(answer);
}

constexpr std::size_t kMostMessage = 1024;

constexpr std::string_view kSharded = "SSUBSCRIBE";

// A server may say again and again that the slot has moved.
constexpr auto kBetweenMoves = std::chrono::seconds(1);

}  // namespace

// A host that acknowledges nothing loses its connection early enough for another try in the lease.
ServerSet::ServerSet(std::vector<Endpoint> servers, LockContext lock,
                     std::function<std::string()> holder, Timeouts timeouts, const TlsSettings& tls)
    : endpoints_(std::move(servers)),
      timeouts_{timeouts.request, timeouts.connect,
                std::max(std::chrono::milliseconds(1000), lock.ttl / 6)},
      lock_(std::move(lock)),
      holder_(std::move(holder)) {
  lock_.waiter =
      drawn(kWaiterBytes, lock_, lock_.slots == 0 ? std::nullopt : std::optional<std::size_t>(0));
  if (std::ranges::any_of(endpoints_, &Endpoint::tls)) tls_.emplace(tls);
  for (lock::ServerIndex server = 0; server < size(); ++server) {
    links_.emplace_back(endpoints_[server], tls_for(server), timeouts_, lock_.lock_key);
  }
}

/// Draws them when the attempt is first named: 160 bits from getrandom(2), for that slot of the
/// lock, if it has slots. They never change and are never used for another attempt.
const Secrets& ServerSet::secrets_of(lock::AttemptId attempt, std::size_t slot) {
  Secrets& known = secrets_[attempt];
  if (known.hold.empty()) {
    known.hold = drawn(kTokenBytes, lock_, slot != 0 ? std::optional(slot) : std::nullopt);
    known.token = lock::is_join(attempt) ? lock_.held_token : known.hold;
  }
  return known;
}

void ServerSet::ask(const lock::Ask& ask, lock::Instant now) {
  if (ask.op() == lock::Op::leave_queue) return leave_queue(ask, now);
  Link& link = links_.at(ask.server);
  // The description says since when we hold the lock: every round of requests may win it.
  const auto round = std::pair(ask.attempt, ask.round);
  if (ask.op() == lock::Op::acquire && described_ != round) {
    described_ = round;
    lock_.holder_json = holder_();
  }
  if (lock::is_release(ask.op())) {
    // An unsent request must not reach the server after the release. If the token was never sent,
    // there is nothing to delete, and no need to wait for the server.
    link.cancel_unsent(ask.attempt);
    if (!link.requests().sent_attempts().contains(ask.attempt)) {
      ready_.push_back({ask, now, lock::Missing{}});
      return;
    }
  }
  Flight flight = encode(ask);
  // An acquire that a server refuses by its hash is not repeated after its release: that server
  // would not have a lock that the release keeps.
  flight.by_hash = (ask.op() == lock::Op::acquire && !lock_.keeps) ||
                   (ask.op() == lock::Op::leave && link.takes_hashes());
  link.ask(ask, std::move(flight), now);
}

Flight ServerSet::encode(const lock::Ask& ask) {
  const auto* acquire = ask.as<lock::op::Acquire>();
  const Secrets& secrets = secrets_of(ask.attempt, acquire != nullptr ? acquire->slot : 0);
  Flight flight = for_key(encode_request(ask.operation, lock_, secrets));
  if (lock_.replicas > 0 && is_replicated(ask.op())) {
    // The server's answer must come before we give up waiting for it.
    flight = with_wait(std::move(flight), lock_.replicas,
                       std::max(timeouts_.request / 2, std::chrono::milliseconds(1)));
  }
  if (lock::is_release(ask.op()) && !lock::is_join(ask.attempt) &&
      links_[ask.server].requests().may_come_late(ask.attempt)) {
    flight = with_tombstone(std::move(flight), lock_, secrets);
  }
  const auto extra = with_leaves_.find(ask.attempt);
  if (ask.op() == lock::Op::leave && extra != with_leaves_.end()) {
    std::ranges::copy(extra->second, std::back_inserter(flight.commands));
  }
  return flight;
}

void ServerSet::adopt(lock::AttemptId attempt, const std::string& token) {
  secrets_[attempt] = {.token = token, .hold = token, .adopted = true};
  for (Link& link : links_) link.requests().presume_sent(attempt);
  lock_.holder_json = holder_();
}

void ServerSet::open(Subscribers& subscribers, const std::string& channel) {
  if (!subscribers.empty()) return;
  for (lock::ServerIndex server = 0; server < size(); ++server) {
    subscribers.add(endpoints_[server], tls_for(server), timeouts_, lock_.lock_key, channel);
  }
}

void ServerSet::subscribe(lock::AttemptId attempt, lock::Instant now) {
  open(holder_notices_, notice_channel(lock_.lock_key, secrets_of(attempt).token));
  holder_notices_.subscribe(now);
}

void ServerSet::join_queue(lock::Ticket ticket, bool early, lock::Instant now) {
  open(wake_ups_, wake_channel(lock_.lock_key, lock_.waiter));
  if (early && lock_.redisson) open(redisson_, redisson_channel(lock_.lock_key));
  for (lock::ServerIndex server = 0; server < size(); ++server) {
    // A waiter that listens elsewhere counts as gone: only subscribers at this node are counted.
    const Link& link = links_[server];
    if (!link.ready()) continue;
    wake_ups_.follow(server, link.place());
    redisson_.follow(server, link.place());
  }
  wake_ups_.subscribe(now);
  redisson_.subscribe(now);
  joined_ = true;
  if (ticket == 0) return;
  const Command command =
      encode_join_queue(lock_.lock_key, lock_.waiter, lock_.holder_json, ticket);
  for (Link& link : links_) {
    if (link.requests().overdue() == 0) link.note({{command}}, now);
  }
}

void ServerSet::leave_queue(const lock::Ask& ask, lock::Instant now) {
  if (std::exchange(joined_, false)) {
    wake_ups_ = Subscribers();
    redisson_ = Subscribers();
    woken_by_.clear();
  }
  Link& link = links_.at(ask.server);
  if (!link.ready() && !link.busy()) {
    ready_.push_back({ask, now, lock::Unreachable{.maybe_applied = false, .why = {}}});
    return;
  }
  link.requests().cancel_notes();  // a note that undoes this request must not come after it
  link.ask(ask, for_key(encode_request(ask.operation, lock_, {})), now);
}

std::vector<Notice> ServerSet::take_wake_ups(lock::Instant now) {
  std::vector<Notice> notices = wake_ups_.take();
  for (const auto& [server, text] : notices) {
    if (!text.empty()) continue;
    // Whoever frees the lock sends the hash of this script, which the server may not know.
    links_[server].note(for_key({{encode_hand_on(lock_.lock_key, {}, lock_.is_shared())}}), now);
  }
  // A new subscription after its connection broke is no news: where connections break all the time,
  // we would ask, subscribe and ask again without end. A wake-up that was missed costs little time.
  std::erase_if(notices, [this](const Notice& notice) {
    return notice.text.empty() && !woken_by_.insert(notice.server).second;
  });
  for (const Notice& each : redisson_.take()) {
    const bool news = !each.text.empty() || woken_by_.insert(size() + each.server).second;
    if (news) notices.push_back({each.server, std::string(kUnlocked)});
  }
  return notices;
}

void ServerSet::log(const lock::Log& line, std::string_view event, std::string_view data,
                    lock::Instant now) {
  if (lock_.log_entries == 0) return;
  const std::string& token = line.other.empty() ? secrets_of(line.attempt).token : line.other;
  Command command = encode_log(lock_.lock_key, event, token, data, lock_.log_entries);
  if (line.carrier == lock::Log::Carrier::leave) {
    with_leaves_[line.attempt].push_back(std::move(command));
  } else {
    for (Link& link : links_) link.note({{command}}, now);
  }
}

void ServerSet::note_refusal(std::string_view host, std::string_view data, lock::Instant now) {
  if (lock_.log_entries == 0) return;
  const Command command = encode_refuse(lock_.lock_key, host, data);
  for (Link& link : links_) {
    if (link.requests().empty()) link.note({{command}}, now);
  }
}

void ServerSet::interests(std::vector<os::Interest>& out) const {
  for (const Link& link : links_) link.interests(out);
  for (const Subscribers* const each : channels_) each->interests(out);
}

lock::Instant ServerSet::deadline() const {
  if (!ready_.empty()) return lock::Instant::min();
  lock::Instant earliest = lock::kNever;
  for (const Subscribers* const each : channels_) earliest = std::min(earliest, each->deadline());
  for (const Link& link : links_) earliest = std::min(earliest, link.deadline());
  return earliest;
}

lock::Reply ServerSet::read(Link& link, Link::Arrival arrival) {
  if (auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
    return {arrival.ask, arrival.sent, std::move(*trouble)};
  }
  const Value& content = std::get<Value>(arrival.content);
  lock::Answer answer = read_answer(arrival.ask.op(), lock_, content);
  // What our user may do can change, and change back.
  if (auto* trouble = std::get_if<lock::Unreachable>(&answer);
      trouble != nullptr && content.type == Value::Type::error) {
    trouble->permanent = trouble->permanent && !link.served();
  }
  if (lock_.replicas > 0 && is_replicated(arrival.ask.op())) {
    answer = read_waited(std::move(answer), arrival.waited, lock_.replicas);
  }
  if (lock::is_release(arrival.ask.op()) && is_gone(answer)) {
    link.requests().forget_attempt(arrival.ask.attempt);
  }
  if (auto* refusal = std::get_if<lock::NotMine>(&answer)) {
    const lock::Value value = lock::read_value(refusal->blocker);
    refusal->revoked = value.kind == lock::Value::Kind::revoked &&
                       value.token == secrets_of(arrival.ask.attempt).token;
  }
  return {arrival.ask, arrival.sent, std::move(answer)};
}

std::vector<lock::Reply> ServerSet::turn(lock::Instant now) {
  std::vector<lock::Reply> replies = std::exchange(ready_, {});
  for (lock::ServerIndex server = 0; server < links_.size(); ++server) {
    Link& link = links_[server];
    for (Link::Arrival& arrival : link.turn(now)) {
      replies.push_back(read(link, std::move(arrival)));
    }
    if (link.take_lost()) {
      // Once the new place confirms it, the holder renews there.
      for (Subscribers* const each : channels_) each->move(server, now);
    }
  }
  for (Subscribers* const each : channels_) each->turn(now);
  return replies;
}

void ServerSet::give_back_all(lock::Instant now) {
  const bool joined = joined_;
  for (lock::ServerIndex server = 0; server < size(); ++server) {
    if (joined) {
      leave_queue(
          {.server = server, .attempt = lock::kNoAttempt, .operation = lock::op::LeaveQueue{}},
          now);
    }
    // Earlier attempts were released long ago: what they left has expired.
    const std::map<lock::AttemptId, bool> sent = links_.at(server).requests().sent_attempts();
    std::size_t asked = 0;
    for (auto each = sent.rbegin(); each != sent.rend() && asked < kMostGivenBack;
         ++each, ++asked) {
      ask({.server = server, .attempt = each->first, .operation = lock::op::Leave{}}, now);
    }
  }
}

bool ServerSet::owes() const {
  return std::ranges::any_of(
      links_, [](const Link& link) { return !link.requests().sent_attempts().empty(); });
}

bool ServerSet::awaits_replies() const {
  return !ready_.empty() || std::ranges::any_of(links_, [](const Link& link) {
    return !link.requests().empty() && link.requests().overdue() == 0;
  });
}

void ServerSet::drop_connections() {
  for (Link& link : links_) link.close();
  links_.clear();
  for (Subscribers* const each : channels_) each->close();
}

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
  Flight flight{.endless = true};
  for (const std::string_view command : commands_) {
    flight.commands.push_back({.words = {std::string(command), channel_}});
  }
  link_->ask({}, std::move(flight), now);
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

std::vector<std::string> Subscriber::turn(lock::Instant now) {
  std::vector<std::string> messages;
  if (!link_) return messages;
  bool moved = false;
  for (const Link::Arrival& arrival : link_->turn(now)) {
    const auto* const reply = std::get_if<Value>(&arrival.content);
    if (reply != nullptr && passes_with_time(*reply)) {
      close();
      return messages;
    }
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

}  // namespace redlock::redis

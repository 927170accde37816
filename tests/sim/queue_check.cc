// SPDX-License-Identifier: MIT
#include "queue_check.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "redis/requests/queue.h"
#include "token.h"

namespace redlock::sim {

namespace {

const char* const kKey = "queue";
const char* const kWhole = "redlock:{queue}:";

// The scripts take half a second for a long time; a step that takes longer than this is not judged.
constexpr std::int64_t kSlowMs = 200;
constexpr std::uint32_t kWaiters = 9;

/// A writer, a reader, one for a slot; and so on. The last one wants one of three slots, not of
/// two.
Mode mode_of(std::uint32_t number) {
  const auto slots = static_cast<std::uint8_t>(number == kWaiters ? 3 : number % 3 == 0 ? 2 : 0);
  return {.reads = number % 3 == 2, .slots = slots};
}

Waiter named(std::uint32_t number) {
  return number == 0 ? kNoWaiter : for_mode(number, mode_of(number));
}

std::string key(const char* name) {
  return std::string(kWhole) + name;
}

std::string wake_text(const WakeUp& wake_up) {
  if (wake_up.text == WakeUp::Text::free) return "free";
  return wake_up.text == WakeUp::Text::next ? "next" : "cools";
}

}  // namespace

QueueCheck::QueueCheck(const std::string& socket, std::uint64_t seed, Mutation mutation)
    : redis_(socket), subscriber_(socket), random_(seed), mutation_(mutation) {}

redis::LockContext QueueCheck::context_of(std::uint32_t number) const {
  return {.lock_key = kKey,
          .holder_key = key("holder"),
          .fence_key = key("fence"),
          .dead_key = key("dead"),
          .done_key = key("done"),
          .readers_key = key("readers"),
          .waiter = waiter_text(named(number)),
          .ttl = std::chrono::milliseconds(settings_.ttl_ms),
          .holder_json = "{}"};
}

bool QueueCheck::sequence(std::uint64_t number) {
  story_ = "sequence " + std::to_string(number) + " of the queue\n";
  differs_ = false;
  redis_.command({"FLUSHALL"});
  now_ = redis_.time_ms();
  model_.reset(0, Clock(), now_, settings_, mutation_);
  model_.set_publish([this](Waiter waiter, const WakeUp& wake_up) {
    const bool heard = subscribed_.contains(waiter);
    if (heard) published_.push_back(waiter_text(waiter) + ' ' + wake_text(wake_up));
    return heard;
  });
  tickets_.assign(kWaiters + 1, 0);
  for (int step = 0; step < 40 && !differs_; ++step) {
    if (random_.percent(5)) subscribe();
    if (random_.percent(15)) let_time_pass();
    if (random_.percent(15)) change_lock();
    write_times(redis_.time_ms());
    published_.clear();
    heard();
    const std::string before = story_;
    request();
    const std::vector<std::string> real = heard();
    if (redis_.time_ms() - now_ > kSlowMs) return true;
    std::string texts[2];
    for (const std::string& each : real) texts[0] += each + ", ";
    for (const std::string& each : published_) texts[1] += each + ", ";
    same("the wake-ups", texts[0], texts[1]);
    same("the queue", real_queue(), model_queue());
  }
  return !differs_;
}

bool QueueCheck::same(const std::string& what, const std::string& real, const std::string& model) {
  if (real == model) return true;
  story_ += what + ": " + real + "; the model's: " + model + "\n";
  differs_ = true;
  return false;
}

/// A waiter subscribes, or ends its subscription.
void QueueCheck::subscribe() {
  const Waiter waiter = named(1 + random_.below(kWaiters));
  const bool subscribes = subscribed_.insert(waiter).second;
  if (!subscribes) subscribed_.erase(waiter);
  const std::string channel = redis::wake_channel(kKey, waiter_text(waiter));
  subscriber_.command({subscribes ? "SUBSCRIBE" : "UNSUBSCRIBE", channel});
  story_ += waiter_text(waiter) + (subscribes ? " subscribes\n" : " unsubscribes\n");
}

/// Between two requests no time passes but this.
void QueueCheck::let_time_pass() {
  const auto length = random_.one_of<std::int64_t>(-300, -600, -600, -15'000, -21'000, 3'600'000);
  model_.data().queue.postpone(length);
  story_ += std::to_string(-length) + " ms pass\n";
}

void QueueCheck::write_times(std::int64_t now) {
  Queue& queue = model_.data().queue;
  queue.postpone(now - now_);
  now_ = now;
  queue.expire(now);
  std::vector<std::string> writes;
  const auto command = [&](std::initializer_list<std::string_view> words) {
    writes.push_back(redis::encode_command(words));
  };
  for (const Queue::Entry& entry : queue.entries()) {
    command({"ZADD", key("alive"), std::to_string(entry.counts_until), waiter_text(entry.waiter)});
  }
  for (const char* name : {"queue", "alive", "waiters"}) {
    if (queue.entries().empty()) command({"DEL", key(name)});
    command({"PEXPIRE", key(name), std::to_string(queue.expires_ms() - now)});
  }
  if (queue.turn_owner() == kNoWaiter) command({"DEL", key("turn")});
  command({"PEXPIRE", key("turn"), std::to_string(queue.turn_ends_ms() - now)});
  redis_.commands(writes);
}

void QueueCheck::request() {
  const std::uint32_t number = 1 + random_.below(kWaiters);
  switch (random_.below(8)) {
    case 0:
      return join(number);
    case 1:
      return leave_queue(number);
    case 2:
      return leave_lock();
    case 3:
      return acquire(0);
    default:
      return acquire(number);
  }
}

/// A waiter without a ticket asks as anybody, and takes the ticket that it is offered.
void QueueCheck::acquire(std::uint32_t number) {
  const std::uint32_t asker = number == 0 ? kWaiters + 1 + random_.below(2) : number;
  const lock::Ticket ticket = number == 0 ? 0 : tickets_[number];
  const Waiter in_queue = ticket == 0 ? kNoWaiter : named(number);
  const Token token = for_mode(make_token(0, 1, asker), mode_of(asker), 1 + random_.below(2));
  const lock::Ask ask{.op = lock::Op::acquire,
                      .attempt = asker,
                      .life = std::chrono::milliseconds(settings_.ttl_ms),
                      .ticket = ticket};
  const std::string text = token_text(token);
  const redis::LockContext context = context_of(number);
  const lock::Answer real = redis::read_answer(
      ask.op, context,
      redis_.send(redis::encode_request(ask, context, {.token = text, .hold = text})));
  const lock::Answer model = read_answer(model_.execute({.op = ask.op,
                                                         .token = token,
                                                         .hold = token,
                                                         .life_ms = settings_.ttl_ms,
                                                         .waiter = in_queue,
                                                         .ticket = ticket},
                                                        std::chrono::milliseconds(now_)),
                                         settings_, Mutation::none);
  const auto words = [](const lock::Answer& answer) {
    const auto* refused = std::get_if<lock::Refused>(&answer);
    if (refused == nullptr) return std::string("answer " + std::to_string(answer.index()));
    return std::string(refused->turn ? "turn of " : "held by ") + refused->blocker + ", place " +
           std::to_string(refused->place) + " of " + std::to_string(refused->waiters) +
           (refused->slots.empty() ? "" : ", slots " + refused->slots);
  };
  story_ += text + " asks with ticket " + std::to_string(ticket) + ": " + words(real) + "\n";
  if (!same("the answer", words(real), words(model))) return;
  const auto* refused = std::get_if<lock::Refused>(&real);
  if (refused == nullptr) return;
  const lock::Ticket offered = std::get<lock::Refused>(model).ticket;
  // The real one may be the clock, which has gone on since.
  const auto clock = static_cast<lock::Ticket>(now_);
  const bool later = refused->ticket >= std::max(offered, clock) && refused->ticket <= clock + 5000;
  if (refused->ticket != offered && !later) {
    same("the ticket", std::to_string(refused->ticket), std::to_string(offered));
  }
  // Not in the order in which they ask: some take their ticket from another server.
  if (number != 0) tickets_[number] = refused->ticket + random_.below(2) * random_.below(50);
}

void QueueCheck::join(std::uint32_t number) {
  if (tickets_[number] == 0) return;
  const redis::LockContext context = context_of(number);
  redis_.send({redis::encode_join_queue(kKey, context.waiter, "{}", tickets_[number]), 1});
  model_.execute({.waiter = named(number), .ticket = tickets_[number], .joins_queue = true},
                 std::chrono::milliseconds(now_));
  story_ += context.waiter + " joins\n";
}

void QueueCheck::leave_queue(std::uint32_t number) {
  const redis::LockContext context = context_of(number);
  redis_.send({redis::encode_leave_queue(kKey, context.waiter), 1});
  model_.execute({.op = lock::Op::leave_queue, .waiter = named(number)},
                 std::chrono::milliseconds(now_));
  story_ += context.waiter + " leaves the queue\n";
  if (random_.percent(50)) tickets_[number] = 0;
}

/// Whoever has the lock releases it, perhaps to cool.
void QueueCheck::leave_lock() {
  Token owner = plain(model_.owner(std::chrono::milliseconds(now_)));
  if (is_shared(owner)) {
    const std::vector<Token> readers = model_.readers(std::chrono::milliseconds(now_));
    owner = readers.empty() ? kNoToken
                            : readers[random_.below(static_cast<std::uint32_t>(readers.size()))];
  }
  if (owner == kNoToken) return;
  const std::string text = token_text(owner);
  const lock::Ask ask{
      .op = lock::Op::leave,
      .attempt = 1,
      .life = std::chrono::milliseconds(is_listed(owner) ? 0 : random_.one_of(0, 0, 0, 30'000))};
  redis_.send(redis::encode_request(ask, context_of(1), {.token = text, .hold = text}));
  model_.execute({.op = ask.op,
                  .token = owner,
                  .hold = owner,
                  .life_ms = std::chrono::ceil<std::chrono::milliseconds>(ask.life).count()},
                 std::chrono::milliseconds(now_));
  story_ += text + " leaves the lock\n";
}

/// It expires, or another program sets it.
void QueueCheck::change_lock() {
  redis_.command({"DEL", kKey});
  model_.data().lock = {};
  story_ += "the key is deleted\n";
  if (random_.percent(70)) return;
  const Token foreign = make_token(kForeigner, 1, 1);
  redis_.command({"SET", kKey, token_text(foreign), "PX", "30000"});
  model_.set_foreign(foreign, 30'000, std::chrono::milliseconds(now_));
}

/// The wake-ups that have come since the last time.
std::vector<std::string> QueueCheck::heard() {
  std::vector<std::string> heard;
  redis::Value value = subscriber_.command({"PING"});
  for (; !value.elements.empty() && value.elements[0].text == "message";
       value = subscriber_.receive()) {
    const std::string& channel = value.elements.at(1).text;
    const std::string& text = value.elements.at(2).text;
    heard.push_back(channel.substr(channel.rfind(':') + 1) + ' ' + text.substr(0, text.find(' ')));
  }
  return heard;
}

std::string QueueCheck::real_queue() {
  std::string text;
  const redis::Value queue = redis_.command({"ZRANGE", key("queue"), "0", "-1", "WITHSCORES"});
  std::vector<std::string> ask{redis::encode_command({"GET", key("turn")})};
  for (std::size_t at = 0; at + 1 < queue.elements.size(); at += 2) {
    const std::string& waiter = queue.elements[at].text;
    ask.push_back(redis::encode_command({"ZSCORE", key("alive"), waiter}));
    ask.push_back(redis::encode_command({"HGET", key("waiters"), "mark:" + waiter}));
  }
  const std::vector<redis::Value> replies = redis_.commands(ask);
  for (std::size_t at = 0; at + 1 < queue.elements.size(); at += 2) {
    const std::string& waiter = queue.elements[at].text;
    const std::string& ends = replies[at + 1].text;
    const std::int64_t left = std::stoll(ends.empty() ? "0" : ends) - now_;
    text += waiter + ' ' + queue.elements[at + 1].text + " for " +
            std::to_string((left + 500) / 1000) + " s";
    const bool marked = replies[at + 2].text == "1";
    text += marked ? " marked, " : ", ";
  }
  return text + "turn of " + replies[0].text;
}

std::string QueueCheck::model_queue() const {
  std::string text;
  const Queue& queue = const_cast<Server&>(model_).data().queue;
  for (const Queue::Entry& entry : queue.entries()) {
    text += waiter_text(entry.waiter) + ' ' + std::to_string(entry.ticket) + " for " +
            std::to_string((entry.counts_until - now_ + 500) / 1000) + " s";
    text += entry.marked ? " marked, " : ", ";
  }
  const Waiter owner = queue.turn_owner();
  return text + "turn of " + (owner == kNoWaiter ? "" : waiter_text(owner));
}

}  // namespace redlock::sim

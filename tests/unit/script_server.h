// SPDX-License-Identifier: MIT
//
// For tests of the scripts: a server that runs them, byte for byte, on the simulator's keys in
// memory, and a process that asks it for the lock L.
#pragma once

#include "doctest.h"

#include <set>

#include "interpreter.h"
#include "keyspace.h"
#include "lock/value.h"
#include "redis/requests/answer.h"
#include "redis/requests/request.h"

namespace redlock::redis {

inline constexpr std::int64_t kStart = 1'795'172'400'000;
inline constexpr std::chrono::milliseconds kTtl = std::chrono::seconds(30);

/// One server. Waiters are awake unless they are named in `asleep`.
class Server {
 public:
  Server() {
    keys_.identity = {"run1", kStart - 100'000'000};
    keys_.publish = [this](std::string_view channel, std::string_view message) {
      const std::size_t wake = channel.find(":wake:");
      const std::string waiter(wake == channel.npos ? "" : channel.substr(wake + 6));
      heard.push_back(waiter + " " + std::string(message));
      return std::size_t{asleep.contains(waiter) ? 0U : 1U};
    };
    pass(std::chrono::milliseconds(0));
  }

  void pass(std::chrono::milliseconds time) { keys_.set_now(now_ += time.count()); }

  /// The reply to the request of the flight.
  Value ask(const Flight& flight) {
    static sim::Interpreter interpreter;
    Value answer;
    for (std::size_t at = 0; at < flight.commands.size(); ++at) {
      const Command& command = flight.commands[at];
      const std::vector<std::string_view> keys(command.keys.begin(), command.keys.end());
      const std::vector<std::string_view> words(command.words.begin(), command.words.end());
      Value reply;
      if (command.script != nullptr) {
        reply = interpreter.eval(keys_, command.script->text, keys, words);
      } else {
        keys_.run(words);
      }
      if (at == flight.answer_at) answer = reply;
      check_lives();
    }
    return answer;
  }

  [[nodiscard]] const sim::Keyspace::Key* key(const std::string& name) const {
    const auto* const found = keys_.look(name, now_);
    return found == nullptr || found->type == sim::Keyspace::Type::none ? nullptr : found;
  }
  [[nodiscard]] std::int64_t life(const std::string& name) const {
    const auto* const found = key(name);
    return found == nullptr ? -2 : found->expires_ms - now_;
  }
  sim::Keyspace& keys() { return keys_; }
  [[nodiscard]] std::int64_t now() const { return now_; }

  std::set<std::string> asleep{};
  std::vector<std::string> heard{};  ///< "WAITER MESSAGE"
  std::string forever{};             ///< this key may live without an end

 private:
  void check_lives() const {
    for (const auto& each : keys_.keys()) {
      if (each.type == sim::Keyspace::Type::none || each.name == forever) continue;
      CAPTURE(each.name);
      CHECK(each.expires_ms > 0);
    }
  }

  sim::Keyspace keys_;
  std::int64_t now_ = kStart;
};

/// A process that asks for the lock L.
struct Client {
  Client(std::string kind, char letter) : kind_(std::move(kind)) {
    context = {.lock_key = "L",
               .shared = kind_ == "reader",
               .slots = kind_ == "slot" ? 2U : 0U,
               .newest = kind_ == "newest",
               .list = "01234567",
               .ttl = kTtl,
               .waiter = std::string(20, letter),
               .holder_json = std::string("{\"host\":\"") + letter + "\"}",
               .hold_json = "{\"maintenance\":1}"};
    if (kind_ == "build") context.build = 5;
    std::string token(lock::kTokenDigits, letter);
    if (kind_ == "reader") token.front() = lock::kReader;
    if (kind_ == "slot") token.replace(0, 5, lock::slot_head(1, 2));
    if (kind_ == "reader" || kind_ == "slot")
      context.waiter.replace(0, 5, kind_ == "slot" ? "p0002" : "sssss");
    secrets = {.token = token, .hold = token};
  }

  lock::Answer ask(Server& server, const lock::Operation& operation) const {
    const Flight flight = encode_request(operation, context, secrets);
    const auto op = static_cast<lock::Op>(operation.index());
    return read_answer(op, context, server.ask(flight));
  }
  lock::Answer acquire(Server& server, lock::Ticket ticket = 0,
                       std::chrono::milliseconds life = kTtl) const {
    return ask(server, lock::op::Acquire{.life = life,
                                         .once = std::chrono::hours(kind_ == "once" ? 1 : 0),
                                         .ticket = ticket,
                                         .slot = kind_ == "slot" ? 1U : 0U});
  }
  /// A process that runs inside this one's lock.
  [[nodiscard]] Client inner() const {
    Client client(kind_, 'c');
    client.secrets.token = secrets.token;
    return client;
  }

  std::string kind_;
  LockContext context;
  Secrets secrets;
};

inline const std::string kKinds[] = {"alone", "build", "newest", "once", "reader", "slot"};

template <class T>
bool is(const lock::Answer& answer) {
  return std::holds_alternative<T>(answer);
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/inspection/revoker.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lock/token.h"
#include "lock/value.h"
#include "redis/requests/keys.h"
#include "redis/requests/queue.h"
#include "redis/requests/scripts.h"
#include "redis/requests/sharded.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

/// The generation, which stands in the list too, is no token.
std::vector<std::string> tokens_in(std::string_view text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (lock::is_token(word)) tokens.emplace_back(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return tokens;
}

}  // namespace

Revoker::Revoker(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts,
                 std::string key)
    : endpoint_(endpoint), key_(std::move(key)), link_(endpoint, tls, timeouts, key_) {}

void Revoker::ask(std::string wire, unsigned replies, lock::Instant now) {
  finished_ = false;
  answer_.reset();
  link_.ask({.round = ++asked_}, for_server({std::move(wire), replies}, endpoint_), now);
}

void Revoker::revoke(const std::string& token, const std::string& value, lock::Instant now) {
  if (lock::is_shared(token)) {
    return ask(encode_command({"EVAL", scripts::revoke, "2", key_, helper_key(key_, "readers"),
                               token, value, notice_channel(key_, "")}),
               1, now);
  }
  ask(encode_command(
          {"EVAL", scripts::revoke, "1", key_, token, value, notice_channel(key_, token)}),
      1, now);
}

void Revoker::remove(const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers, lock::Instant now) {
  const bool is_string = seen.kind == lock::Sighting::Kind::value;
  const std::string_view type = is_string ? "string" : lock::type_of(seen.value).value_or("none");
  const std::string_view value = is_string ? std::string_view(seen.value) : std::string_view();
  if (token.empty()) {
    const std::string wire =
        encode_command({"EVAL", scripts::remove, "1", key_, type, value, token, seen.owner});
    return ask(wire + encode_hand_on(key_), 2, now);
  }
  std::string all;
  for (const std::string& reader : readers) all.append(all.empty() ? "" : " ").append(reader);
  const std::string dead = helper_key(key_, "dead");
  std::string wire =
      lock::is_shared(token)
          ? encode_command({"EVAL", scripts::remove, "3", key_, dead, helper_key(key_, "readers"),
                            type, value, token, seen.owner, all})
          : encode_command(
                {"EVAL", scripts::remove, "2", key_, dead, type, value, token, seen.owner});
  wire += encode_hand_on(key_);
  unsigned replies = 2;
  const auto forget = [&](const std::string& holder) {
    wire += encode_command({"HDEL", helper_key(key_, "holder"), holder, "fence:" + holder,
                            "holds:" + holder, "keep:" + holder});
    ++replies;
  };
  forget(token);
  for (const std::string& reader : readers) forget(reader);
  ask(std::move(wire), replies, now);
}

void Revoker::log(const std::vector<LogLine>& lines, unsigned most, lock::Instant now) {
  std::string wire;
  for (const LogLine& line : lines) wire += encode_log(key_, line, most);
  ask(std::move(wire), static_cast<unsigned>(lines.size()), now);
}

void Revoker::turn(lock::Instant now) {
  for (Link::Arrival& arrival : link_.turn(now)) {
    if (finished_ || arrival.ask.round != asked_) continue;  // it came too late
    finished_ = true;
    if (auto* trouble = std::get_if<lock::Unreachable>(&arrival.content)) {
      answer_ = std::move(*trouble);
    } else {
      answer_ = read(std::get<Value>(arrival.content));
    }
  }
}

lock::Answer Revoker::read(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  if (part.empty()) return unexpected_reply(reply);
  const std::string& word = part[0].text;
  if (word == "released") return lock::Released{};
  if (word == "missing") return lock::Missing{};
  if (word == "revoked" && part.size() == 3 && part[1].type == Value::Type::integer) {
    notified_ = part[1].integer;
    readers_ = tokens_in(part[2].text);
    return lock::Released{};
  }
  if (word == "not_mine" && part.size() == 2) return lock::NotMine{part[1].text};
  return unexpected_reply(reply);
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/ballot.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "redis/scripts.h"
#include "redis/trouble.h"

namespace redlock::redis {
namespace {

// The holder hash outlives the lock a little, so that the last holder can still be named.
constexpr std::chrono::milliseconds kHolderExtra{10'000};

// Longer lives are told as this one: the state machine adds them to instants, in nanoseconds.
constexpr std::chrono::milliseconds kMaxTtlLeft = std::chrono::hours(24 * 3650);

bool is_string(const Value& value) {
  return value.type == Value::Type::string;
}

std::optional<lock::Answer> read_refused(const Value& reply) {
  if (reply.elements.size() != 4) return std::nullopt;
  const Value& blocker = reply.elements[1];
  const Value& left = reply.elements[2];
  const Value& holder = reply.elements[3];
  if (!is_string(blocker) || left.type != Value::Type::integer || !is_string(holder)) {
    return std::nullopt;
  }
  lock::Refused refused{blocker.text, std::nullopt, holder.text};
  if (left.integer != -1) {  // -1: it never expires; -2: it just did
    const auto clamped = std::clamp<std::int64_t>(left.integer, 0, kMaxTtlLeft.count());
    refused.ttl_left = std::chrono::milliseconds(clamped);
  }
  return refused;
}

std::optional<lock::Answer> read_acquire(std::string_view word, const Value& reply) {
  if (word == "granted") return lock::Granted{};
  if (word == "refused") return read_refused(reply);
  return std::nullopt;
}

std::optional<lock::Answer> read_other(lock::Op op, std::string_view word, const Value& reply) {
  if (op == lock::Op::renew && word == "renewed") return lock::Renewed{};
  if (op == lock::Op::release && word == "released") return lock::Released{};
  if (word == "missing") return lock::Missing{};
  if (word == "not_mine" && reply.elements.size() == 2 && is_string(reply.elements[1])) {
    return lock::NotMine{reply.elements[1].text};
  }
  return std::nullopt;
}

}  // namespace

Flight encode_request(lock::Op op, const Ballot& ballot, const std::string& token) {
  const std::string ttl = std::to_string(ballot.ttl.count());
  switch (op) {
    case lock::Op::renew: {
      const std::string holder_ttl = std::to_string((ballot.ttl + kHolderExtra).count());
      return {encode_command({"EVAL", scripts::renew, "1", ballot.lock_key, token, ttl}) +
                  encode_command({"PEXPIRE", ballot.holder_key, holder_ttl}),
              2};
    }
    case lock::Op::release:
      return {encode_command({"EVAL", scripts::release, "1", ballot.lock_key, token}) +
                  encode_command({"HDEL", ballot.holder_key, token}),
              2};
    case lock::Op::acquire:
    case lock::Op::repair:
      break;
  }
  // A repair is an acquire: SET NX with our token, refused if somebody else was faster.
  return {encode_command({"EVAL", scripts::acquire, "2", ballot.lock_key, ballot.holder_key, token,
                          ttl, ballot.holder_json}),
          1};
}

lock::Answer read_answer(lock::Op op, const Value& reply) {
  if (reply.type == Value::Type::array && !reply.elements.empty() &&
      is_string(reply.elements.front())) {
    const std::string_view word = reply.elements.front().text;
    const bool takes = op == lock::Op::acquire || op == lock::Op::repair;
    std::optional<lock::Answer> answer =
        takes ? read_acquire(word, reply) : read_other(op, word, reply);
    if (answer) return *answer;
  }
  return unexpected_reply(reply);
}

}  // namespace redlock::redis

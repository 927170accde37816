// SPDX-License-Identifier: MIT
#include "redis/requests/queue.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "redis/requests/answer.h"
#include "redis/requests/keys.h"
#include "redis/requests/scripts.h"

namespace redlock::redis {
namespace {

// waiting.lua never returns more than this.
constexpr std::size_t kMostShown = 20;
constexpr std::int64_t kMostCounted = 1'000'000;
constexpr std::size_t kMostOfId = 64;
constexpr std::size_t kMostOfWho = 8192;

std::optional<Waiter> read_waiter(const Value& entry) {
  const std::vector<Value>& part = entry.elements;
  const bool short_enough = fits(entry, "sss") && part[0].text.size() <= kMostOfId &&
                            part[2].text.size() <= kMostOfWho;
  const auto waited = short_enough ? read_number(part[1]) : std::nullopt;
  if (!waited) return std::nullopt;
  constexpr std::uint64_t kMost = 100ULL * 365 * 24 * 3600 * 1000;  // more comes from a wrong clock
  return Waiter{part[0].text, std::chrono::milliseconds(std::min(*waited, kMost)), part[2].text};
}

}  // namespace

std::string queue_prefix(std::string_view lock_key) {
  return helper_key(lock_key, "");
}

std::string wake_channel(std::string_view lock_key, std::string_view waiter) {
  return helper_key(lock_key, std::string("wake:").append(waiter));
}

std::optional<lock::Duration> read_wake_up(std::string_view text) {
  constexpr std::string_view kCools = "cools ";
  constexpr std::uint64_t kMost = 366ULL * 24 * 3600 * 1000;
  if (text == "free") return lock::Duration::zero();
  if (text == "next") return std::chrono::milliseconds(500);
  if (!text.starts_with(kCools)) return std::nullopt;
  const auto left = read_number(text.substr(kCools.size()));
  if (!left) return std::nullopt;
  return std::chrono::milliseconds(std::min(*left, kMost) + 1);
}

std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who, lock::Ticket ticket) {
  return encode_command({"EVAL", scripts::join_queue, "1", lock_key, queue_prefix(lock_key), waiter,
                         who, std::to_string(ticket)});
}

std::string encode_leave_queue(std::string_view lock_key, std::string_view waiter) {
  return encode_command({"EVAL", scripts::hand_on, "1", lock_key, queue_prefix(lock_key), waiter});
}

std::string encode_hand_on(std::string_view lock_key) {
  return encode_leave_queue(lock_key, {});
}

std::string encode_waiting(std::string_view lock_key) {
  return encode_command({"EVAL", scripts::waiting, "3", helper_key(lock_key, "queue"),
                         helper_key(lock_key, "alive"), helper_key(lock_key, "waiters")});
}

std::optional<Queue> read_waiting(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  if (part.size() < 2 || part[0].text != "waiting" || part[1].type != Value::Type::integer) {
    return std::nullopt;
  }
  Queue queue;
  for (std::size_t at = 2; at < part.size() && queue.first.size() < kMostShown; ++at) {
    if (auto waiter = read_waiter(part[at])) queue.first.push_back(std::move(*waiter));
  }
  const auto length = std::clamp<std::int64_t>(part[1].integer, 0, kMostCounted);
  queue.length = std::max(static_cast<std::size_t>(length), queue.first.size());
  return queue;
}

}  // namespace redlock::redis

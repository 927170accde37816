// SPDX-License-Identifier: MIT
#include "redis/queue.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "redis/keys.h"
#include "redis/reading.h"
#include "redis/scripts.h"

namespace redlock::redis {
namespace {

struct Keys {
  explicit Keys(std::string_view lock_key)
      : lock(lock_key),
        queue(helper_key(lock_key, "queue")),
        waiters(helper_key(lock_key, "waiters")),
        channels(wake_channel(lock_key, "")) {}

  std::string_view lock;
  std::string queue;
  std::string waiters;
  std::string channels;
};

std::string encode(const Keys& keys, std::string_view waiter, std::string_view who) {
  return encode_command({"EVAL", scripts::queue, "3", keys.lock, keys.queue, keys.waiters,
                         keys.channels, waiter, who});
}

// waiting.lua never returns more than this.
constexpr std::size_t kMostShown = 20;
constexpr std::size_t kMostOfId = 64;
constexpr std::size_t kMostOfWho = 8192;

std::optional<Waiter> read_waiter(const Value& entry) {
  using enum Value::Type;
  const std::vector<Value>& part = entry.elements;
  const bool fits = part.size() == 3 && part[0].type == string && part[2].type == string &&
                    part[0].text.size() <= kMostOfId && part[2].text.size() <= kMostOfWho;
  const auto waited = fits ? read_number(part[1]) : std::nullopt;
  if (!waited) return std::nullopt;
  constexpr std::uint64_t kMost = 100ULL * 365 * 24 * 3600 * 1000;  // more comes from a wrong clock
  return Waiter{part[0].text, std::chrono::milliseconds(std::min(*waited, kMost)), part[2].text};
}

}  // namespace

std::string wake_channel(std::string_view lock_key, std::string_view waiter) {
  return helper_key(lock_key, std::string("wake:").append(waiter));
}

std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who) {
  return encode(Keys(lock_key), waiter, who);
}

std::string encode_leave_queue(std::string_view lock_key, std::string_view waiter) {
  return encode(Keys(lock_key), waiter, {});
}

std::string encode_wake(std::string_view lock_key) {
  const Keys keys(lock_key);
  return encode_command(
      {"EVAL", scripts::queue, "3", keys.lock, keys.queue, keys.waiters, keys.channels});
}

std::string encode_waiting(std::string_view lock_key) {
  const Keys keys(lock_key);
  return encode_command({"EVAL", scripts::waiting, "2", keys.queue, keys.waiters});
}

std::optional<QueuePlace> read_joined(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  const auto number = [&](std::size_t at) {
    return part[at].type == Value::Type::integer ? part[at].integer : 0;
  };
  if (part.size() != 3 || part[0].text != "joined") return std::nullopt;
  const std::int64_t place = number(1);
  const std::int64_t length = number(2);
  if (place < 1 || length < place || length > static_cast<std::int64_t>(kMostPlaces)) {
    return std::nullopt;
  }
  return QueuePlace{static_cast<std::size_t>(place), static_cast<std::size_t>(length)};
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
  const auto length = std::clamp<std::int64_t>(part[1].integer, 0, 1000);
  queue.length = std::max(static_cast<std::size_t>(length), queue.first.size());
  return queue;
}

}  // namespace redlock::redis

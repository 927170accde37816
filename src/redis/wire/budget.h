// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "lock/time.h"

namespace redlock::redis {

/// Limits how much we collect from one server that we ask again and again until it says that this
/// was all: it may never say so. Each reply has its own limits (redis/wire/resp.h).
class Budget {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
  /// The longest time, as a multiple of the time-out of one request.
  static constexpr int kMostTimes = 600;

  explicit Budget(std::chrono::milliseconds request) : most_time_(request * kMostTimes) {}

  void begin(lock::Instant now) {
    began_ = now;
    bytes_ = 0;
  }

  /// Counts a reply of `bytes` bytes. Returns why it must be the last one; none: it need not be.
  std::optional<std::string> spend(std::size_t bytes, lock::Instant now) {
    bytes_ += bytes;
    if (bytes_ > kMostBytes) {
      return "has answered with more than " + std::to_string(kMostBytes >> 20U) +
             " MiB; the rest is left out";
    }
    if (now - began_ <= lock::saturated(most_time_)) return std::nullopt;
    return "has answered for " + std::to_string(most_time_.count() / 1000) +
           " s without coming to an end; the rest is left out (" + std::to_string(kMostTimes) +
           " times --server-timeout)";
  }

 private:
  std::chrono::milliseconds most_time_;
  lock::Instant began_{};
  std::size_t bytes_ = 0;
};

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "config/settings.h"
#include "redis/ask/questions.h"
#include "redis/tls/context.h"

namespace redlock::driver {

/// Questions to all configured servers at the same time: a connection to each, numbered like the
/// servers. Throws Error (78) if the settings of TLS are of no use.
class Interview {
 public:
  /// Without `timeouts`: no lease depends on these questions, so the
  /// ttl does not limit their time-out.
  explicit Interview(const config::Settings& settings)
      : Interview(settings, {.request = settings.server_timeout}) {}
  Interview(const config::Settings& settings, redis::Timeouts timeouts);

  [[nodiscard]] std::size_t servers() const { return servers_; }
  redis::Questions& questions() { return questions_; }

  /// Waits until all questions are answered or given up. Throws Error (71).
  void finish();

 private:
  std::size_t servers_;
  std::optional<redis::TlsContext> tls_;  ///< none if no server speaks TLS
  redis::Questions questions_;
};

}  // namespace redlock::driver

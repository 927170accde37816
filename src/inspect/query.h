// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "inspect/observed.h"
#include "redis/inspection/observer.h"
#include "redis/tls/context.h"

namespace redlock::inspect {

/// Looks at locks on all configured servers at once. Throws Error (71, 78).
class Query {
 public:
  /// `settings` must outlive this.
  explicit Query(const config::Settings& settings);

  enum class Which { held, logged };

  /// The names of all locks with the configured prefix on any server, sorted.
  std::vector<std::string> names(Which which);

  /// `reader`: as in redis::NodeObserver::look().
  std::vector<Observed> look(const std::vector<std::string>& names, redis::Observer::Marks marks,
                             const std::string& reader = {});

  /// One line for each server that could not be asked, safe to print.
  [[nodiscard]] std::vector<std::string> complaints() const;

  /// The number of servers that answered completely.
  [[nodiscard]] std::size_t reached() const;

  /// By server, the reason if it could not be asked, or not about everything.
  [[nodiscard]] std::vector<std::optional<std::string>> troubles() const;

 private:
  const config::Settings& settings_;
  std::optional<redis::TlsContext> tls_;
  std::deque<redis::Observer> observers_;  // a deque, since they cannot move
  std::vector<std::optional<std::string>>
      refusals_;  ///< of servers that answer, but refuse the request
};

}  // namespace redlock::inspect

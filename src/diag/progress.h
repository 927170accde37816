// SPDX-License-Identifier: MIT
//
// The line that shows a waiting user the state of the wait. Deliberately absent: terminals and the
// moments to write the line; driver/progress.h has them.
#pragma once

#include <cstddef>
#include <string>

#include "diag/text.h"
#include "lock/acquisition.h"
#include "lock/time.h"

namespace redlock::diag {

struct WaitFacts {
  std::string lock;  ///< its name
  lock::Waiting state;
  lock::Duration refusal_age{};  ///< since the servers named Waiting::refusal
  lock::Duration waited{};
  std::optional<lock::Duration> limit;    ///< of the wait
  std::chrono::milliseconds unix_time{};  ///< by this host's clock
};

/// For a terminal, to be rewritten: at most `width` columns. With less room it says less.
///
///   deploy-shop: held by root@db7 (./deploy.sh) for 3m 12s · you are 2nd of 3 · waited 0:41
std::string live_line(const WaitFacts& facts, std::size_t width, Charset charset);

/// For a log, never cut: `lock "deploy-shop" is held by root@db7 (./deploy.sh) for 3m 12s, …`
std::string plain_line(const WaitFacts& facts);

/// When the next line is due: at whole multiples of `every` since `began`.
constexpr lock::Instant next_due(lock::Instant began, lock::Duration every, lock::Instant now) {
  return began + ((now - began) / every + 1) * every;
}

}  // namespace redlock::diag

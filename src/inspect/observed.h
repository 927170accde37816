// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "diag/screen.h"
#include "driver/lock_id.h"
#include "exit_status.h"
#include "inspect/waiting.h"
#include "lock/judgement.h"
#include "records/holder.h"
#include "records/revocation.h"
#include "redis/inspection/observer.h"

namespace redlock::inspect {

/// Everything that the servers know about one lock.
struct Observed {
  driver::LockId id;
  std::vector<lock::Seen> seen;  ///< by server
  lock::Judgement judgement;
  std::optional<lock::Sighting>
      sighting;  ///< of an agreeing server, if possible one that knows the holder
  std::optional<records::Holder> holder;  ///< of a shared lock: one of the readers
  bool shared = false;                    ///< held shared, by redlock
  std::vector<lock::Reader> readers;      ///< those that a quorum names, by slot and number
  std::size_t reader_count = 0;           ///< how many there are: a server names 100 at most
  std::size_t slots = 0;                  ///< a lock with slots is shared, too; 0: it has none
  std::optional<records::Revocation>
      revocation;  ///< if the lock is revoked, and the key says by whom
  /// The remaining time to live on the agreeing servers; none: the lock is not held, or never
  /// expires there.
  std::optional<std::chrono::milliseconds> least_left;
  std::optional<std::chrono::milliseconds> most_left;
  std::optional<WaitingQueue> waiting;  ///< none: no server says who waits
  std::optional<lock::Done> last_run;  ///< with --once
};

/// `observations`: one for each configured server.
Observed observe(driver::LockId id, std::vector<redis::Observation> observations);

/// The holder that blocks an acquisition, as one server sees it.
lock::Refused as_refusal(const lock::Sighting& sighting);

/// The name of the state in tables and in JSON: "held", "free"…
std::string_view word_for(lock::State state);

diag::Tint tint_of(lock::State state);

/// The slot of this holder of the lock; 0: it has none that redlock gives out.
std::size_t slot_in(const Observed& lock, const lock::Reader& reader);

/// "2 of 3 slots taken". Of a lock with slots.
std::string slots_taken(const Observed& lock);

/// Warnings for people, about a holder with other servers or another protocol.
std::vector<std::string> warnings_about(const Observed& lock);

/// One server's view in a phrase, safe to print.
std::string describe_view(const Observed& lock, std::size_t server);

/// See redlock-status(1). `troubles`: by server, the reason if it could not
/// be asked.
std::string to_json(const std::vector<Observed>& locks, const config::Settings& settings,
                    const std::vector<std::optional<std::string>>& troubles, ExitStatus status);

}  // namespace redlock::inspect

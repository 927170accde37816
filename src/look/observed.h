// SPDX-License-Identifier: MIT
//
// What the servers know about a lock: asked of all of them, merged, and in words.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "diag/text.h"
#include "driver/setup.h"
#include "exit_status.h"
#include "lock/effect.h"
#include "lock/judgement.h"
#include "records/holder.h"
#include "redis/ask/observer.h"
#include "redis/requests/answer.h"

namespace redlock::look {

/// A process that waits for a lock, as the servers see it.
struct Waiting {
  std::chrono::milliseconds waited{};  ///< at least
  std::optional<records::Holder> who;  ///< its own record; without the start of its wait
};

struct WaitingQueue {
  std::vector<Waiting> known;  ///< the longest waiter first
  std::size_t others = 0;      ///< at least so many more waiters, about whom nothing is known
};

/// Merges the queues of all servers: a waiter that came while a server was down is missing there.
/// None if no server has a queue that we may read. `holder`: does not count as a waiter, even if it
/// was one a moment ago.
std::optional<WaitingQueue> merge(const std::vector<std::optional<redis::Queue>>& queues,
                                  const std::optional<records::Holder>& holder);

/// One of those that hold a shared lock.
struct Reader : lock::Reader {
  std::optional<records::Holder> who;  ///< as Reader::holder says; untrusted
};

/// Everything that the servers know about one lock.
struct Observed {
  driver::LockId id;
  std::vector<lock::Seen> seen;  ///< by server
  lock::Judgement judgement;
  std::optional<lock::Sighting>
      sighting;  ///< of an agreeing server, if possible one that knows the holder
  std::optional<records::Holder> holder;      ///< of a shared lock: one of the readers
  bool shared = false;                        ///< held shared, by redlock
  std::vector<Reader> readers;                ///< those that a quorum names, by slot and number
  std::size_t reader_count = 0;               ///< how many there are: a server names 100 at most
  std::size_t slots = 0;                      ///< a lock with slots is shared, too; 0: it has none
  std::optional<records::Holder> revocation;  ///< if the lock is revoked, and the key says by whom
  /// The remaining time to live on the agreeing servers; none: the lock is not held, or never
  /// expires there.
  std::optional<std::chrono::milliseconds> least_left;
  std::optional<std::chrono::milliseconds> most_left;
  std::optional<WaitingQueue> waiting;  ///< none: no server says who waits
  std::optional<lock::Done> last_run;   ///< with --once
};

/// `observations`: one for each configured server.
Observed observe(driver::LockId id, std::vector<redis::Observation> observations);

/// Looks at locks on all configured servers at the same time. A new one asks the servers again that
/// have failed. Throws Error (71, 78).
class Query {
 public:
  /// `settings` must outlive this.
  explicit Query(const config::Settings& settings);

  enum class Which { held, logged };

  /// The names of all locks with the configured prefix on any server, sorted.
  std::vector<std::string> names(Which which);

  /// `reader`: as in redis::Observer::look().
  std::vector<Observed> look(const std::vector<std::string>& names,
                             redis::Marks marks = redis::Marks::ignored,
                             const std::string& reader = {});

  /// One line for each server that could not be asked, safe to print.
  [[nodiscard]] std::vector<std::string> complaints() const;

  /// The number of servers that answered completely.
  [[nodiscard]] std::size_t reached() const;

  /// By server, the reason if it could not be asked, or not about everything.
  [[nodiscard]] std::vector<std::optional<std::string>> troubles() const;

 private:
  const config::Settings& settings_;
  driver::Interview interview_;
  std::deque<redis::Observer> observers_;  // a deque, since they cannot move
  std::vector<std::optional<std::string>>
      refusals_;  ///< of servers that answer, but refuse the request
};

/// One lock, as a Query shows it.
Observed look_at(const std::string& name, const config::Settings& settings,
                 const std::string& reader = {});

/// The holder that blocks an acquisition, as one server sees it.
lock::Refused as_refusal(const lock::Sighting& sighting);

/// The name of the state in tables and in JSON: "held", "free"…
std::string_view word_for(lock::State state);

diag::Tint tint_of(lock::State state);

/// The slot of this holder of the lock; 0: it has none that redlock gives out.
std::size_t slot_in(const Observed& lock, const Reader& reader);

/// "2 of 3 slots taken", "at least 2 of 3 slots taken". Of a lock with slots.
std::string slots_taken(const Observed& lock);

/// Warnings for people, about a holder with other servers or another protocol.
std::vector<std::string> warnings_about(const Observed& lock, const config::Settings& settings);

/// The servers that keep a key although a quorum says something else, and for more than half a
/// minute: nobody has the lock by it. It may stand in the way of others.
std::vector<std::size_t> left_overs(const Observed& lock);

/// A warning for each of these servers, which have not confirmed that they released the lock, if
/// the key that they may keep lives for more than half a minute. `left`: how long it lives; none:
/// for ever.
std::vector<std::string> may_keep(const std::vector<lock::Complaint>& silent,
                                  std::optional<std::chrono::milliseconds> left,
                                  const std::string& lock_name, const config::Settings& settings);

/// One server's view in a phrase, safe to print.
std::string describe_view(const Observed& lock, std::size_t server);

/// Everything about a lock, for people: several lines that fit the screen, safe to print.
std::string as_block(const Observed& lock, const config::Settings& settings,
                     const diag::Screen& screen);

}  // namespace redlock::look

// SPDX-License-Identifier: MIT
//
// What the servers know about a lock: asked of all of them, merged, in words and as JSON.
#pragma once

#include <deque>

#include "config/settings.h"
#include "diag/blocker.h"
#include "diag/text.h"
#include "driver/setup.h"
#include "error.h"
#include "lock/effect.h"
#include "lock/judgement.h"
#include "lock/timing.h"
#include "observe/observer.h"
#include "records/records.h"
#include "redis/requests/answer.h"

namespace redlock::observe {

/// A process that waits for a lock, as the servers see it.
struct Waiting {
  std::chrono::milliseconds waited{};  ///< at least
  std::optional<records::Holder> who;  ///< its own record; without the start of its wait
};

struct WaitingQueue {
  std::vector<Waiting> known;  ///< the longest waiter first
  std::size_t others = 0;      ///< at least this many more waiters, about whom nothing is known

  [[nodiscard]] std::size_t size() const { return known.size() + others; }
};

/// Runs of one host that gave up because another one had the lock. Untrusted.
struct Refusals {
  std::string host;
  records::Refused who;             ///< the last of them
  std::uint64_t count = 0;          ///< in the last 30 days of the lock, at most 32 hosts
  std::chrono::milliseconds ago{};  ///< the last time
};

/// Merges the queues of all servers: a waiter that came while a server was down is missing there.
/// None if no server has a queue that we may read. `holder` does not count as a waiter.
std::optional<WaitingQueue> merge_queues(const std::vector<std::optional<redis::Queue>>& queues,
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
  std::size_t reader_count = 0;               ///< a server names 100 at most; 0: not known
  std::size_t slots = 0;                      ///< 0 without slots; a lock with slots is shared, too
  std::optional<records::Holder> revocation;  ///< if the lock is revoked, and the key says by whom
  /// The remaining time to live on the agreeing servers, if the lock is held and expires.
  std::optional<std::chrono::milliseconds> least_left;
  std::optional<std::chrono::milliseconds> most_left;
  /// The same of the latest renewal: a minimum hold lasts longer. Below zero: it is over.
  std::optional<std::chrono::milliseconds> lease_left;
  std::optional<WaitingQueue> waiting;    ///< if a server says who waits
  std::optional<lock::Done> last_run;     ///< with --once
  std::optional<lock::Superseded> built;  ///< the largest build that succeeded, with --build
  std::vector<Refusals> refusals;         ///< the latest first; if we asked for the marks

  /// Whether a quorum of the servers answered.
  [[nodiscard]] bool knows_enough() const {
    return judgement.answered >= lock::quorum(seen.size());
  }
};

/// By server, the reason if it could not be asked, or not about everything.
using Troubles = std::vector<std::optional<std::string>>;

/// Looks at locks on all configured servers at the same time. A new one asks the servers again that
/// have failed. Throws Error (71, 78).
class Query {
 public:
  /// `settings` must outlive this.
  explicit Query(const config::Settings& settings);

  /// The names of all locks with the configured prefix that have this helper key on any server,
  /// sorted: see Observer::scan(). `pattern`: only those that match it, see fnmatch(3);
  /// empty: all.
  std::vector<std::string> names(std::string_view helper, const std::string& pattern = {});

  /// `reader`: see Observer::look().
  std::vector<Observed> look(const std::vector<std::string>& names, Marks marks = Marks::ignored,
                             const std::string& reader = {});
  /// Looks once more, half a second later, at each lock of which a key is left over: a run may be
  /// taking the lock just then, or giving it up, and one server hears of it later than the others.
  std::vector<Observed> look_until_settled(const std::vector<std::string>& names,
                                           Marks marks = Marks::ignored);

  /// A line for each server that could not be asked, safe to print.
  [[nodiscard]] std::vector<std::string> complaints() const;

  /// The number of servers that answered completely.
  [[nodiscard]] std::size_t reached() const;

  [[nodiscard]] Troubles troubles() const;

 private:
  const config::Settings& settings_;
  driver::Interview interview_;
  std::deque<Observer> observers_;  // a deque, since they cannot move
  Troubles refusals_;               ///< of servers that answer, but refuse the request
};

/// If one job holds the lock, and has missed a renewal.
std::optional<diag::Overdue> overdue(const Observed& lock);

Observed look_at(const std::string& name, const config::Settings& settings,
                 const std::string& reader = {});

/// The holder that blocks an acquisition, as one server sees it.
lock::Refused as_refusal(const lock::Sighting& sighting);

struct Appearance {
  std::string_view word;  ///< in tables and in JSON: "held", "free"…
  diag::Tint tint;
};
Appearance appearance_of(lock::State state);

/// "1 of 3 servers could be asked, and a quorum is 2"
std::string too_few(std::size_t asked, std::size_t servers);

/// `redlock release --force NAME`, to paste into a shell.
std::string release_command(const std::string& lock_name, const config::Settings& settings);

/// The process that holds a lock of Redisson's, safe to print.
std::string redisson_owner(const lock::Sighting& sighting);

/// The slot of this holder of the lock; 0 if it has none that redlock gives out.
std::size_t slot_in(const Observed& lock, const Reader& reader);

/// "2 of 3 slots taken", "at least 2 of 3 slots taken". Of a lock with slots.
std::string slots_taken(const Observed& lock);

/// Warnings about keys that are left over, and a holder with other servers or another protocol.
std::vector<std::string> warnings_about(const Observed& lock, const config::Settings& settings);

/// The servers that keep a key for more than half a minute although a quorum says something else:
/// nobody has the lock by that key, but it may block others.
std::vector<std::size_t> left_overs(const Observed& lock);

/// A warning for each of these servers, which have not confirmed that they released the lock, if
/// the key that they may keep lives for more than half a minute. `left`: its time to live, if it
/// expires.
std::vector<std::string> may_keep(const std::vector<lock::Complaint>& silent,
                                  std::optional<std::chrono::milliseconds> left,
                                  const std::string& lock_name, const config::Settings& settings);

/// Everything about a lock: several lines that fit the screen, safe to print.
std::string as_block(const Observed& lock, const config::Settings& settings,
                     const diag::Screen& screen);

}  // namespace redlock::observe

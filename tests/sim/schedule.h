// SPDX-License-Identifier: MIT
//
// What will go wrong, drawn from a seed: the hosts, their clocks, and a list of faults. After the
// faults comes a fair phase, in which everything works and everybody must get the lock.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "clock.h"
#include "lock/timing.h"
#include "random.h"
#include "token.h"

namespace redlock::sim {

/// The time of day at the start of every schedule: fences are seeded from it.
inline constexpr std::uint64_t kStartMs = 1'800'000'000'000;

inline constexpr std::size_t kMostServers = 5;
inline constexpr std::size_t kMostClients = 14;
inline constexpr std::size_t kMostLocks = 4;

struct Fault {
  enum class Kind : std::uint8_t {
    cut,          ///< the connection of client and server breaks
    deaf,         ///< what the client sends to the server is held up for `length`
    mute,         ///< what the server sends to the client is
    isolate,      ///< both, for the client and the servers in the bit set `server`
    stop,         ///< the server is stopped (SIGSTOP) for `length`
    snapshot,     ///< the server saves its data
    crash_kept,   ///< the server dies and is back with all data after `length`
    crash_old,    ///< … with the data of its last snapshot
    crash_empty,  ///< … with none
    flush,        ///< FLUSHALL, which takes `length`
    fail_over,    ///< the server dies, and its replica is in its place after `length`
    lag,          ///< the server's replica gets nothing for `length`
    step,         ///< the server's clock is set by `length`, forward or back
    foreign,      ///< some other program sets the key on the server for `length`
    pause,        ///< the client's process is stopped, its job goes on
    suspend,      ///< the client's host is suspended, its job with it
    kill,         ///< the client and its job are killed
    signal,       ///< the client is sent TERM
    revoke,       ///< somebody forces whoever holds the lock on the server to release it
    seize,        ///< and deletes it immediately
    hand_back,    ///< the owner of a lock that is kept on the server releases it by its token
    rumour,       ///< word that the owner of the client's lock has done so; nobody has
  };
  Time at{};
  Kind kind = Kind::cut;
  std::uint8_t client = 0;
  std::uint8_t server = 0;
  Time length{};
  std::uint8_t lock = 0;  ///< of those that concern one lock alone
};

std::string_view text(Fault::Kind kind);
bool loses_data(Fault::Kind kind);

struct ServerHost {
  std::int64_t rate = 0;    ///< of its clock, in millionths
  Time wall_offset{};       ///< of its time of day
  Time up_for{};            ///< at the start
  std::uint64_t fence = 0;  ///< the counter at the start; 0: none
  bool fence_of_this_life = true;
  Time connects_after{};     ///< for the slow client: more than it waits for
  Time connects_in{};        ///< likewise, at most
  std::uint8_t same_as = 0;  ///< another server's index: the same server under two addresses
  Time replica_ahead{};      ///< the replica's time of day, against the server's
};

/// From that moment on, each new redlock of a host has the first `servers` servers in its list; 0:
/// none starts.
struct ListChange {
  Time at{};
  std::size_t servers = 0;
};

struct ClientHost {
  std::int64_t rate = 0;
  Time starts{};
  bool tries_once = false;  ///< every run with -n
  Time min_hold{};
  Time hold_on_failure{};
  Time once{};         ///< zero: without
  Mode mode{};         ///< asks for a shared lock, or for a slot
  bool keeps = false;  ///< the lock for a ward, which has the token
  std::uint8_t lock = 0;
  /// A run with several locks is a client for each of them, its stages. The job of each is the next
  /// one: these are the indices of the stage before and of the next one.
  std::optional<std::uint8_t> before{};
  std::optional<std::uint8_t> after{};
  /// Runs only inside the jobs of that client, and joins its lock.
  std::optional<std::uint8_t> inside{};
  std::vector<ListChange> lists{};  ///< in the order of time; empty: all servers, always
};

/// Everything the seed decides before the first event. Choices that are left to the run (delays,
/// how long a job takes) are drawn from a generator seeded with `run_seed`.
struct Schedule {
  std::uint64_t seed = 0;
  std::uint64_t run_seed = 0;
  std::size_t servers = 1;
  std::size_t clients = 1;
  std::size_t locks = 1;  ///< on the same servers
  lock::Timing timing{};
  lock::Duration restart_grace{};
  lock::Duration server_timeout{};
  lock::Duration connect_timeout{};
  Time delay_low{};
  Time delay_high{};
  std::uint32_t late_percent = 0;  ///< of the messages take up to `late` longer
  Time late{};
  std::uint32_t break_percent = 0;  ///< of the requests break their connection soon
  std::uint32_t stall_percent = 0;  ///< of the jobs' starts are held up in the middle
  std::array<ServerHost, kMostServers> server{};
  std::array<ClientHost, kMostClients> client{};
  std::uint8_t slow_client = kMostClients;  ///< ServerHost::connects_after; none
  std::vector<Fault> faults;                ///< in the order of time
  Time calm_from{};                         ///< the fair phase begins

  bool assumptions_hold = true;  ///< of redlock-guarantees(7): then there is never a second job
  /// No server that forgets grants before every minimum hold is over: then none is cut short.
  bool holds_are_kept = true;
  bool marks_are_kept = true;  ///< no server forgets
  bool cron = false;           ///< nothing but simultaneous `-n`s and no faults: one must run
  /// No server forgets that a lock was deleted by force.
  bool seizures_are_kept = true;
  bool seized = false;      ///< a lock is deleted under its job: then there may be a second one
  bool short_jobs = false;  ///< none lasts longer than a ttl
  /// Signals reach jobs, some from elsewhere, and main processes leave descendants.
  bool jobs_leave = false;
  bool twins = false;       ///< two addresses of one server
  bool troubled = false;    ///< anything that may keep a message from getting through in time
  bool replicated = false;  ///< each server has a replica, and fails over to it
  /// `--replicas 1`: what a server's replica does not have in time does not count.
  bool waits_for_replicas = false;
  bool clients_stop = false;  ///< some do for a while, and cannot keep to a time
  bool fences_rise = true;    ///< no fail-over is quicker than clocks disagree
  bool clocks_step = false;   ///< operators set the servers' clocks
  bool steps_forward = false;
  Time longest_step_back{};  ///< in all, of one server
  bool rolls_out = false;    ///< another list of servers, host by host, one server for each step
  Time between_steps{};      ///< after the last redlock with a list two steps away

  [[nodiscard]] Time longest_hold() const;
  [[nodiscard]] std::size_t smallest_list() const;
  [[nodiscard]] std::size_t list_of(std::size_t client, Time now) const;
  /// Of the run to which this client belongs.
  [[nodiscard]] std::size_t first_stage(std::size_t index) const;
  [[nodiscard]] std::uint8_t last_stage(std::uint8_t index) const;
  [[nodiscard]] std::optional<std::uint8_t> next_stage(std::size_t index) const {
    const std::optional<std::uint8_t> next = client[index].after;
    return next && *next < clients ? next : std::nullopt;  // shrink() leaves clients out
  }
  /// A server's clock is set forward; or a replica lacks a vote that counts, or ends it early,
  /// since its clock is ahead. The server has been up for long, so the restart grace does not
  /// notice.
  [[nodiscard]] bool votes_are_forgotten() const;

  /// Makes this the schedule of a seed.
  void draw(std::uint64_t seed);

 private:
  /// Those of schedules without slots. Only this many take numbers from the draws that all share.
  [[nodiscard]] std::span<ClientHost> few() { return std::span(client).first(4); }
  void draw_hosts(Random& random);
  void draw_holds(Random& random);
  void draw_nesting(Random& random);
  void draw_faults(Random& random);
  void draw_swarm();
  void draw_disagreement(Random& random);
  void draw_revocations();
  void draw_keepers();
  void draw_readers();
  void draw_slots();
  void draw_several();
  void draw_failure_holds();
  void draw_mixture(Random& random);
  void draw_locks(Random& random, std::uint8_t run);
  void spread_faults(Random& random);
  void draw_slow_connections();
  void draw_fail_overs();
  void draw_steps();
  void draw_roll_out();
  void draw_host_by_host(Random& random, std::size_t smaller);
  void draw_forgotten_vote(Random& random);
  void draw_two_steps(Random& random, std::size_t first);
  void draw_losses(Random& random);
  void draw_fail_over_faults(Random& random, Time apart);
  [[nodiscard]] Time clocks_apart() const;
  void draw_straddling(Random& random, const Fault& takeover);
  Fault draw_fault(Random& random, std::uint32_t profile) const;
  void draw_target(Random& random, Fault& fault) const;
  void keep_assumptions();
  void keep_fences(Random& random);
};

}  // namespace redlock::sim

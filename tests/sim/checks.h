// SPDX-License-Identifier: MIT
//
// The violations that must never happen. Knows everything: true time, each request, answer and job.
// Its idea of a lease is its own, made of what clients were told, not of src/lock.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lock/session.h"
#include "lock/vote.h"
#include "schedule.h"
#include "server.h"

namespace redlock::sim {

struct Violation {
  const char* check;
  std::string what;
};

/// The end of a lease that is kept free for killing the job, computed without the code under test.
lock::Duration kill_margin(lock::Duration ttl);

class Checks {
 public:
  /// `now`: true time, as it goes on.
  void reset(const Schedule& schedule, const Time& now);
  /// Looks for violations of this check alone.
  void look_only_for(std::string_view check) { only_ = check; }

  /// A client's new process.
  void session_began(std::size_t client, std::uint32_t session, std::size_t servers);
  void asked(std::size_t client, const lock::Ask& ask, lock::Instant now);
  void answered(std::size_t client, const lock::Reply& reply);
  void job_started(std::size_t client, lock::AttemptId attempt, std::uint64_t fence, Token token,
                   Token lock_token);
  void job_gone(std::size_t client);
  [[nodiscard]] bool has_job(std::size_t client) const { return leases_[client].live; }
  /// Whether the client cannot know if the server has its lock. A server that has said that it is
  /// gone may have it again: by a late request, or by another process of the lock.
  [[nodiscard]] bool is_unsure(std::size_t client, std::size_t server) const {
    const Word& word = leases_[client].words[server];
    return word.repairing || word.silent || word.gone;
  }
  [[nodiscard]] Token lock_token(std::size_t client) const { return leases_[client].lock_token; }
  /// The client stops its job: if that is because the lock is lost, it is not kept.
  void stopping(std::size_t client) { holds_[client].until = {}; }
  /// In good order.
  void session_ended(std::size_t client, std::uint32_t session, lock::Outcome::Kind end,
                     bool marked);
  /// Its run failed: what it left keeps others out, or not, as its session says.
  void run_failed(std::size_t client, bool holds, bool is_missing);
  /// It has asked for that: the token is a hold, or becomes one.
  [[nodiscard]] bool leaves_hold(Token token) const {
    return std::ranges::any_of(holds_, [token](const Hold& each) {
      return each.lock_token == token && each.failed > Time{};
    });
  }
  /// The loop has told the session: well, or badly or because it was stopped.
  void job_exited(std::size_t client, bool well);
  /// So it fails, also if its main process had ended well: other processes of the job still live.
  void stops(std::size_t client) { holds_[client].ended_well = false; }
  void paused(std::size_t client) { leases_[client].paused = true; }
  void resumed(std::size_t client);
  /// A server carried out an acquire and granted it.
  void granted(std::size_t server, Token token);
  /// Without a restart that anybody notices: its replica, which is now in its place, has not got
  /// it.
  void forgets(std::size_t server, Token token);
  /// It has it again.
  void remembers(std::size_t server, Token token);
  /// All that a process sent to a server was carried out, and nothing went wrong on the way. The
  /// server has that owner's lock for so long.
  void hung_up(std::size_t client, std::uint32_t session, std::size_t server, Token owner,
               Time left);
  /// A server took the lock from its holder.
  void revoked(Token token) { revoked_.push_back(token); }
  [[nodiscard]] bool was_revoked(Token token) const { return has(revoked_, token); }
  /// One deleted it by force; a quorum has, or has nothing of it.
  void deleted(Token token) { deleted_.push_back(token); }
  void seized(Token token) { seized_.push_back({token, time()}); }

  /// What was started is a ward, which nobody stops.
  void ward_started(std::size_t client) { leases_[client].live = false; }
  /// It has ended by itself.
  void ward_ended(Token token) { abandoned_.push_back(token); }
  /// It was told that the lock was lost.
  void ward_warned(std::size_t client, Token token);
  /// A server, with this memory of it, has carried out its owner's release of the lock. `denied`:
  /// and has said that it was not there, though that can be nobody else's doing than the keeper's.
  void handed_back(std::size_t server, std::uint32_t memory, Token token, bool denied);
  /// A server has put the lock back, or deleted it for its keeper.
  void put_back(std::size_t server, std::uint32_t memory, Token token);
  void kept_deleted(Token token);
  void fail(const char* check, std::string what);
  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }
  [[nodiscard]] std::size_t jobs() const { return grants_.size(); }
  /// Of those, the ones that are not the redlock of the next lock.
  [[nodiscard]] std::size_t commands() const;

 private:
  struct Word {
    bool mine = false;
    bool gone = false;             ///< the server said so last
    bool repairing = false;        ///< it was asked to put the key back, and has not answered
    bool silent = false;           ///< its last answer about the lock was lost
    std::uint32_t renewed_in = 0;  ///< the latest round
    lock::Instant expires{};       ///< zero once the server said otherwise
    lock::Instant best_expires{};  ///< as it was told at best
    lock::AttemptId released = 0;  ///< the latest attempt whose release was asked for
    Time hung_up{};                ///< when the server had carried out all of this process
  };
  struct Lease {
    std::size_t servers = 0;  ///< in the client's list
    std::uint32_t session = 0;
    lock::AttemptId attempt = 0;
    Time began{};  ///< when the attempt first asked
    std::array<Word, kMostServers> words{};
    lock::Instant limit{};  ///< until then a quorum has promised to keep the lock
    /// A grace after enough servers have said that it is gone: no quorum can be left.
    lock::Instant lost_limit = lock::kNever;
    /// Since another has the lock, too, whom servers let in that forgot this one.
    lock::Instant beside_limit = lock::kNever;
    std::uint32_t round = 0;  ///< of renewals
    Time round_began{};
    bool live = false;
    bool paused = false;
    lock::Instant excused_until{};
    Token granted_token = kNoToken;
    Token lock_token = kNoToken;   ///< of the job: the same, or another's that was joined
    std::uint32_t granted_by = 0;  ///< a bit for each server
  };
  /// What a client's last job keeps from others, also when it has ended.
  struct Hold {
    Time until{};
    Time began{};             ///< of the job
    Time failed{};            ///< when it asked for the hold of a run that failed
    bool taken_back = false;  ///< it has asked for the end of that
    bool ended_well = false;
    std::uint32_t session = 0;
    Token lock_token = kNoToken;
    bool lost = false;
    std::array<Time, kMostServers> hung_up{};  ///< see Word
  };
  /// A run that ended well.
  struct Success {
    Time began;
    std::size_t client;
    bool known = false;  ///< to a quorum of servers
  };
  struct HandedBack {
    Token token;
    std::size_t server;
    std::uint32_t memory;
  };
  /// By force, from its holder.
  struct Seized {
    Token token;
    Time at;
  };
  struct Forgotten {
    Token token;
    std::uint32_t servers;  ///< a bit for each
  };
  struct Grant {
    std::uint64_t fence;
    Time started;
    std::size_t client;
    Token lock_token;
  };

  [[nodiscard]] Time time() const { return *now_; }
  [[nodiscard]] static bool has(const std::vector<Token>& tokens, Token token) {
    return std::ranges::find(tokens, token) != tokens.end();
  }
  void begin_attempt(Lease& lease, lock::AttemptId attempt);
  void move_limit(std::size_t client);
  void check_renewed(std::size_t client);
  void count_losses(std::size_t client);
  [[nodiscard]] bool is_deleted(Token token) const { return has(deleted_, token); }
  [[nodiscard]] lock::Instant last_moment(std::size_t client) const;
  [[nodiscard]] bool excused(std::size_t client) const;
  void check_lifetime(std::size_t client);
  void check_overlap(std::size_t client);
  [[nodiscard]] std::uint32_t forgotten_by(Token token) const;
  [[nodiscard]] bool is_forgotten(std::size_t client, std::size_t by) const;
  void check_crowd(std::size_t client);
  void check_cooling(std::size_t client, const lock::Ask& ask, const lock::op::Leave& leave,
                     lock::Instant now);
  void check_holds(std::size_t client);
  void check_left(std::size_t client, std::size_t server, Token owner, Time left);
  void check_once(std::size_t client);
  void check_skip(std::size_t client);
  void check_fence(const Grant& grant, Time began);

  std::string_view only_;
  const Schedule* schedule_ = nullptr;
  const Time* now_ = nullptr;
  lock::Duration lease_length_{};
  lock::Duration margin_{};
  std::array<Clock, kMostClients> clocks_{};
  std::array<Lease, kMostClients> leases_{};
  std::array<Hold, kMostClients> holds_{};
  std::vector<Grant> grants_;
  std::vector<Success> successes_;
  std::vector<Token> revoked_;
  std::vector<Token> deleted_;
  std::vector<Seized> seized_;
  std::vector<Token> abandoned_;  ///< by their wards
  std::vector<HandedBack> handed_back_;
  std::vector<Forgotten> forgotten_;
  std::optional<Violation> violation_;
};

/// The clock of a client's host: the time since boot.
Clock client_clock(const Schedule& schedule, std::size_t client);

}  // namespace redlock::sim

// SPDX-License-Identifier: MIT
#include "checks.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "story.h"

namespace redlock::sim {

using namespace std::chrono_literals;

lock::Duration kill_margin(lock::Duration ttl) {
  return std::clamp<lock::Duration>(ttl / 50, 50ms, 1s);
}

Clock client_clock(const Schedule& schedule, std::size_t client) {
  return {schedule.client[client].rate, 1000s * static_cast<int>(schedule.first_stage(client) + 1)};
}

namespace {

/// Attempts in the order in which they are made, be they to join or not.
lock::AttemptId order(lock::AttemptId attempt) {
  return attempt % lock::kFirstJoin + 1;
}

}  // namespace

void Checks::reset(const Schedule& schedule, const Time& now) {
  const std::string_view only = only_;
  *this = {};
  only_ = only;
  schedule_ = &schedule;
  now_ = &now;
  const lock::Duration ttl = schedule.timing.ttl;
  lease_length_ = ttl - ttl / 100 - 2ms;
  margin_ = kill_margin(ttl);
  for (std::size_t i = 0; i < schedule.clients; ++i) clocks_[i] = client_clock(schedule, i);
}

void Checks::fail(const char* check, std::string what) {
  if (violation_ || (!only_.empty() && only_ != check)) return;
  violation_ = {check, std::move(what)};
}

void Checks::session_began(std::size_t client, std::uint32_t session, std::size_t servers) {
  leases_[client] = {.servers = servers, .session = session};
}

void Checks::begin_attempt(Lease& lease, lock::AttemptId attempt) {
  lease.attempt = attempt;
  lease.limit = {};
  lease.round = 0;
  for (Word& word : lease.words) {
    word.mine = word.gone = word.repairing = word.silent = false;
    word.renewed_in = 0;
    word.expires = word.best_expires = {};
  }
}

void Checks::asked(std::size_t client, const lock::Ask& ask, lock::Instant now) {
  Lease& lease = leases_[client];
  Word& word = lease.words[ask.server];
  if (lock::is_release(ask.op())) {
    word.released = std::max(word.released, order(ask.attempt));
    const auto* leave = ask.as<lock::op::Leave>();
    if (leave != nullptr && leave->cools > Time{}) {
      check_cooling(client, ask, *leave, now);
    } else if (leave != nullptr && !leave->holds) {
      holds_[client].taken_back = true;
    }
    return;
  }
  if (ask.op() == lock::Op::mark || ask.op() == lock::Op::unmark || ask.op() == lock::Op::inquire ||
      ask.op() == lock::Op::leave_queue) {
    return;
  }
  if (ask.op() == lock::Op::acquire && order(ask.attempt) > lease.attempt) {
    begin_attempt(lease, order(ask.attempt));
    lease.began = time();
  }
  if (ask.op() == lock::Op::acquire) word.gone = false;
  if (ask.op() == lock::Op::renew && ask.round != lease.round) {
    lease.round = ask.round;
    lease.round_began = time();
  }
  if (ask.op() != lock::Op::renew && order(ask.attempt) <= word.released) {
    fail("reused", client_name(client) + " asks " + server_name(ask.server) +
                       " for a token after its release");
  }
  if (ask.op() != lock::Op::repair) return;
  word.repairing = true;
  const auto holding = std::count_if(
      lease.words.begin(), lease.words.begin() + static_cast<std::ptrdiff_t>(lease.servers),
      [now, &lease](const Word& each) {
        return each.mine && each.expires > now && each.renewed_in == lease.round;
      });
  if (static_cast<std::size_t>(holding) < lease.servers / 2 + 1 || lease.round == 0) {
    fail("resurrected", client_name(client) + " puts its key back on " + server_name(ask.server) +
                            " although no quorum has renewed it in this round");
  }
}

void Checks::answered(std::size_t client, const lock::Reply& reply) {
  Lease& lease = leases_[client];
  if (reply.ask.op() == lock::Op::leave_queue || order(reply.ask.attempt) != lease.attempt ||
      lock::is_release(reply.ask.op()) || reply.ask.op() == lock::Op::commit ||
      reply.ask.op() == lock::Op::inquire) {
    return;
  }
  Word& word = lease.words[reply.ask.server];
  word.silent = std::holds_alternative<lock::Unreachable>(reply.answer);
  if (word.silent) return;
  const bool granted = std::holds_alternative<lock::Granted>(reply.answer);
  // A repaired key is there and counts for the lease, but is no vote: see lock/running_job.cc.
  const bool repaired = granted && reply.ask.op() == lock::Op::repair;
  if (reply.ask.op() == lock::Op::repair) word.repairing = false;
  const bool renewed = std::holds_alternative<lock::Renewed>(reply.answer);
  if (renewed) word.renewed_in = reply.ask.round;
  word.mine = (granted && !repaired) || renewed;
  word.gone = !word.mine && !repaired;
  if (word.gone) {
    word.expires = {};
    return count_losses(client);
  }
  word.expires = std::max(word.expires, reply.sent + lease_length_);
  word.best_expires = std::max(word.best_expires, word.expires);
  if (renewed) check_renewed(client);
  move_limit(client);
}

/// The quorum-th largest of what the servers promised.
void Checks::move_limit(std::size_t client) {
  Lease& lease = leases_[client];
  std::array<lock::Instant, kMostServers> expiries{};
  const std::size_t n = lease.servers;
  for (std::size_t i = 0; i < n; ++i) expiries[i] = lease.words[i].best_expires;
  // All of them, since g++ 14 takes a part of unknown length for a longer one; the others are the
  // smallest.
  std::ranges::sort(expiries, std::greater<>());
  if (lease.live) check_lifetime(client);
  lease.limit = expiries[n / 2];
}

/// Then the client knows by what it was told that its lock is lost, and stops its job.
void Checks::count_losses(std::size_t client) {
  Lease& lease = leases_[client];
  const auto gone = std::ranges::count(lease.words, true, &Word::gone);
  const std::size_t n = lease.servers;
  if (!lease.live || schedule_->twins || static_cast<std::size_t>(gone) < n - n / 2) return;
  const lock::Instant limit = clocks_[client].now(time()) + schedule_->timing.grace + margin_;
  lease.lost_limit = std::min(lease.lost_limit, limit);
}

/// The next renewal of a lock that was deleted by force on a quorum is to tell its holder.
void Checks::check_renewed(std::size_t client) {
  const Lease& lease = leases_[client];
  if (!lease.live || !schedule_->seizures_are_kept) return;
  const auto renewed = std::ranges::count(lease.words, lease.round, &Word::renewed_in);
  if (static_cast<std::size_t>(renewed) <= lease.servers / 2) return;
  for (const Seized& each : seized_) {
    if (each.token != lease.lock_token || each.at >= lease.round_began) continue;
    fail("seized", client_name(client) + " renews a lock that was deleted by force");
  }
}

/// Whose lock was deleted by force on a quorum can renew it nowhere near a quorum any more: what it
/// was promised before is what it has left.
lock::Instant Checks::last_moment(std::size_t client) const {
  const Lease& lease = leases_[client];
  lock::Instant last = std::min({lease.limit, lease.lost_limit, lease.beside_limit});
  if (!schedule_->seizures_are_kept) return last;
  for (const Seized& each : seized_) {
    if (each.token != lease.lock_token) continue;
    last = std::min(last, clocks_[client].now(each.at) + lease_length_);
  }
  return last;
}

/// A client that was stopped over the moment of the KILL could not send it. It gets the time to.
bool Checks::excused(std::size_t client) const {
  const Lease& lease = leases_[client];
  const lock::Instant now = clocks_[client].now(time());
  return (lease.paused && now >= last_moment(client) - margin_) || now <= lease.excused_until;
}

void Checks::resumed(std::size_t client) {
  Lease& lease = leases_[client];
  if (lease.live && excused(client)) lease.excused_until = clocks_[client].now(time()) + margin_;
  lease.paused = false;
}

void Checks::check_lifetime(std::size_t client) {
  const lock::Instant now = clocks_[client].now(time());
  if (excused(client)) return;
  if (now > leases_[client].limit) {
    fail("outlived", client_name(client) + "'s job lives after the end of its lease");
  } else if (now > leases_[client].lost_limit) {
    fail("unstopped", client_name(client) + "'s job lives a grace after its lock was lost");
  } else if (now > leases_[client].beside_limit) {
    fail("beside", client_name(client) + "'s job lives beside another for longer than a lease");
  } else if (now > last_moment(client)) {
    fail("seized", client_name(client) + "'s job lives although its lock was deleted by force");
  }
}

void Checks::job_gone(std::size_t client) {
  if (leases_[client].live) check_lifetime(client);
  leases_[client].live = false;
}

void Checks::job_started(std::size_t client, lock::AttemptId attempt, std::uint64_t fence,
                         Token token, Token lock_token) {
  Lease& lease = leases_[client];
  lease.lock_token = lock_token;
  // A job may be started when its lock has just been deleted by force, beside that of the next.
  const bool alone = !is_deleted(lock_token);
  if (schedule_->assumptions_hold && alone) check_overlap(client);
  if (schedule_->assumptions_hold && alone) check_crowd(client);
  if (schedule_->holds_are_kept && alone) check_holds(client);
  const bool votes_are_its = lease.granted_token == token;
  const int votes = votes_are_its ? std::popcount(lease.granted_by) : 0;
  // Two addresses of one server. It is not known for one if it restarts between its two votes, and
  // no grace after a restart makes up for that.
  const std::size_t twins = !schedule_->twins ? 0U : schedule_->restart_grace == 0s ? 2U : 1U;
  const std::size_t real = lease.servers - twins;
  if (lease.attempt != order(attempt) ||
      static_cast<std::size_t>(votes) < std::min(real, lease.servers / 2 + 1)) {
    fail("quorum",
         client_name(client) + " starts its job with " + std::to_string(votes) + " votes");
  }
  const Grant grant{fence, time(), client, lock_token};
  check_fence(grant, lease.began);
  grants_.push_back(grant);
  lease.live = true;
  lease.excused_until = {};
  lease.lost_limit = lease.beside_limit = lock::kNever;
  // A server counts the life of the key from when it was asked for, by its own clock.
  const Time hold = schedule_->client[client].min_hold;
  const Time until = lease.began + hold - hold / 100 - 2ms;
  // Who has the lock deleted under it does not see what the next one does.
  if (schedule_->marks_are_kept && !schedule_->seized) check_once(client);
  holds_[client] = {
      .until = until, .began = time(), .session = session_of(token), .lock_token = lock_token};
}

/// Only a job's end may ask for it, and for no more than is left; or its failure for a hold.
void Checks::check_cooling(std::size_t client, const lock::Ask& ask, const lock::op::Leave& leave,
                           lock::Instant now) {
  Hold& hold = holds_[client];
  const ClientHost& host = schedule_->client[client];
  lock::Instant end = clocks_[client].now(hold.began) + host.min_hold;
  if (leave.holds && !hold.ended_well) {
    end = std::max(end, now + host.hold_on_failure);
    if (hold.failed == Time{}) hold.failed = time();
  }
  if (leases_[client].attempt == order(ask.attempt) && now + leave.cools <= end) return;
  fail("overdone", client_name(client) + " keeps the lock too long");
}

/// A lost lock is not kept.
void Checks::session_ended(std::size_t client, std::uint32_t session, lock::Outcome::Kind end,
                           bool marked) {
  using Kind = lock::Outcome::Kind;
  if (end == Kind::done) check_skip(client);
  Hold& hold = holds_[client];
  if (hold.session != session) return;
  if (end == Kind::lost) {
    hold.until = {};
    hold.lost = true;
  }
  const bool once = schedule_->client[client].once > Time{};
  if (end != Kind::job_ended || !hold.ended_well || !marked || !once) return;
  for (Success& success : successes_) {
    if (success.client == client && success.began == hold.began) success.known = true;
  }
}

/// From the first request on, as far as a quorum has said that it holds.
void Checks::run_failed(std::size_t client, bool holds, bool is_missing) {
  Hold& hold = holds_[client];
  if (holds == is_missing) {
    fail("unheld", client_name(client) + "'s run failed, and it says nothing of the hold");
  }
  if (!holds) return;
  const Time length = schedule_->client[client].hold_on_failure;
  hold.until = std::max(hold.until, hold.failed + length - length / 50 - 2ms);
  if (!schedule_->holds_are_kept || was_revoked(hold.lock_token)) return;
  for (const Grant& each : grants_) {
    if (each.started <= hold.failed || each.lock_token == hold.lock_token) continue;
    fail("cut_short", client_name(each.client) + "'s job starts between " + client_name(client) +
                          "'s failure and its hold");
  }
}

void Checks::job_exited(std::size_t client, bool well) {
  holds_[client].ended_well = well;
  if (well) successes_.push_back({holds_[client].began, client});
}

void Checks::granted(std::size_t server, Token token) {
  const std::uint32_t client = client_of(token);
  Lease& lease = leases_[client];
  // In the order of attempts: own_token() marks those that join.
  const auto rank = [](Token each) {
    return each == kNoToken ? each : each & 0xffffffffU & ~0x4000U;
  };
  if (rank(token) < rank(lease.granted_token)) return;
  if (token != lease.granted_token) lease.granted_by = 0;
  lease.granted_token = token;
  lease.granted_by |= 1U << server;
}

void Checks::hung_up(std::size_t client, std::uint32_t session, std::size_t server, Token owner,
                     Time left) {
  if (leases_[client].session == session) leases_[client].words[server].hung_up = time();
  if (holds_[client].session == session) holds_[client].hung_up[server] = time();
  check_left(client, server, owner, left);
  if (owner == kNoToken || owner == kForeignType || client_of(owner) != client) return;
  if (session_of(owner) != session) return;
  for (std::size_t i = 0; i < schedule_->clients; ++i) {
    if (schedule_->client[i].inside == client) return;  // those inside its job may hold it still
  }
  const Hold& hold = holds_[client];
  const bool may_cool = hold.session > session || (hold.session == session && !hold.lost);
  const bool may_hold = hold.session > session || (hold.failed > Time{} && !hold.taken_back);
  const bool holds = schedule_->client[client].hold_on_failure > Time{} && !is_cooling(owner);
  if (holds && may_hold) return;
  if (is_cooling(owner) && may_cool && schedule_->client[client].min_hold > Time{}) return;
  fail("left", client_name(client) + " leaves " + token_text(owner) + " on " + server_name(server));
}

/// The hold of a run that failed ends as its first process asked for, also if another process of
/// the job ends later.
void Checks::check_left(std::size_t client, std::size_t server, Token owner, Time left) {
  const auto outer = schedule_->client[client].inside;
  if (!outer || owner == kNoToken || owner == kForeignType || client_of(owner) != *outer) return;
  const Hold& hold = holds_[*outer];
  const Time inner_gone = leases_[client].words[server].hung_up;
  const Time outer_gone = hold.hung_up[server];
  const bool over = inner_gone > Time{} && outer_gone > Time{};
  if (!over || session_of(owner) != hold.session || hold.failed == Time{} || hold.taken_back)
    return;
  const ClientHost& host = schedule_->client[*outer];
  const Time ends = std::max(outer_gone + host.hold_on_failure, hold.began + host.min_hold);
  const Time most = (ends - outer_gone) * 51 / 50 + 10ms + schedule_->longest_step_back;
  if (left <= outer_gone + most - time() || !schedule_->holds_are_kept) return;
  fail("outlasts", server_name(server) + " has " + token_text(owner) + " for longer than its hold");
}

/// Where nothing goes wrong but that, a release is never taken for a loss.
void Checks::ward_warned(std::size_t client, Token token) {
  const auto servers = std::ranges::count(handed_back_, token, &HandedBack::token);
  const bool explained = static_cast<std::size_t>(servers) * 2 > leases_[client].servers - 1;
  if (!explained || schedule_->troubled) return;
  fail("mistaken", client_name(client) + " takes it for a loss that its lock was released");
}

void Checks::handed_back(std::size_t server, std::uint32_t memory, Token token, bool denied) {
  const auto known = [&](const HandedBack& each) {
    return each.token == token && each.server == server;
  };
  const bool again = std::ranges::any_of(handed_back_, known);
  if (denied && !again && !has(abandoned_, token) && !schedule_->seized &&
      schedule_->assumptions_hold) {
    fail("denied", server_name(server) + " has nothing of " + token_text(token) + " to release");
  }
  handed_back_.push_back({token, server, memory});
}

void Checks::put_back(std::size_t server, std::uint32_t memory, Token token) {
  for (const HandedBack& each : handed_back_) {
    if (each.token != token || each.server != server || each.memory != memory) continue;
    fail("put_back", server_name(server) + " has " + token_text(token) + " again");
  }
}

void Checks::kept_deleted(Token token) {
  if (std::ranges::find(handed_back_, token, &HandedBack::token) != handed_back_.end()) return;
  fail("freed", token_text(token) + " is released, and its ward lives");
}

}  // namespace redlock::sim

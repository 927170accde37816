// SPDX-License-Identifier: MIT
#include "lock/keeping.h"

#include <csignal>
#include <variant>

namespace redlock::lock {

Keeping::Keeping(Session& session, std::size_t servers, const Log& won)
    : session_(session), won_(won), inquired_(servers), leaving_(servers) {}

Effects Keeping::step(const Event& event, Instant now) {
  if (std::holds_alternative<JobStarted>(event)) {
    began_ = now;
    sift(session_.step(event, now), now);
    effects_.emplace_back(won_);
  } else if (std::holds_alternative<JobExited>(event)) {
    if (!giving_back_ && !over_) give_back(now);
  } else if (const auto* signal = std::get_if<Signal>(&event)) {
    if (signal->ends_waiting && !giving_back_ && !over_) take_signal(now);
  } else if (const auto* notice = std::get_if<Notice>(&event);
             notice != nullptr && notice->released) {
    if (!giving_back_ && !over_) inquire(Whom::all);
  } else {
    pass_event(event, now);
  }
  return std::exchange(effects_, {});
}

void Keeping::pass_event(const Event& event, Instant now) {
  const auto* reply = std::get_if<Reply>(&event);
  if (reply != nullptr) take_reply(*reply, now);
  const bool renews = ending_ && !giving_back_ && std::holds_alternative<Tick>(event);
  const bool for_us = reply != nullptr && reply->ask.op() == Op::inquire;
  if (!renews && !for_us) sift(session_.step(event, now), now);
  if (giving_back_ || over_) return;
  if (ending_ && now >= session_.worker_state().valid_until) return end(now);
  if (overdue_ && !inquires()) obey(now);
}

/// A host that shuts down, or a CI server that ends a build, signals all processes and may reach us
/// before the ward. If the ward ends before the lease does, we can still release the lock. At a
/// logout, logind sends TERM and immediately HUP: what comes within a second is one order.
void Keeping::take_signal(Instant now) {
  if (!ending_) {
    ending_ = now;
    warns_ = true;
  } else if (now - *ending_ >= std::chrono::seconds(1)) {
    end(now);
  }
}

/// A session would go on sending KILL to its job. A ward lives on: first we wait for the answers to
/// our inquiries, then for the ward.
Instant Keeping::deadline() const {
  if (session_.finished()) return kNever;
  if (giving_back_) return session_.deadline();
  if (ending_) return session_.worker_state().valid_until;
  if (!overdue_) return session_.deadline();
  return inquires() ? kNever : session_.worker_state().valid_until;
}

/// Our requests and the release by the owner may cross on their way to a server. Our leaves arrive
/// after all our other requests, unless their connections end first.
bool Keeping::finished() const {
  if (over_) return true;
  const bool leaves = std::ranges::count(leaving_, true) > 0;
  return session_.finished() && !inquires() && !(released_ && leaves);
}

void Keeping::sift(Effects effects, Instant now) {
  for (Effect& effect : effects) {
    if (auto* ask = std::get_if<Ask>(&effect)) {
      if (auto* const leave = std::get_if<op::Leave>(&ask->operation)) leave->for_owner = released_;
      if (is_release(ask->op())) {
        leaving_[ask->server] = true;
      }
      effects_.push_back(std::move(effect));
    } else if (std::holds_alternative<Subscribe>(effect)) {
      effects_.push_back(effect);
    } else if (const auto* line = std::get_if<Log>(&effect)) {
      take_log(*line);
    } else if (const auto* kill = std::get_if<Kill>(&effect)) {
      take_order(kill->signal, now);
    } else if (const auto* report = std::get_if<Report>(&effect)) {
      const auto* stopping = std::get_if<report::Stopping>(report);
      if (stopping == nullptr) continue;
      reason_ = stopping->reason;
      complaints_ = stopping->complaints;
    }
  }
}

/// The acquisition has been logged at the start. If the owner released the lock, the owner logs the
/// end. The ward, which the session takes for a job, has no exit status here.
void Keeping::take_log(const Log& line) {
  if (line.event == Log::Event::acquired || released_) return;
  Log ours = line;
  ours.status.reset();
  if (ours.event != Log::Event::lost) {
    effects_.emplace_back(ours);
  } else if (reason_) {
    say_lost(ours);
  } else {
    unsaid_ = ours;
    inquire(Whom::all);
  }
}

/// If renewals fail, the ward needs every moment, so we warn it immediately. But if the lock is
/// gone, or has expired while we were stopped, its owner may have released it: we inquire first.
void Keeping::take_order(int signal, Instant now) {
  if (giving_back_ || over_) return;
  const bool first = !std::exchange(ordered_, true);
  overdue_ = overdue_ || signal == SIGKILL;
  if (first && (reason_ == StopReason::lost || overdue_)) inquire(Whom::reachable);
  if (!inquires()) obey(now);
}

void Keeping::take_reply(const Reply& reply, Instant now) {
  const bool released = std::holds_alternative<Released>(reply.answer);
  if (reply.ask.op() == Op::inquire) {
    inquired_[reply.ask.server] = false;
    take_note(released, now);
  } else if (reply.ask.op() == Op::repair && released) {
    take_note(true, now);
  } else if (is_release(reply.ask.op())) {
    leaving_[reply.ask.server] = false;
  }
}

/// One server with a note of the release is enough: no other process knows the token.
void Keeping::take_note(bool released, Instant now) {
  if (over_) return;
  if (released && !std::exchange(released_, true)) {
    unsaid_.reset();
    inquired_.assign(inquired_.size(), false);
    if (!giving_back_) give_back(now);
  }
  if (released_ || inquires()) return;
  if (unsaid_) effects_.emplace_back(*std::exchange(unsaid_, std::nullopt));
  if (ordered_ && !giving_back_) obey(now);
}

/// A server that has not answered for long would only delay the warning.
void Keeping::inquire(Whom whom) {
  for (ServerIndex server = 0; server < inquired_.size(); ++server) {
    if (inquired_[server] || (whom == Whom::reachable && is_unreachable(server))) continue;
    inquired_[server] = true;
    effects_.emplace_back(
        Ask{.server = server, .attempt = won_.attempt, .operation = op::Inquire{}});
  }
}

/// A lost or revoked lock leaves something on the servers until its lease ends, and other processes
/// wait for that. If the ward ends sooner, so does the lock.
void Keeping::obey(Instant now) {
  warns_ = true;
  if (!overdue_) return;
  if (reason_ != StopReason::lost || now >= session_.worker_state().valid_until) return end(now);
  say_lost(lost_line(now));
}

void Keeping::end(Instant now) {
  warns_ = over_ = true;
  if (reason_) say_lost(lost_line(now));
}

Log Keeping::lost_line(Instant now) const {
  Log line = won_;
  line.event = Log::Event::lost;
  line.held = now - began_;
  line.stopped = reason_;
  return line;
}

/// Tells the session that its job is over. We stop waiting for answers to inquiries: a leave
/// replaces an inquiry that is not sent yet.
void Keeping::give_back(Instant now) {
  giving_back_ = true;
  inquired_.assign(inquired_.size(), false);
  sift(session_.step(JobExited{0}, now), now);
  if (session_.watching_tree()) sift(session_.step(JobTreeGone{}, now), now);
}

bool Keeping::is_unreachable(ServerIndex server) const {
  return std::ranges::any_of(complaints_, [server](const Complaint& complaint) {
    return complaint.server == server && std::holds_alternative<Unreachable>(complaint.answer);
  });
}

}  // namespace redlock::lock

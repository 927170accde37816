// SPDX-License-Identifier: MIT
//
// The loop of every command that has a lock, or may get one. It turns whatever happens into an
// event for a state machine of lock/, and performs the effects that the machine returns. An
// iteration has one order:
//
//   wait      for a server, a signal, the host's descriptor, or a deadline; the clock is read once
//   Tick      overdue deadlines come before everything else
//   signals   then the host polls its job or its ward
//   replies   of the servers, then notices and wake-ups
//
// Absent on purpose: the supervisor of a job (run/supervisor.h), which has no session.
#pragma once

#include <exception>

#include "diag/reporter.h"
#include "error.h"
#include "lock/drive.h"
#include "lock/session.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "records/records.h"
#include "redis/servers/server_set.h"

namespace redlock::driver {

/// What a command adds to the loop. Its functions throw only if a system call fails.
class Host {
 public:
  /// True: the host has performed it, and has handed an event that followed to Driver::step().
  /// False: the driver performs it, if it concerns the servers.
  virtual bool perform(const lock::Effect&, lock::Instant) { return false; }

  /// The machine has taken an event, and none of its effects is performed yet.
  virtual void stepped() {}

  /// What ends the wait, besides servers and signals.
  [[nodiscard]] virtual os::Interest watch() const { return {}; }
  [[nodiscard]] virtual lock::Instant deadline() const { return lock::kNever; }

  /// Is not called for SIGCHLD. False: the driver hands the signal to the machine.
  virtual bool take_signal(const lock::Signal&, lock::Instant) { return false; }

  /// The host polls its job or its ward. `woken`: by a signal, or the descriptor of watch().
  virtual void poll_process(bool /*woken*/, lock::Instant) {}

  virtual void heard(const lock::Reply&) {}

  /// All signals, replies and notices of this iteration have been handed on.
  virtual void iterated(lock::Instant) {}

  /// True: if the wait fails, the loop goes on, and tries every descriptor.
  [[nodiscard]] virtual bool tolerates_failures() const { return false; }

 protected:
  ~Host() = default;
};

class Driver final : private lock::Performer {
 public:
  struct Voices {
    diag::Reporter* reporter = nullptr;    ///< reports what the servers answer; may be null
    const records::Holder* who = nullptr;  ///< for the servers' log; null: this writes no log
    bool only_waits = false;  ///< another process, or the host, logs what happens with the lock
  };

  Driver(lock::Machine& machine, Host& host, redis::ServerSet& servers, os::SignalSource& signals,
         Voices voices, os::Loop loop = {});
  /// For a forked child, in the middle of an effect of `parents`: goes on with the same machine,
  /// and first hands it the replies that `parents` has read and not handed on.
  Driver(Driver& parents, Host& host, os::Loop loop);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Until the machine has finished, or stop().
  void run();

  /// Once the machine has finished, only the host gets replies.
  void iterate();

  /// Takes an event, and all events that follow from it. If an effect took seconds, the event that
  /// follows from it is of now(), not of the moment at which the effect began.
  void step(lock::Event event, lock::Instant now) { drive_.step(std::move(event), now); }

  /// Another process continues the machine: this driver hands it no more events.
  void stop() { stopped_ = true; }

  /// For a host in the middle of an effect: blocks until one of these is ready, or the deadline.
  void await(std::span<os::Interest> interests, lock::Instant deadline);

  /// Reads a message from a pipe or socket that does not block. A result below `size`: its other
  /// end is closed. Negative: no message came by `limit`.
  ssize_t await_message(const os::Fd& from, void* message, std::size_t size, lock::Instant limit);

  /// Sends requests and reads replies until `done` or the limit. Only the host gets the replies.
  void finish_requests(const std::function<bool()>& done, lock::Instant limit);

  /// The clock jumps ahead by `length`, in addition to earlier jumps.
  void jump(lock::Duration length) { ahead_ += length; }
  [[nodiscard]] lock::Instant now() const;

  [[nodiscard]] os::Loop& loop() { return loop_; }

  [[nodiscard]] redis::ServerSet& servers() { return servers_; }

 private:
  void perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override { host_.stepped(); }
  void wait();
  void take_signals(lock::Instant now);
  void take_replies(lock::Instant now);
  void hand_on_replies(lock::Instant now);
  void take_messages(lock::Instant now);
  void log(const lock::Log& line, lock::Instant now);
  void note_giving_up(const lock::Report& report, const records::Holder& who);
  void replace(const lock::Replace& order, lock::Instant now);
  [[nodiscard]] bool over() const { return stopped_ || drive_.machine().finished(); }

  struct GivenUp {
    std::string host;
    std::string data;
  };

  lock::Drive drive_;
  Host& host_;
  redis::ServerSet& servers_;
  os::SignalSource& signals_;
  Voices voices_;
  os::Loop loop_;
  std::vector<os::Interest> interests_;
  std::deque<lock::Reply> replies_;     ///< of this iteration, not handed on yet
  std::vector<redis::Notice> notices_;  ///< of this iteration
  std::optional<GivenUp> given_up_;
  lock::Duration ahead_{};
  bool stopped_ = false;
};

struct ChosenStatus {
  int conflict;  ///< somebody else holds the lock
  int done;      ///< --once: somebody has run already
};

/// The answer to lock::Spawn if a system call fails that the job needs.
inline constexpr lock::JobFailedToStart kSystemFailed{static_cast<int>(ExitStatus::os_error)};

/// How redlock ends when a session has this outcome.
Exit exit_of(const lock::Outcome& outcome, ChosenStatus chosen);

/// Releases the lock after a system call has failed (no descriptor, no process). Our job must
/// be dead, or not started. The exception interrupted a step of the session, so this asks the
/// connections instead: each knows which requests it has sent. Makes three attempts of at most
/// `patience` each. True: no server holds anything for us.
bool give_back(Driver& driver, lock::Duration patience) noexcept;

/// The same, and warns if it may have left the lock with this name on a server.
void give_back(Driver& driver, const lock::Plan& plan, const std::string& name,
               os::Stderr& out) noexcept;

const char* reason_of(const std::exception& error) noexcept;

}  // namespace redlock::driver

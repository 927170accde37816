// SPDX-License-Identifier: MIT
//
// The loop of every command that has a lock, or may get one: what happens becomes an event for a
// state machine of lock/, and what that wants done is carried out. A turn has one order:
//
//   wait      for a server, a signal, what the host watches, or a deadline; time is read once
//   Tick      overdue deadlines come before everything else
//   signals   and what the host looks after: its job, its ward
//   replies   of the servers, then their messages
//
// Absent on purpose: the supervisor of a job (run/supervisor.h) and the sandbox, which have no
// session.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "diag/reporter.h"
#include "lock/drive.h"
#include "os/loop.h"
#include "os/signals.h"
#include "records/holder.h"
#include "redis/server_set.h"

namespace redlock::driver {

/// What a command adds to the loop. It must not throw, unless the machine fails under us.
class Host {
 public:
  /// True: done. What is not and is for the servers, the driver does. What follows from it at once
  /// goes to Driver::step().
  virtual bool perform(const lock::Effect& effect, lock::Instant now) = 0;

  /// As lock::Performer's.
  virtual void stepped() {}

  /// A descriptor that ends the wait, and a moment that does.
  [[nodiscard]] virtual os::Interest watch() const { return {}; }
  [[nodiscard]] virtual lock::Instant deadline() const { return lock::kNever; }

  /// Not SIGCHLD. False: it goes to the machine.
  virtual bool take_signal(const lock::Signal&, lock::Instant) { return false; }

  /// Looks after what is its own. `woken`: a signal has come, or the descriptor is ready.
  virtual void look(bool /*woken*/, lock::Instant) {}

  virtual void heard(const lock::Reply&) {}

  /// Everything of this turn has been taken.
  virtual void turned(lock::Instant) {}

  /// What the system refuses while we wait is no reason to end: everything is looked at instead.
  [[nodiscard]] virtual bool bears_refusals() const { return false; }

 protected:
  ~Host() = default;
};

class Driver : private lock::Performer {
 public:
  /// What is said of what the servers say, and who we are for their logs. Null: nothing is.
  struct Voices {
    diag::Reporter* reporter = nullptr;
    const records::Holder* who = nullptr;
  };

  Driver(lock::Machine& machine, Host& host, redis::ServerSet& servers, os::SignalSource& signals,
         Voices voices, os::Loop loop = {});
  virtual ~Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Until the machine has finished, or stop().
  void run();

  /// One turn. Once the machine has finished, replies go to the host alone.
  void turn();

  /// As lock::Drive's.
  void step(lock::Event event, lock::Instant now) { drive_.step(std::move(event), now); }

  /// The machine is somebody else's from now on: nothing more is handed to it.
  void stop() { stopped_ = true; }

  /// For a host in the middle of an effect: blocks until one of these is ready, or the deadline.
  void await(std::span<os::Interest> interests, lock::Instant deadline);

  /// Moves the servers on until `done` or the limit. Replies go to the host alone.
  void finish_requests(const std::function<bool()>& done, lock::Instant limit);

  /// At the end of a process: sees to it that the servers read what they were asked last. A server
  /// that finds nobody there for an earlier answer reads nothing more of a Unix socket. At most
  /// 200 ms, and only where a server is in the middle of its answers: one that stands still has
  /// everything in its socket, and reads that at once when it goes on.
  void part();

  /// The clock jumps, once or more, by so much.
  void jump(lock::Duration length) { ahead_ += length; }
  [[nodiscard]] lock::Instant now() const;

  /// What it waits with. A forked child needs one of its own.
  [[nodiscard]] os::Loop& loop() { return loop_; }
  void change_loop(os::Loop loop) { loop_ = std::move(loop); }

  [[nodiscard]] redis::ServerSet& servers() { return servers_; }

 private:
  void perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override { host_.stepped(); }
  void wait();
  void take_signals(lock::Instant now);
  void take_replies(lock::Instant now);
  void take_messages(lock::Instant now);
  void log(const lock::Log& line, lock::Instant now);
  [[nodiscard]] bool over() const { return stopped_ || drive_.machine().finished(); }

  lock::Drive drive_;
  Host& host_;
  redis::ServerSet& servers_;
  os::SignalSource& signals_;
  Voices voices_;
  os::Loop loop_;
  std::vector<os::Interest> interests_;
  lock::Duration ahead_{};
  bool stopped_ = false;
};

}  // namespace redlock::driver

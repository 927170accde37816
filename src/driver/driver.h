// SPDX-License-Identifier: MIT
//
// The loop of every command that has a lock, or may get one. It turns whatever happens into an
// event for a state machine of lock/, and carries out the effects that the machine returns. A turn
// has one order:
//
//   wait      for a server, a signal, the host's descriptor, or a deadline; the clock is read once
//   Tick      overdue deadlines come before everything else
//   signals   and the host's own business: its job, its ward
//   replies   of the servers, then notices and wake-ups
//
// Absent on purpose: the supervisor of a job (run/supervisor.h) and the sandbox. They have no
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
#include "redis/servers/server_set.h"

namespace redlock::driver {

/// What a command adds to the loop. Its functions throw only if the system refuses something.
class Host {
 public:
  /// True: the host has performed it. Otherwise the driver performs it, if it concerns the servers.
  /// The host hands an event that follows at once to Driver::step().
  virtual bool perform(const lock::Effect& effect, lock::Instant now) = 0;

  /// As lock::Performer's.
  virtual void stepped() {}

  /// A descriptor that ends the wait, and a moment that does.
  [[nodiscard]] virtual os::Interest watch() const { return {}; }
  [[nodiscard]] virtual lock::Instant deadline() const { return lock::kNever; }

  /// Is not called for SIGCHLD. False: the driver hands the signal to the machine.
  virtual bool take_signal(const lock::Signal&, lock::Instant) { return false; }

  /// The host looks after its job or its ward. `woken`: a signal has come, or the descriptor of
  /// watch() is ready.
  virtual void look(bool /*woken*/, lock::Instant) {}

  virtual void heard(const lock::Reply&) {}

  /// All signals, replies and notices of this turn have been handed on.
  virtual void turned(lock::Instant) {}

  /// True: if the system refuses the wait, the loop does not end, but looks at every descriptor.
  [[nodiscard]] virtual bool bears_refusals() const { return false; }

 protected:
  ~Host() = default;
};

class Driver : private lock::Performer {
 public:
  /// `reporter` reports what the servers answer; `who` stands in the lines for their logs. Null: no
  /// reports, no lines.
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

  /// One turn. Once the machine has finished, only the host gets replies.
  void turn();

  /// As lock::Drive's. An effect may have taken seconds to carry out: then the event that follows
  /// from it is of now(), not of the moment at which the effect began.
  void step(lock::Event event, lock::Instant now) { drive_.step(std::move(event), now); }

  /// Another process continues the machine from now on: this driver hands it no more events.
  void stop() { stopped_ = true; }

  /// For a host in the middle of an effect: blocks until one of these is ready, or the deadline.
  void await(std::span<os::Interest> interests, lock::Instant deadline);

  /// Sends requests and reads replies until `done` or the limit. Only the host gets the replies.
  void finish_requests(const std::function<bool()>& done, lock::Instant limit);

  /// At the end of a process: waits until the servers have read the last requests. A server that
  /// cannot deliver an earlier answer reads nothing more from a Unix socket. Waits at most as
  /// long as a server may take for an answer, and only for servers that are in the middle of their
  /// answers: a server that is stopped has every request in its socket, and reads them at once when
  /// it goes on.
  void part();

  /// The clock jumps ahead by `length`, in addition to earlier jumps.
  void jump(lock::Duration length) { ahead_ += length; }
  [[nodiscard]] lock::Instant now() const;

  /// The loop that it waits with. A forked child needs one of its own.
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

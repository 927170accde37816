// SPDX-License-Identifier: MIT
//
// What may happen to a state machine, and how events and effects go round: in the same order in
// every command and in the simulator.
#pragma once

#include <algorithm>
#include <deque>
#include <variant>

#include "lock/effect.h"

namespace redlock::lock {

struct Tick {};
/// The job runs. Answers Spawn.
struct JobStarted {};
/// Answers Spawn: Spawn::latest had passed.
struct JobTooLate {};
/// Answers Spawn: the command cannot be run; `status` is redlock's exit status for it.
struct JobFailedToStart {
  int status;
};
/// The job's main process is dead. `status`: its exit status, 128 + n for signal n.
struct JobExited {
  int status;
  JobEnd end = JobEnd::by_itself;
};
/// The whole job is dead, with every descendant. Expected only while Session::watching_tree().
struct JobTreeGone {};
/// Answers Kill{SIGKILL}. `found_new`: the KILL reached a process that no KILL had reached before.
struct Killed {
  bool found_new;
};
/// Answers Measure: how long it takes from a KILL until all processes of the job are dead.
struct KillCost {
  Duration length;
};
/// redlock itself received a signal while it has no job.
struct Signal {
  int number;
  bool ends_waiting;  ///< its default action ends a process
};
/// The supervisor is dead: no process waits for the job any more.
struct SupervisorGone {
  /// It had been told to end the job: the stage before (lock/stages.h) has probably killed it.
  bool ordered = false;
};

/// A notice about our lock has come, or may have been sent before we subscribed. It decides
/// nothing: a renewal shows what is true.
struct Notice {
  bool released = false;  ///< the owner of a kept lock released it; only Keeping uses this
};

/// A server says when the lock may be ours. It decides nothing: a round shows what is true.
struct Woken {
  /// Zero: it is our turn. Otherwise another waiter has its turn until then, or the lock cools.
  Duration in{};
};
/// From now on we hear this server's wake-ups. One may have been sent before.
struct Subscribed {
  ServerIndex server;
};

using Event =
    std::variant<Tick, Reply, JobStarted, JobTooLate, JobFailedToStart, JobExited, JobTreeGone,
                 Killed, KillCost, Signal, SupervisorGone, Notice, Woken, Subscribed>;

/// A pure state machine: events in, effects out.
class Machine {
 public:
  /// Takes one event at `now`; instants never go back from step to step.
  virtual Effects step(const Event& event, Instant now) = 0;

  /// When step(Tick) is due at the latest.
  [[nodiscard]] virtual Instant deadline() const = 0;

  [[nodiscard]] virtual bool finished() const = 0;

 protected:
  ~Machine() = default;
};

class Performer {
 public:
  /// An event that follows immediately (the job has started) also goes to Drive::step().
  virtual void perform(const Effect& effect, Instant now) = 0;

  /// The machine has taken an event, and none of its effects is carried out yet.
  virtual void stepped() {}

 protected:
  ~Performer() = default;
};

/// Hands a machine one event after the other: an event that follows from an effect waits until all
/// effects of the earlier event are carried out, signals to the job first: nothing delays them.
class Drive {
 public:
  Drive(Machine& machine, Performer& performer) : machine_(&machine), performer_(&performer) {}

  /// Takes an event, and all events that follow from it. While an effect is carried out, this only
  /// queues the event. Instants never go back: an event may be taken later than `now`. If an effect
  /// has thrown, the Drive must not be used any more.
  void step(Event event, Instant now) {
    events_.push_back({std::move(event), now});
    if (events_.size() > 1) return;
    for (; !events_.empty(); events_.pop_front()) {
      latest_ = std::max(latest_, events_.front().at);
      Effects effects = machine_->step(events_.front().event, latest_);
      performer_->stepped();
      std::stable_partition(effects.begin(), effects.end(), [](const Effect& effect) {
        return std::holds_alternative<Kill>(effect);
      });
      for (const Effect& effect : effects) performer_->perform(effect, latest_);
    }
  }

  /// Of the last event; that of the epoch if there was none.
  [[nodiscard]] Instant latest() const { return latest_; }

  void change_machine(Machine& machine) { machine_ = &machine; }

  [[nodiscard]] Machine& machine() const { return *machine_; }

 private:
  struct Queued {
    Event event;
    Instant at;
  };

  Machine* machine_;
  Performer* performer_;
  std::deque<Queued> events_;  ///< the event that the machine is taking, and those that follow
  Instant latest_{};
};

}  // namespace redlock::lock

// SPDX-License-Identifier: MIT
//
// How events and effects go round. Every command and the simulator use this, so that the simulator
// does things in exactly the order in which a command does them.
#pragma once

#include <deque>

#include "lock/effect.h"
#include "lock/event.h"
#include "lock/time.h"

namespace redlock::lock {

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

/// Carries out the effects of a machine.
class Performer {
 public:
  /// An event that follows at once (the job has started) also goes to Drive::step().
  virtual void perform(const Effect& effect, Instant now) = 0;

  /// The machine has taken an event, and none of its effects is carried out yet.
  virtual void stepped() {}

 protected:
  ~Performer() = default;
};

/// Hands a machine one event after the other. All effects of an event are carried out before the
/// machine takes the next event: an event that follows from an effect waits in a queue. Signals to
/// the job come first among the effects of an event: nothing delays them.
class Drive {
 public:
  Drive(Machine& machine, Performer& performer) : machine_(&machine), performer_(&performer) {}

  /// Takes an event, and all events that follow from it. While an effect is carried out, this
  /// function only queues the event. If the event before it was later than `now`, the machine takes
  /// this one at that instant, too. If an effect has thrown, the Drive must not be used any more.
  void step(Event event, Instant now);

  /// Of the last event; that of the epoch if there was none.
  [[nodiscard]] Instant latest() const { return latest_; }

  /// The next event goes to this machine.
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

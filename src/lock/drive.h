// SPDX-License-Identifier: MIT
//
// How events and effects go round. Every command and the simulator use this, so that the simulator
// plays the very order in which a command does things.
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

/// Whoever carries out what a machine wants done.
class Performer {
 public:
  /// What follows from it at once (a job that has started) is handed to Drive::step(), too.
  virtual void perform(const Effect& effect, Instant now) = 0;

  /// The machine has taken an event, and none of what it wants done is done yet.
  virtual void stepped() {}

 protected:
  ~Performer() = default;
};

/// Hands a machine one event after the other. All effects of an event are carried out before the
/// next event is taken: what follows from an effect waits in a queue. Nothing stands before a
/// signal to the job: of the effects of one event, those come first.
class Drive {
 public:
  Drive(Machine& machine, Performer& performer) : machine_(&machine), performer_(&performer) {}

  /// Takes an event, and all that follows from it. While an effect is carried out, it only notes
  /// the event: that is taken at the same `now` as the one before it. Of no use any more once
  /// carrying out an effect has thrown.
  void step(Event event, Instant now);

  /// From the next event on another machine is driven.
  void change_machine(Machine& machine) { machine_ = &machine; }

  [[nodiscard]] Machine& machine() const { return *machine_; }

 private:
  Machine* machine_;
  Performer* performer_;
  std::deque<Event> events_;  ///< the one that is being taken, and what follows
};

}  // namespace redlock::lock

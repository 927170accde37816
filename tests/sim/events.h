// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "clock.h"
#include "token.h"

namespace redlock::sim {

enum class EventKind : std::uint8_t {
  fault,           ///< who: its number in the schedule
  fault_over,      ///< likewise
  calm,            ///< the fair phase begins
  wake,            ///< who: a client that has a deadline
  client_starts,   ///< who: a client
  client_resumes,  ///< likewise
  job_ends,        ///< likewise; of the run with that stamp
  tree_ends,       ///< likewise: the last descendant
  connected,       ///< who: a connection, in all that follow
  refused,
  broken,
  request,
  run_request,  ///< one that waited while the server was stopped
  response,
  acknowledged,  ///< by the replica, or it is too late for that
  revoke,        ///< who: a server; token: it is revoked there
  remove,        ///< likewise, deleted
  hand_back,     ///< likewise, released by its owner
  word,          ///< who: a client; stamp: its run. Its owner is said to have released the lock
  told,          ///< who: a client; stamp: its run
  woken,         ///< likewise, rightly or not; who's upper bits: in how many ms to ask
  hung_up,       ///< who: a connection, of which the server has got all
  subscribes,    ///< who: a client, and a server in its upper bits; stamp: its run
  subscribed,    ///< likewise: the client knows
};

struct Event {
  Time at;
  Token token;
  std::uint32_t number;
  std::uint32_t who;
  std::uint32_t stamp;
  EventKind kind;
};

/// What is to happen, in the order of time; at the same time, in the order it was asked for.
class Events {
 public:
  void reset() {
    heap_.clear();
    now_ = Time::zero();
    count_ = 0;
  }

  void add(EventKind kind, Time at, std::uint32_t who, std::uint32_t stamp = 0,
           Token token = kNoToken) {
    heap_.push_back({std::max(at, now_), token, ++count_, who, stamp, kind});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }

  Event next() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Event event = heap_.back();
    heap_.pop_back();
    now_ = event.at;
    return event;
  }

  [[nodiscard]] Time now() const { return now_; }

 private:
  static bool later(const Event& a, const Event& b) {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }

  std::vector<Event> heap_;
  Time now_{};
  std::uint32_t count_ = 0;
};

}  // namespace redlock::sim

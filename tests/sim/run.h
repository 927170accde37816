// SPDX-License-Identifier: MIT
//
// A process with `redlock run`, in both simulators: the loop around a real lock::Session, driven by
// the same lock::Drive, with a link to each server. Absent on purpose: what redlock is asked for,
// its job, and what is checked or measured: a derived class has those.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

#include "clock.h"
#include "link.h"
#include "lock/drive.h"
#include "lock/session.h"
#include "network.h"
#include "redis/requests/request.h"
#include "request.h"

namespace redlock::sim {

/// Servers go by their index in the network; in lock::Event and lock::Effect, by that in the list
/// of this redlock.
class Run : public lock::Performer {
 public:
  /// `client`: its number in the network. `first_server`: of its list.
  Run(Network& network, std::uint32_t client, const Clock& clock, std::size_t first_server = 0)
      : clock_(clock),
        network_(network),
        client_(client),
        first_server_(static_cast<std::uint8_t>(first_server)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void take_in(std::uint8_t server, Inbound inbound);
  /// PUBLISH to that run of the process: whether it has subscribed.
  bool publish(std::uint8_t server, std::uint32_t run, lock::Duration in);
  /// That server has lost its connections.
  void unsubscribe(std::uint8_t server) { listens_[server] = 0; }

  [[nodiscard]] bool running() const { return session_.has_value(); }
  /// The number of servers in its list.
  [[nodiscard]] std::size_t servers() const { return servers_; }
  /// How often redlock has been started: the number of the present run.
  [[nodiscard]] std::uint32_t run() const { return runs_ & 0x3ffU; }

 protected:
  ~Run() = default;

  /// A new redlock, without its first turn. The caller has set tokens_ and counted it in runs_.
  void begin(const lock::Plan& plan, redis::LockContext context, lock::Duration connect_timeout);
  /// One turn of the loop, as Runner::turn. Not while it is stopped.
  void turn();
  void run_turn(lock::Instant local);
  /// The answers, from where the turn was interrupted.
  void finish_turn(lock::Instant local);
  void step(lock::Event event, lock::Instant local) { drive_->step(std::move(event), local); }
  /// Requests, the queue, and Measure. A derived class carries out all other effects.
  void perform(const lock::Effect& effect, lock::Instant local) override;
  void woken(std::uint32_t run, lock::Duration in) {
    hear(run, [&] { woken_ = std::min(in, woken_.value_or(in)); });
  }
  /// Word from a server to that run.
  template <class Note>
  void hear(std::uint32_t run, Note note) {
    if (!session_ || run != this->run()) return;
    note();
    turn();
  }
  /// The process is gone. `orderly`: its connections end after all that was sent.
  void hang_up(bool orderly);
  void unsubscribe_all() { listens_.fill(0); }

  // What happens in a turn: before the answers, and after everything else.
  virtual void hear_process(lock::Instant local) = 0;
  virtual void hear_rest(lock::Instant) {}
  virtual void asked(const lock::Ask& ask, lock::Instant local) = 0;
  virtual void answered(const lock::Reply&) {}
  virtual void end_session() = 0;
  virtual void turns_without_end() { throw std::logic_error("a process turns without end"); }

  /// In how long its SUBSCRIBE arrives; none: it sends none.
  virtual std::optional<Time> subscribes_in(std::uint8_t server) = 0;
  /// The server was not up when it arrived.
  virtual void not_subscribed(std::uint8_t) {}
  /// Of a message that is no request and no answer to one.
  virtual Time message_delay(std::uint8_t server) = 0;
  virtual bool loses_message(std::uint8_t server) = 0;

  [[nodiscard]] Network& network() const { return network_; }
  [[nodiscard]] Timeline& timeline() const { return network_.timeline(); }
  [[nodiscard]] Random& random() const { return network_.random(); }
  [[nodiscard]] Time now() const { return timeline().now(); }
  [[nodiscard]] bool listens(std::uint8_t server) const { return listens_[server] == run(); }

  Clock clock_;
  std::optional<lock::Session> session_;
  std::optional<lock::Drive> drive_;
  AttemptTokens tokens_;
  std::uint32_t runs_ = 0;
  bool paused_ = false;

 private:
  void join_queue(lock::Ticket ticket);
  void subscribe(std::uint8_t server);
  void schedule_wake();

  Network& network_;
  std::uint32_t client_;
  std::uint8_t first_server_;
  std::size_t servers_ = 0;
  redis::LockContext context_;
  std::array<Link, kMostServers> links_;
  std::vector<Link::Arrival> arrivals_;
  std::size_t next_arrival_ = 0;
  std::optional<lock::Duration> woken_;  ///< in how long it shall ask
  std::uint32_t subscribed_ = 0;  ///< the loop has not heard of it yet: a bit for each server
  std::array<std::uint32_t, kMostServers> listens_{};  ///< which run has subscribed; 0: none
  Time wake_at_ = kForever;
  Time last_turn_{};
  std::uint32_t turns_at_once_ = 0;
};

}  // namespace redlock::sim

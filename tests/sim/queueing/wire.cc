// SPDX-License-Identifier: MIT
#include "queueing/wire.h"

#include <algorithm>
#include <utility>

#include "queueing/process.h"

namespace redlock::sim::queueing {

Time Wire::travel() const {
  const Time held = std::max(cut_until_ - ends_.timeline->now(), Time::zero());
  return held + ends_.distance.one_way + ends_.random->between(Time::zero(), ends_.distance.jitter);
}

Time Wire::arrival_here() {
  return last_here_ = std::max(last_here_, ends_.timeline->now() + travel());
}

void Wire::tell(ConnectionId id, Inbound inbound) {
  if (!ended_ && id == connection_)
    ends_.process->received(ends_.host->index(), std::move(inbound));
}

ConnectionId Wire::dial(std::uint8_t, std::uint8_t, std::uint32_t, bool) {
  last_there_ = last_here_ = Time::zero();
  const Time there = travel();
  ends_.timeline->after(there + travel(), [this, id = ++connection_] {
    if (id != connection_) return;
    connected_ = ends_.host->up();
    server_life_ = ends_.host->life();
    tell(id, {connected_ ? Inbound::Kind::connected : Inbound::Kind::refused, {}});
  });
  return connection_;
}

void Wire::send(ConnectionId id, Request request) {
  last_there_ = std::max(last_there_, ends_.timeline->now() + travel());
  ends_.timeline->at(last_there_, [this, request = std::move(request), id, life = server_life_] {
    if (ends_.host->life() != life) {
      // The server's kernel knows no such connection.
      ends_.timeline->at(arrival_here(), [this, id] { tell(id, {Inbound::Kind::broken, {}}); });
      return;
    }
    ends_.host->take(request, [this, id](const lock::Answer& answer) {
      ends_.timeline->at(arrival_here(), [this, id, answer] {
        tell(id, {Inbound::Kind::answer, answer});
      });
    });
  });
}

void Wire::hang_up(ConnectionId, bool) {
  ++connection_;
  connected_ = false;
  if (server_life_ != ends_.host->life()) subscribes_ = false;  // that one broke, too
}

/// Two round trips: to connect, and to subscribe.
void Wire::subscribe() {
  if (subscribes_ && subscribed_life_ == ends_.host->life()) return;
  if (!ends_.may_subscribe || !ends_.host->up()) return;
  subscribes_ = true;
  subscribed_life_ = ends_.host->life();
  const std::uint32_t subscription = ++subscription_;
  const Time first = travel() + travel() + travel();
  const Time then = travel();
  ends_.timeline->after(first, [this, subscription, then] {
    if (ended_ || subscription != subscription_ || !ends_.host->up()) return;
    ends_.host->subscribe(ends_.waiter);
    ends_.timeline->after(then, [this, subscription] {
      if (ended_ || subscription != subscription_ || !ends_.host->working()) return;
      ends_.process->subscribed(ends_.host->index());
    });
  });
}

void Wire::unsubscribe() {
  subscribes_ = false;
  ++subscription_;
  ends_.timeline->after(travel(), [this, subscription = subscription_] {
    if (subscription == subscription_) ends_.host->unsubscribe(ends_.waiter);
  });
}

void Wire::wake(lock::Duration in) {
  ends_.timeline->after(travel(), [this, in, subscription = subscription_] {
    if (!ended_ && subscription == subscription_) ends_.process->woken(in);
  });
}

void Wire::cut(Time until, Time breaks_after) {
  cut_until_ = std::max(cut_until_, until);
  ends_.timeline->after(breaks_after, [this] {
    if (ended_ || ends_.timeline->now() >= cut_until_) return;
    subscribes_ = false;
    ++subscription_;
    if (connected_) tell(connection_, {Inbound::Kind::broken, {}});
  });
}

void Wire::end() {
  if (ended_) return;
  unsubscribe();
  ended_ = true;
}

}  // namespace redlock::sim::queueing

// SPDX-License-Identifier: MIT
#include "wake_ups.h"

#include "token.h"

namespace redlock::sim {

using std::chrono::milliseconds;

void WakeUps::subscribe(std::uint32_t client, std::uint32_t session) {
  for (std::uint32_t server = 0; server < schedule_->servers; ++server) {
    if (subscribed_[server][client] == session || random_.percent(40)) continue;
    events_.add(EventKind::subscribes, events_.now() + delay(), client | server << 8U, session);
  }
}

void WakeUps::arrive(const Event& event, bool up) {
  if (!up) return;
  subscribed_[event.who >> 8U][event.who & 0xffU] = event.stamp;
  events_.add(EventKind::subscribed, events_.now() + delay(), event.who, event.stamp);
}

bool WakeUps::publish(std::uint32_t server, Waiter waiter, const WakeUp& wake_up) {
  const std::uint32_t client = client_of(waiter);
  const std::uint32_t session = session_of(waiter);
  if (subscribed_[server][client] != session) return false;
  if (random_.percent(20)) return true;  // and lost
  const Time in = wake_up.text == WakeUp::Text::free   ? Time::zero()
                  : wake_up.text == WakeUp::Text::next ? milliseconds(500)
                                                       : milliseconds(wake_up.pttl);
  const auto told = static_cast<std::uint32_t>(in / milliseconds(1));
  events_.add(EventKind::woken, events_.now() + delay(), client | told << 8U, session);
  return true;
}

}  // namespace redlock::sim

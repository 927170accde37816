// SPDX-License-Identifier: MIT
#include "os/loop.h"

#include <poll.h>
#include <sys/timerfd.h>

#include <cerrno>
#include <vector>

#include "os/clock.h"

namespace redlock::os {

Loop::Loop() : timer_(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!timer_) fail("timerfd_create");
}

void Loop::wait(std::span<Interest> interests, lock::Instant deadline) {
  // A deadline that has come needs no timer. An expired timerfd stays readable until the next
  // future deadline sets it again.
  const bool due = deadline <= boot_now();
  if (!due && deadline != armed_) {
    const itimerspec spec = alarm_at(deadline);
    if (::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) != 0) {
      fail("timerfd_settime");
    }
    armed_ = deadline;
  }

  std::vector<pollfd> polled;
  polled.reserve(interests.size() + 1);
  polled.push_back({timer_.get(), POLLIN, 0});
  for (const Interest& interest : interests) {
    const int wanted = (interest.read ? POLLIN : 0) | (interest.write ? POLLOUT : 0);
    polled.push_back({interest.fd, static_cast<short>(wanted), 0});
  }
  if (::poll(polled.data(), polled.size(), due ? 0 : -1) < 0 && errno != EINTR) fail("poll");

  for (std::size_t i = 0; i < interests.size(); ++i) {
    interests[i].ready = polled[i + 1].revents != 0;
  }
}

}  // namespace redlock::os

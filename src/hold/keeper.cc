// SPDX-License-Identifier: MIT
#include "hold/keeper.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "driver/driver.h"
#include "lock/keeping.h"
#include "os/clock.h"

namespace redlock::hold {

namespace {

constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};

class Keeper : private driver::Host {
 public:
  Keeper(lock::Session& session, redis::ServerSet& servers, os::SignalSource& signals,
         const Ward& ward, KeeperReserve& reserve, const records::Holder& who, const lock::Log& won)
      : servers_(servers),
        ward_(ward),
        parent_(std::move(reserve.keepers)),
        won_(won),
        keeping_(session, servers.size(), won),
        driver_(keeping_, *this, servers, signals, {.who = &who}, std::move(reserve.loop)) {}

  [[noreturn]] void keep(lock::Duration patience) {
    std::optional<Parent> parent;
    try {
      os::detach();
      listen(os::boot_now() + patience);
      const auto running = static_cast<char>(KeeperMessage::running);
      if (::write(parent_.get(), &running, 1) != 1) ::_exit(0);
      parent = await_message();
      if (parent == Parent::says_end) ::_exit(0);
      const lock::Instant now = driver_.now();
      driver_.step(lock::JobStarted{}, now);
      if (parent == Parent::gone) driver_.step(lock::JobExited{0}, now);
      driver_.run();
    } catch (const std::exception&) {
      // A system call has failed. A parent that waits for our message sees our death, and
      // releases the lock. If the token is known, the lock must not be released while the ward
      // lives: the ward gets its signal.
      if (parent == Parent::gone) driver::give_back(driver_, patience);
      if (parent == Parent::says_go) tell_ward();
    }
    ::_exit(0);
  }

 private:
  enum class Parent { gone, says_go, says_end };

  /// Does not touch the connections for votes: the parent may still need them.
  void listen(lock::Instant limit) {
    servers_.subscribe(won_.attempt, os::boot_now());
    redis::Subscribers& subscribers = servers_.subscribers();
    std::vector<os::Interest> interests;
    while (!subscribers.settled() && os::boot_now() < limit) {
      interests.clear();
      subscribers.interests(interests);
      driver_.await(interests, std::min(limit, subscribers.deadline()));
      subscribers.turn(os::boot_now());
    }
  }

  /// Waits without a limit: a parent that is stopped may still have to release the lock itself,
  /// over the connections that it shares with us. The parent relies on us, so if poll(2) fails,
  /// this function goes on in steps of 10 ms.
  Parent await_message() noexcept {
    char byte = 0;
    ssize_t length = 0;
    while ((length = ::read(parent_.get(), &byte, 1)) < 0) {
      pollfd line{parent_.get(), POLLIN, 0};
      if (::poll(&line, 1, -1) <= 0) ::nanosleep(&kPause, nullptr);
    }
    parent_.reset();
    if (length == 0) return Parent::gone;
    return byte == static_cast<char>(KeeperMessage::go) ? Parent::says_go : Parent::says_end;
  }

  /// The descriptor of a dead ward would always be ready.
  [[nodiscard]] os::Interest watch() const override {
    return {.fd = ward_gone_ ? -1 : ward_.process.get(), .read = true};
  }

  /// Polls the ward first: if it has just ended, the keeper needs two seconds at most to end in
  /// order.
  bool take_signal(const lock::Signal& signal, lock::Instant now) override {
    if (signal.ends_waiting) poll_process(true, now);
    return false;
  }

  void poll_process(bool woken, lock::Instant now) override {
    if (!woken || ward_gone_ || !os::has_ended(ward_.process)) return;
    ward_gone_ = true;
    driver_.step(lock::JobExited{0}, now);
  }

  void iterated(lock::Instant) override {
    if (keeping_.warns()) tell_ward();
  }

  void tell_ward() {
    if (std::exchange(signalled_, true) || ward_.lost_signal == 0) return;
    os::send_signal(ward_.process, ward_.lost_signal);
  }

  redis::ServerSet& servers_;
  const Ward& ward_;
  os::Fd parent_;
  const lock::Log& won_;  ///< how redlock acquired the lock
  lock::Keeping keeping_;
  driver::Driver driver_;
  bool ward_gone_ = false;
  bool signalled_ = false;  ///< the ward has its signal, or gets none
};

}  // namespace

KeeperReserve::KeeperReserve() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    os::fail("socketpair");
  }
  ours = os::Fd(ends[0]);
  keepers = os::Fd(ends[1]);
}

void send_message(const os::Fd& keeper, KeeperMessage message) {
  constexpr int kTries = 100;
  const auto byte = static_cast<char>(message);
  for (int tries = 0; tries < kTries; ++tries) {
    if (::send(keeper.get(), &byte, 1, MSG_NOSIGNAL) == 1 || errno == EPIPE) return;
    ::nanosleep(&kPause, nullptr);
  }
}

void be_keeper(lock::Session& session, redis::ServerSet& servers, os::SignalSource& signals,
               const Ward& ward, KeeperReserve& reserve, const records::Holder& who,
               const lock::Log& won, lock::Duration patience) noexcept {
  try {
    reserve.ours.reset();
    Keeper(session, servers, signals, ward, reserve, who, won).keep(patience);
  } catch (const std::exception&) {
    ::_exit(0);  // the parent sees that this process is dead
  }
}

}  // namespace redlock::hold

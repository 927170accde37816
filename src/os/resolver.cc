// SPDX-License-Identifier: MIT
#include "os/resolver.h"

#include <netdb.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "os/fd.h"

#if REDLOCK_STATIC && defined(__GLIBC__)
#include <nss.h>
#endif

namespace redlock::os {
namespace {

/// A static program has only these two services inside. For another one in /etc/nsswitch.conf, libc
/// would load a plug-in for the libc of this machine, which need not be ours.
void use_own_services() {
#if REDLOCK_STATIC && defined(__GLIBC__)
  [[maybe_unused]] static const int once = ::__nss_configure_lookup("hosts", "files dns");
#endif
}

Resolution resolve(const std::string& host, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  char service[8]{};
  std::to_chars(service, service + sizeof service - 1, port);
  use_own_services();
  addrinfo* list = nullptr;
  Resolution result;
  result.error = getaddrinfo(host.c_str(), service, &hints, &list);
  if (result.error != 0) {
    result.system_error = errno;
    return result;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, &freeaddrinfo);
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Address address;
    std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
    address.length = at->ai_addrlen;
    result.addresses.push_back(address);
  }
  return result;
}

}  // namespace

// Shared with the thread, which may outlive the Lookup. `result` belongs to the thread until `done`
// is set, and then to the Lookup. `done` is an atomic: fork() must not copy a locked mutex.
struct Lookup::State {
  Fd event;
  std::atomic<bool> done{false};
  Resolution result;

  void finish(Resolution outcome) {
    result = std::move(outcome);
    done.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    if (event && ::write(event.get(), &one, sizeof one) < 0) return;  // cannot fail from 0 to 1
  }
};

std::optional<Address> numeric_address(const std::string& host, std::uint16_t port) {
  // Any other character makes it a name. This check saves names a call into libc's resolver.
  if (host.find(':') == std::string::npos &&
      host.find_first_not_of("0123456789.") != std::string::npos) {
    return std::nullopt;
  }
  Resolution result = resolve(host, port, AI_NUMERICHOST);
  if (result.error != 0) return std::nullopt;
  return result.addresses.front();
}

Lookup::Lookup(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {
  begin();
}

void Lookup::begin() {
  owner_ = ::getpid();
  state_ = std::make_shared<State>();
  state_->event = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!state_->event) {
    const int error = errno;
    state_->finish({EAI_SYSTEM, error, {}});
    return;
  }
  // Signals belong to the loop's signalfd. A thread inherits its creator's mask, so all signals are
  // blocked around its creation: to block them inside the thread would be a moment too late.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread([state = state_, host = host_, port = port_] {
      try {
        state->finish(resolve(host, port, 0));
      } catch (const std::bad_alloc&) {
        state->finish({EAI_MEMORY, 0, {}});
      }
    }).detach();
  } catch (const std::system_error& failure) {
    state_->finish({EAI_SYSTEM, failure.code().value(), {}});
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int Lookup::fd() const {
  return state_->event.get();
}

std::optional<Resolution> Lookup::take() {
  if (!state_->done.load(std::memory_order_acquire)) {
    // The parent's thread signals the eventfd that we share, but its result stays in the parent.
    if (owner_ != ::getpid()) begin();
    if (!state_->done.load(std::memory_order_acquire)) return std::nullopt;
  }
  return std::exchange(state_->result, Resolution{EAI_AGAIN, 0, {}});
}

}  // namespace redlock::os

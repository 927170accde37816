// SPDX-License-Identifier: MIT
#include "os/descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>
#include <vector>

#include "error.h"
#include "os/fd.h"

namespace redlock::os {

namespace {

/// Whether the `count` highest numbers that a descriptor may have are free: one system call tells,
/// and nearly always they are.
bool highest_are_free(std::size_t count) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < count) return false;
  const auto end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, INT_MAX));
  std::vector<pollfd> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i].fd = end - static_cast<int>(i) - 1;
  if (::poll(numbers.data(), count, 0) != static_cast<int>(count)) return false;
  return std::ranges::all_of(numbers, [](const pollfd& one) { return one.revents == POLLNVAL; });
}

}  // namespace

void require_free_descriptors(std::size_t count) {
  if (highest_are_free(count)) return;
  std::vector<Fd> opened;
  opened.reserve(count);
  while (opened.size() < count) {
    opened.emplace_back(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0));
    if (opened.back()) continue;
    throw Error(ExitStatus::os_error, "too few free file descriptors, " +
                                          std::to_string(count - opened.size() + 1) +
                                          " more are needed (ulimit -n): " + std::strerror(errno));
  }
}

}  // namespace redlock::os

// SPDX-License-Identifier: MIT
#pragma once

#include "doctest.h"

#include <cstdio>
#include <functional>
#include <vector>

#include "os/fd.h"

namespace redlock::tests {

/// What a function writes.
struct Written {
  std::string out;
  std::string err;
};
inline Written written_by(const std::function<void()>& function) {
  const auto fds = {STDOUT_FILENO, STDERR_FILENO};
  std::vector<os::Fd> before;
  std::vector<os::Fd> files;
  std::fflush(stdout);
  for (const int fd : fds) {
    before.emplace_back(::dup(fd));
    files.push_back(os::make_memory_file(""));
    REQUIRE(::dup2(files.back().get(), fd) == fd);
  }
  function();
  std::fflush(stdout);
  Written written;
  for (std::size_t at = 0; at < files.size(); ++at) {
    ::dup2(before[at].get(), at == 0 ? STDOUT_FILENO : STDERR_FILENO);
    ::lseek(files[at].get(), 0, SEEK_SET);
    os::read_all(files[at].get(), at == 0 ? written.out : written.err);
  }
  return written;
}

}  // namespace redlock::tests

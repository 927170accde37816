// SPDX-License-Identifier: MIT
//
// File descriptors: owned ones, those that this process has, and those that it passes on.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::os {

/// The kernel has refused `what`, and errno says why. Throws Error (71).
[[noreturn]] void fail(const std::string& what);

/// An owned file descriptor, closed once.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

/// Both ends are close-on-exec.
struct Pipe {
  Fd read;
  Fd write;
};

/// `flags`: for both ends, see pipe2(2). Throws Error (71).
Pipe make_pipe(int flags = 0);

/// Appends to `text` what `fd` has up to its end, but stops after `most` bytes and a few more;
/// waits for a pipe. An errno; 0: success.
int read_all(int fd, std::string& text, std::size_t most = std::string::npos - 1);

/// Writes all of it. An errno; 0: success.
int write_all(int fd, std::string_view text);

/// A file in memory with that content, close-on-exec, for this user alone (memfd_create(2)). None:
/// the system refused it (errno).
Fd make_memory_file(std::string_view content);

/// Checks that this process can open `count` more descriptors. Throws Error (71) if it cannot:
/// otherwise the caller would find out in the middle of its work.
void require_free_descriptors(std::size_t count);

/// Opens /dev/null for each of the descriptors 0, 1 and 2 that was closed at entry (`2>&-`):
/// otherwise a socket could get number 2, and a warning would go to a server. These are
/// close-on-exec, so the job finds them closed, as we did. Throws Error (71).
void occupy_standard_descriptors();

/// Whether standard output was closed at entry, so that all output there is lost. To be called
/// after occupy_standard_descriptors().
bool output_was_closed();

/// Closes all descriptors. Needs no memory.
void close_descriptors();

/// For a child that outlives the process that started us and must not disturb it: the child gets a
/// session of its own without a terminal, "/" as its directory, and /dev/null for descriptors 0
/// to 2. It closes all other descriptors that we inherited: a process that reads our output to its
/// end, or waits for a lock or pipe above 2, must not wait for the child. Descriptors that we
/// opened are close-on-exec and stay. Throws Error (71).
void detach();

}  // namespace redlock::os

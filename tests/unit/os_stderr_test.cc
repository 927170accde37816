// SPDX-License-Identifier: MIT
//
// Standard error, whatever it is; the locale.
#include "os/stderr.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <termios.h>

#include <cstdlib>

#include "forked.h"
#include "os/process.h"

namespace redlock::os {
namespace {

enum class Kind { pipe, socket, file, terminal };

/// A descriptor to write to, and one to read from.
struct Ends {
  Fd write, read;
};
Ends ends_of(Kind kind) {
  std::array<int, 2> both{};
  if (kind == Kind::file) {
    Fd file = make_memory_file("");
    Fd other(::open(("/proc/self/fd/" + std::to_string(file.get())).c_str(), O_RDONLY));
    return {std::move(file), std::move(other)};
  }
  if (kind == Kind::terminal) {
    Fd ours(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK));
    REQUIRE((::grantpt(ours.get()) == 0 && ::unlockpt(ours.get()) == 0));
    Fd other(::open(::ptsname(ours.get()), O_RDWR | O_NOCTTY));
    termios raw{};
    ::cfmakeraw(&raw);
    REQUIRE(::tcsetattr(other.get(), TCSANOW, &raw) == 0);
    return {std::move(other), std::move(ours)};
  }
  if (kind == Kind::socket) {
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, both.data()) == 0);
  } else {
    REQUIRE(::pipe(both.data()) == 0);
    std::swap(both[0], both[1]);
  }
  ::fcntl(both[1], F_SETFL, O_NONBLOCK);
  return {Fd(both[0]), Fd(both[1])};
}

std::string read_from(const Fd& fd) {
  std::string text;
  std::array<char, 4096> chunk{};
  for (ssize_t n = 0; (n = ::read(fd.get(), chunk.data(), chunk.size())) > 0;) {
    text.append(chunk.data(), static_cast<std::size_t>(n));
  }
  return text;
}

TEST_CASE("stderr: a pipe, a socket and a file get each line once, in order, without a wait") {
  for (const Kind kind : {Kind::pipe, Kind::socket, Kind::file}) {
    CAPTURE(static_cast<int>(kind));
    CHECK(tests::forked([kind] {
            const Ends ends = ends_of(kind);
            ::dup2(ends.write.get(), STDERR_FILENO);
            Stderr out;
            out.line("one\x1b");
            out.line("two\nlines");
            if (read_from(ends.read) != "one?\ntwo\nlines\n") return 1;
            if (kind == Kind::file) {
              out.keep_lines_for_file();
              out.line("later");
              if (!read_from(ends.read).empty()) return 2;
              out.drain(std::chrono::milliseconds(0));
              return read_from(ends.read) == "later\n" ? 0 : 3;
            }
            // Nobody reads: what there is no room for is kept, 200 lines at most.
            std::string sent;
            for (int number = 0; number < 900; ++number) {
              const std::string line = std::to_string(number) + std::string(997, 'x');
              sent += line + "\n";
              out.line(line);
            }
            std::string got;
            for (int times = 0; times < 500; ++times) {
              got += read_from(ends.read);
              out.drain(std::chrono::milliseconds(0));
            }
            // All but those that came while 200 were kept already.
            if (got.empty() || !sent.starts_with(got)) return 4;
            out.line("last");
            if (read_from(ends.read) != "last\n") return 5;
            out.leave_to_child();
            out.drain(std::chrono::milliseconds(0));
            return read_from(ends.read).empty() ? 0 : 6;
          }) == 0);
  }
}

TEST_CASE("stderr: a line of any length arrives whole as the reader goes on") {
  for (const Kind kind : {Kind::pipe, Kind::socket, Kind::terminal}) {
    for (const std::size_t length : {4097U, 300'000U}) {  // more than a page, than any buffer
      CAPTURE(static_cast<int>(kind));
      CAPTURE(length);
      CHECK(tests::forked([&] {
              const Ends ends = ends_of(kind);
              ::dup2(ends.write.get(), STDERR_FILENO);
              Stderr out;
              const std::string line(length, 'x');
              out.line(line);
              out.line("next");
              std::string got;
              pollfd more{ends.read.get(), POLLIN, 0};
              while (!got.ends_with("next\n") && ::poll(&more, 1, 5000) == 1) {
                got += read_from(ends.read);
                out.drain(std::chrono::milliseconds(0));
              }
              return got == line + "\nnext\n" ? 0 : 1;
            }) == 0);
    }
  }
}

TEST_CASE("locale: the first variable that is set decides, and an empty one is not set") {
  const std::array<const char*, 5> values = {nullptr, "", "C", "tr_TR.UTF-8", "en_US.utf8"};
  for (const char* const all : values) {
    for (const char* const type : values) {
      for (const char* const lang : values) {
        const auto set = [](const char* value) { return value != nullptr && *value != '\0'; };
        const std::string decides = set(all) ? all : set(type) ? type : set(lang) ? lang : "";
        CAPTURE(decides);
        const bool expected = decides.size() > 1;
        CHECK(tests::forked([&] {
                const auto put = [](const char* name, const char* value) {
                  value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
                };
                put("LC_ALL", all);
                put("LC_CTYPE", type);
                put("LANG", lang);
                return locale_is_utf8() == expected ? 0 : 1;
              }) == 0);
      }
    }
  }
}

}  // namespace
}  // namespace redlock::os

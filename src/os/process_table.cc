// SPDX-License-Identifier: MIT
#include "os/process_table.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "error.h"
#include "os/process.h"

namespace redlock::os {

namespace {

constexpr std::size_t kListingSize = 64 * 1024;

/// What getdents64(2) writes. glibc has a name for it, musl has none.
struct ListedName {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;  ///< of all of it
  std::uint8_t type;
  char name[1];  ///< longer, and ended by a 0
};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitStatus::os_error,
              why + "; redlock needs it to find and stop the processes of a job");
}

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

/// The fields of a line, which single spaces separate; empty after the last one.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::string_view next() {
    const std::size_t length = rest_.find(' ');
    const std::string_view field = rest_.substr(0, length);
    rest_.remove_prefix(length == std::string_view::npos ? rest_.size() : length + 1);
    return field;
  }
  void skip(int count) {
    while (count-- > 0) next();
  }

 private:
  std::string_view rest_;
};

/// Nothing for a dead process. If only its main thread has ended, a process is a zombie with other
/// threads.
std::optional<ProcessEntry> parse_stat(pid_t pid, std::string_view text) {
  // The name is in parentheses and may contain anything, even parentheses: the last one ends it.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || text.size() < name_end + 3) return std::nullopt;
  Fields fields(text.substr(name_end + 2));
  const std::string_view state = fields.next();
  ProcessEntry entry{.pid = pid, .parent = 0, .group = 0, .start = 0};
  if (!parse(fields.next(), entry.parent) || !parse(fields.next(), entry.group)) {
    return std::nullopt;
  }
  fields.skip(14);  // from the session to the nice value
  long threads = 0;
  parse(fields.next(), threads);
  fields.skip(1);
  parse(fields.next(), entry.start);
  if (state == "X" || (state == "Z" && threads < 2)) return std::nullopt;
  return entry;
}

}  // namespace

ProcessTable::ProcessTable()
    : proc_(open_proc()), listing_(std::make_unique_for_overwrite<char[]>(kListingSize)) {
  std::array<char, 16> target{};
  const ssize_t length = ::readlinkat(proc_.get(), "self", target.data(), target.size());
  if (length < 0) refuse("/proc is not mounted");
  pid_t self = 0;
  parse(std::string_view(target.data(), static_cast<std::size_t>(length)), self);
  if (self != ::getpid()) {
    refuse("/proc belongs to another PID namespace (unshare: add --mount-proc)");
  }
  if (!fill_reserve()) refuse(std::string("cannot keep /proc open: ") + std::strerror(errno));
}

Fd ProcessTable::open_proc() {
  Fd opened(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) refuse(std::string("cannot open /proc: ") + std::strerror(errno));
  return opened;
}

bool ProcessTable::fill_reserve() {
  for (Fd& spare : spare_) {
    if (!spare) spare = Fd(::fcntl(proc_.get(), F_DUPFD_CLOEXEC, 0));
    if (!spare) return false;
  }
  return true;
}

void ProcessTable::read(std::vector<ProcessEntry>& living, const Visit& visit) {
  living.clear();
  ::lseek(proc_.get(), 0, SEEK_SET);
  for (;;) {
    const long length = ::syscall(SYS_getdents64, proc_.get(), listing_.get(), kListingSize);
    if (length <= 0) return;
    for (std::size_t at = 0; at < static_cast<std::size_t>(length);) {
      ListedName header{};
      std::memcpy(&header, listing_.get() + at, offsetof(ListedName, name));
      const char* const name = listing_.get() + at + offsetof(ListedName, name);
      pid_t pid = 0;
      if (parse(std::string_view(name), pid)) {
        const Fd pidfd = visit ? open_pidfd(pid) : Fd();
        if (const auto entry = look(pid)) {
          living.push_back(*entry);
          if (visit) visit(*entry, pidfd);
        }
      }
      at += header.size;
    }
  }
}

std::optional<ProcessEntry> ProcessTable::look(pid_t pid) const {
  std::array<char, 32> path{};
  const auto end = std::to_chars(path.data(), path.data() + path.size(), pid).ptr;
  std::memcpy(end, "/stat", sizeof "/stat");
  std::optional<ProcessEntry> entry;
  if (const Fd file(::openat(proc_.get(), path.data(), O_RDONLY | O_CLOEXEC)); file) {
    std::array<char, 512> text{};
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    if (length > 0) entry = parse_stat(pid, {text.data(), static_cast<std::size_t>(length)});
  }
  return entry;
}

void ProcessTable::read_own_children(std::vector<pid_t>& children) {
  children.clear();
  const std::string path = "self/task/" + std::to_string(::getpid()) + "/children";
  const Fd file(::openat(proc_.get(), path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  std::size_t kept = 0;  // bytes of a number that the last piece ended in
  for (ssize_t length = 0;
       (length = ::read(file.get(), listing_.get() + kept, kListingSize - kept)) > 0;) {
    const std::string_view text(listing_.get(), kept + static_cast<std::size_t>(length));
    const std::size_t whole = text.rfind(' ') + 1;  // 0 without one
    Fields fields(text.substr(0, whole));
    for (std::string_view word = fields.next(); !word.empty(); word = fields.next()) {
      pid_t pid = 0;
      if (parse(word, pid)) children.push_back(pid);
    }
    kept = text.size() - whole;
    std::memmove(listing_.get(), listing_.get() + whole, kept);
  }
}

}  // namespace redlock::os

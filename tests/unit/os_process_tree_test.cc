// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <sys/wait.h>
#include "doctest.h"

#include <algorithm>
#include <map>
#include <thread>

#include "os/process_tree.h"

using namespace redlock::os;

namespace {

bool younger(std::int64_t start, pid_t pid, const BirthMark& mark) {
  return ProcessEntry{.pid = pid, .parent = 1, .group = 1, .start = start}.younger_than(mark);
}

/// Waits until it is true, 20 s at most.
bool comes_true(const std::function<bool()>& condition) {
  for (int times = 0; times < 4000; ++times) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// Our child, which dies of TERM but first starts a process that starts another one. Both wait for
/// a signal, too, and their PIDs come through the pipe.
pid_t start_forker(int pipe) {
  static int writes_to;
  writes_to = pipe;
  const pid_t child = ::fork();
  if (child != 0) return child;
  std::signal(SIGTERM, [](int) {
    const pid_t escaped = ::fork();
    std::signal(SIGTERM, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const pid_t started = escaped != 0 ? escaped : ::fork();
    if (started != 0) static_cast<void>(::write(writes_to, &started, sizeof started) > 0);
    if (escaped != 0) ::raise(SIGTERM);
    for (;;) ::pause();
  });
  static_cast<void>(::write(writes_to, &child, sizeof child) > 0);
  for (;;) ::pause();
}

}  // namespace

TEST_CASE("the age of a process: by clock ticks, and within a tick by the order of the PIDs") {
  const BirthMark mark{.tick = 1000, .last = 500};
  CHECK_FALSE(younger(999, 501, mark));
  CHECK_FALSE(younger(1000, 500, mark));
  CHECK(younger(1000, 501, mark));
  CHECK_FALSE(younger(1001, 499, mark));
  CHECK(younger(1001, 501, mark));
  CHECK(younger(1002, 499, mark));
  // After the highest PID come low ones again.
  CHECK(younger(1000, 301, {.tick = 1000, .last = 32767}));
  CHECK_FALSE(younger(1000, 32767, {.tick = 1000, .last = 301}));
  // Without /proc/loadavg only the ticks tell.
  CHECK_FALSE(younger(1000, 501, {.tick = 1000, .last = 0}));
  CHECK(younger(1001, 499, {.tick = 1000, .last = 0}));
}

TEST_CASE("what a main process started just before it died of our signal gets that signal") {
  ProcessTree tree;
  Pipe pipe = make_pipe(0);
  const pid_t leader = start_forker(pipe.write.get());
  std::array<pid_t, 2> escaped{};
  REQUIRE(::read(pipe.read.get(), escaped.data(), sizeof(pid_t)) == sizeof(pid_t));  // it is ready
  tree.lead(leader, false);
  tree.signal(SIGTERM);
  for (pid_t& pid : escaped) REQUIRE(::read(pipe.read.get(), &pid, sizeof pid) == sizeof pid);
  int status = 0;
  REQUIRE(::waitpid(leader, &status, 0) == leader);
  REQUIRE(WTERMSIG(status) == SIGTERM);
  tree.leader_reaped();
  tree.signal_escaped(SIGINT);  // that would have come from elsewhere
  for (const pid_t pid : escaped) CHECK(::waitpid(pid, &status, WNOHANG) <= 0);
  tree.signal_escaped(SIGTERM);
  for (const pid_t pid : escaped) {
    const bool ended = comes_true([&] { return ::waitpid(pid, &status, WNOHANG) == pid; });
    CHECK_MESSAGE((ended && WTERMSIG(status) == SIGTERM), pid);
    if (!ended) ::kill(pid, SIGKILL);
  }
}

namespace {

/// A job of four processes: the main process, its child, one in a session of its own, and one whose
/// parent has ended. Each tells its PID, and stops.
pid_t start_stopped(int pipe, bool own_group) {
  const pid_t leader = ::fork();
  if (leader != 0) return leader;
  std::signal(SIGTERM, SIG_DFL);  // doctest has a handler
  if (own_group) ::setpgid(0, 0);
  const auto stop = [pipe] {
    const pid_t self = ::getpid();
    static_cast<void>(::write(pipe, &self, sizeof self) > 0);
    ::raise(SIGSTOP);
    for (;;) ::pause();
  };
  if (::fork() == 0) stop();
  if (::fork() == 0) {
    ::setsid();
    stop();
  }
  const pid_t between = ::fork();
  if (between == 0) {
    if (::fork() != 0) ::_exit(0);
    ::setsid();
    stop();
  }
  ::waitpid(between, nullptr, 0);
  stop();
  return 0;
}

/// The letter for its state in proc(5), T: stopped; Z also for a process that is gone.
char state_of(pid_t pid) {
  std::string text(400, '\0');
  const Fd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY));
  const ssize_t length = ::read(file.get(), text.data(), text.size());
  return length > 0 ? text[text.rfind(')') + 2] : 'Z';
}

/// Such a job, stopped, and how its processes end.
struct StoppedJob {
  StoppedJob(ProcessTree& tree, bool own_group)
      : pipe(make_pipe(0)), leader(start_stopped(pipe.write.get(), own_group)) {
    tree.lead(leader, own_group);
    for (int count = 0; count < 4; ++count) {
      pid_t pid = 0;
      REQUIRE(::read(pipe.read.get(), &pid, sizeof pid) == sizeof pid);
      REQUIRE(comes_true([pid] { return state_of(pid) == 'T'; }));
      ends[pid] = 0;
    }
  }
  ~StoppedJob() {
    for (const auto& [pid, signal] : ends) {
      if (signal == 0 && ::kill(pid, SIGKILL) == 0) ::waitpid(pid, nullptr, 0);
    }
  }
  StoppedJob(const StoppedJob&) = delete;
  StoppedJob& operator=(const StoppedJob&) = delete;

  /// Waits until all of them are reaped.
  bool end() {
    return comes_true([this] {
      int status = 0;
      for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (WIFSIGNALED(status) && ends.contains(pid)) ends[pid] = WTERMSIG(status);
      }
      return std::ranges::all_of(ends, [](const auto& each) { return each.second != 0; });
    });
  }
  /// Our child whose parent has ended.
  [[nodiscard]] pid_t orphan() const {
    const auto found = std::ranges::find_if(ends, [this](const auto& each) {
      siginfo_t info{};
      return each.first != leader && ::waitid(P_PID, static_cast<id_t>(each.first), &info,
                                              WEXITED | WNOHANG | WNOWAIT) == 0;
    });
    REQUIRE(found != ends.end());
    return found->first;
  }

  Pipe pipe;
  pid_t leader;
  std::map<pid_t, int> ends;  ///< the signal that ended each, or 0
};

/// A /proc without one process.
struct ProcWithout {
  ProcWithout(pid_t hidden, const std::map<pid_t, int>& shown) {
    REQUIRE(::mkdtemp(directory.data()) != nullptr);
    for (const char* const name : {"self", "loadavg"}) links.emplace_back(name);
    for (const auto& [pid, end] : shown) {
      if (pid != hidden) links.push_back(std::to_string(pid));
    }
    for (const std::string& name : links) {
      REQUIRE(::symlink(("/proc/" + name).c_str(), (directory + "/" + name).c_str()) == 0);
    }
  }
  ~ProcWithout() {
    for (const std::string& name : links) ::unlink((directory + "/" + name).c_str());
    ::rmdir(directory.c_str());
  }
  ProcWithout(const ProcWithout&) = delete;
  ProcWithout& operator=(const ProcWithout&) = delete;

  std::string directory = "/tmp/redlock-unit.XXXXXX";
  std::vector<std::string> links;
};

}  // namespace

TEST_CASE("each process of a job gets the signal and the one after it, and once") {
  for (const bool own_group : {false, true}) {
    for (const int number : {SIGTERM, SIGKILL}) {
      CAPTURE(own_group);
      CAPTURE(number);
      ProcessTree tree;
      StoppedJob job(tree, own_group);
      CHECK(tree.count() == 4);
      // A stopped process takes a TERM only when it continues.
      const Pass pass = tree.signal(number, number == SIGTERM ? SIGCONT : 0);
      CHECK(pass.not_permitted.empty());
      CHECK(pass.found_new == (number == SIGKILL));
      CHECK(job.end());
      for (const auto& [pid, end] : job.ends) CHECK(end == number);
      tree.leader_reaped();
      CHECK(tree.empty());
    }
  }
}

TEST_CASE("the group that has a signal already does not get it again, and all others get it") {
  for (const bool own_group : {false, true}) {
    for (const bool hides : {false, true}) {
      for (int group_of = 0; group_of < 4; ++group_of) {
        CAPTURE(own_group);
        CAPTURE(hides);
        CAPTURE(group_of);
        ProcessTree tree;
        StoppedJob job(tree, own_group);
        std::optional<ProcWithout> proc;
        if (hides) {
          proc.emplace(job.orphan(), job.ends);
          tree.after_fork(OpenDirectory(::opendir(proc->directory.c_str())));
        }
        const pid_t group = ::getpgid(std::next(job.ends.begin(), group_of)->first);
        std::map<pid_t, bool> has_it;
        for (const auto& [pid, end] : job.ends) has_it[pid] = ::getpgid(pid) == group;
        tree.signal(SIGTERM, SIGCONT, group);
        for (const auto& [pid, has] : has_it) {
          // Whoever has it would take it with the CONT.
          if (has) CHECK(state_of(pid) == 'T');
          if (!has) CHECK(comes_true([each = pid] { return state_of(each) == 'Z'; }));
        }
        tree.signal(SIGKILL);
        CHECK(job.end());
        for (const auto& [pid, has] : has_it) CHECK(job.ends[pid] == (has ? SIGKILL : SIGTERM));
      }
    }
  }
}

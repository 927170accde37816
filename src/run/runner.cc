// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "driver/driver.h"
#include "driver/progress.h"
#include "lock/value.h"
#include "run/supervisor.h"
#include "run/worker.h"

namespace redlock::run {

namespace {

using driver::kSystemFailed;

/// The descriptors from the first request until the job runs, besides two connections per server: a
/// pipe, /proc, the terminal, in the worker a timer and two pidfds, and those of libraries.
constexpr std::size_t kDescriptors = 10;

/// Words that only a shell carries out.
constexpr std::string_view kBuiltins[] = {"alias", "case",  "cd",    "eval",   "exec", "export",
                                          "for",   "if",    "set",   "source", "trap", "ulimit",
                                          "umask", "unset", "until", "while"};

/// Whether the user may have meant these words, the first of which is no program, for a shell.
bool is_for_shell(const std::vector<std::string>& words) {
  return std::ranges::count(kBuiltins, words.front()) > 0 ||
         (words.size() == 1 && words.front().find_first_of(" \t|&;<>$") != std::string::npos);
}

/// Prints nothing if the text is empty.
void warn(const std::string& text, const config::Settings& settings, os::Stderr& out) {
  if (!text.empty() && !settings.quiet) out.line("redlock: warning: " + text);
}

/// Whether we may join the lock of an outer run, which may be of another kind (--as). One that it
/// shares with others cannot be ours alone inside of it: throws Error (64) unless that run has
/// ended.
bool may_join(const lock::Inherited& outer, const std::string& name,
              const config::Settings& settings) {
  const std::string& token = outer.token;
  const bool other_kind = lock::is_of_redisson(token) != (settings.as == config::As::redisson);
  if (other_kind && !may_still_hold(outer, name, settings)) return false;
  if (!lock::is_of_reader(token)) return true;
  const bool slot = lock::is_of_slot(token);
  if (slot ? lock::slot_of(token).slots == settings.slots : settings.shared) return true;
  if (!may_still_hold(outer, name, settings)) return false;
  const std::string option = slot ? fmt::format("--slots {}", lock::slot_of(token).slots) : "-s";
  throw Error(ExitStatus::usage,
              fmt::format("an outer redlock run holds {} {} ({}), and this run would wait for it "
                          "without end: use {}, or start this run after the outer one has ended "
                          "(--no-reentrant does not help)",
                          diag::lock_name(name), slot ? "in one slot" : "shared", option, option));
}

/// The process before the fork (run/run.h). If a system call fails, no lock stays and no
/// job runs without a lock:
///   before the fork         this process releases what it may hold (driver/driver.h)
///   while the job starts    it kills the child and tells the session that the job did not start
class Runner : private driver::Host {
 public:
  explicit Runner(Run& run);

  /// Returns when the job has ended and the lock is released, or when the attempt has failed.
  /// Gives the way in which redlock ends; returns in the parent only.
  Exit run();

  [[nodiscard]] const RunFacts& facts() const { return facts_; }

 private:
  bool perform(const lock::Effect& effect, lock::Instant now) override;
  void stepped() override {
    if (!session_.acquiring()) progress_.hide();
  }
  [[nodiscard]] lock::Instant deadline() const override {
    return std::min(
        {progress_.deadline(session_), status_.deadline(session_), manager_.watchdog_at()});
  }
  void poll_process(bool woken, lock::Instant now) override;
  void iterated(lock::Instant now) override;

  Exit watch_job();
  void start_job(const lock::Spawn& order);
  std::optional<lock::Event> fork_worker(const lock::Spawn& order, pid_t& worker);
  [[nodiscard]] std::vector<std::string> environment_for(Stage::Reader reader,
                                                         const lock::Inherited& held) const;
  std::optional<lock::Event> await_start(const lock::Spawn& order, pid_t worker, os::Fd messages);
  void supervise(const lock::Spawn& order, pid_t worker, os::Fd messages, pid_t job);
  void give_up_worker(pid_t worker) noexcept;
  [[nodiscard]] lock::JobFailedToStart cannot_run(const WorkerMessage& message);

  Run& run_;
  lock::Instant began_;  ///< session and metrics both measure the wait from here
  lock::Session session_;
  os::ServiceManager manager_;
  driver::Progress progress_;
  driver::Progress status_;  ///< of the wait, for the service manager
  driver::Driver driver_;

  std::optional<Reserve> reserve_;
  std::optional<Start> start_;
  std::optional<Supervisor> supervisor_;  ///< once the job runs
  RunFacts facts_;
};

Runner::Runner(Run& run)
    : run_(run),
      began_(os::boot_now()),
      session_(run.plan, began_),
      progress_(driver::progress_mode(run.settings), run.lock.name, run.plan.patience, run.out,
                began_),
      status_(manager_.listens() ? driver::Progress::Mode::status : driver::Progress::Mode::none,
              run.lock.name, run.plan.patience, run.out, began_, &manager_),
      driver_(session_, *this, run.servers, run.signals, {&run.reporter, &run.who}) {
  os::require_free_descriptors(kDescriptors + 2 * run.servers.size());
  reserve_.emplace();
  if (!run.stage.is_last()) run.tree.leader_passes_on();  // it is a redlock
}

Exit Runner::run() {
  try {
    driver_.run();
  } catch (const std::exception&) {
    driver::give_back(driver_, run_.plan, run_.lock.name, run_.out);
    throw;
  }
  if (supervisor_) return watch_job();
  run_.out.drain();
  const lock::Outcome& outcome = session_.outcome();
  facts_.waited = os::boot_now() - began_;
  facts_.conflict = outcome.kind == lock::Outcome::Kind::conflict ||
                    outcome.kind == lock::Outcome::Kind::superseded;
  return driver::exit_of(outcome, {run_.settings.conflict_exit_code, run_.settings.once_exit_code});
}

Exit Runner::watch_job() {
  const Exit result = supervisor_->watch();
  const lock::Instant start = began_ + facts_.waited;
  facts_.job->ran = supervisor_->job_ended() - start;
  facts_.job = run_.stage.run_of_command(*facts_.job, start);
  facts_.lost = supervisor_->lost();
  return result;
}

bool Runner::perform(const lock::Effect& effect, lock::Instant) {
  if (const auto* what = std::get_if<lock::Report>(&effect)) {
    run_.say(*what);
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    start_job(*order);
  } else {
    return false;
  }
  return true;
}

/// As a subreaper this process gets the orphans of processes that were there before it.
void Runner::poll_process(bool woken, lock::Instant) {
  while (woken && ::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void Runner::iterated(lock::Instant now) {
  progress_.update(session_, now);
  status_.update(session_, now);
  manager_.feed_watchdog(now);
}

/// If the job runs, the worker has the session from now on; otherwise ours learns what happened.
void Runner::start_job(const lock::Spawn& order) {
  std::optional<lock::Event> failure;
  pid_t worker = -1;
  try {
    failure = fork_worker(order, worker);
  } catch (const std::exception& error) {
    if (worker > 0) give_up_worker(worker);
    supervisor_.reset();
    if (start_) start_->job_control.start_failed();
    run_.out.line(fmt::format("redlock: cannot start the job: {}", driver::reason_of(error)));
    failure = kSystemFailed;
  }
  if (!failure) return driver_.stop();
  driver_.step(std::move(*failure), driver_.now());
}

/// Returns why the job did not start, or nothing: this process is the supervisor from now on.
std::optional<lock::Event> Runner::fork_worker(const lock::Spawn& order, pid_t& worker) {
  const lock::Inherited held{.token = run_.servers.token(order.attempt), .fence = order.fence};
  start_.emplace(Start{environment_for(Stage::Reader::job, held),
                       {run_.settings.on_lost, environment_for(Stage::Reader::lost_hook, held)},
                       JobControl(run_.signals)});
  if (!reserve_) reserve_.emplace();  // an earlier worker that failed has used up the first one
  reserve_->supervision->publish(session_.worker_state());
  facts_.waited = os::boot_now() - began_;  // from now on the job's time counts
  run_.tree.set_apart_children();
  const pid_t parent = ::getpid();
  worker = ::fork();
  if (worker < 0) return cannot_run({WorkerMessage::Kind::no_process, errno});
  if (worker == 0) {
    // No exception may leave this block: only the parent handles those of this function.
    try {
      Worker(run_, session_, driver_, *reserve_, *start_, parent).work(order);
    } catch (const std::exception& error) {
      run_.say_no_start(driver::reason_of(error));
      ::_exit(0);
    }
  }
  reserve_->messages.write.reset();
  reserve_->supervisor.reset();
  reserve_->proc.reset();
  return await_start(order, worker, std::move(reserve_->messages.read));
}

std::vector<std::string> Runner::environment_for(Stage::Reader reader,
                                                 const lock::Inherited& held) const {
  auto [dropped, added] = run_.stage.variables(reader, held.token, held.fence);
  dropped.emplace_back("REDLOCK_HELD");
  added.push_back("REDLOCK_HELD=" + add_held(run_.held, run_.lock, held));
  return os::environment_with(dropped, added);
}

std::optional<lock::Event> Runner::await_start(const lock::Spawn& order, pid_t worker,
                                               os::Fd messages) {
  WorkerMessage message{};
  ssize_t length = driver_.await_message(messages, &message, sizeof message, order.latest);
  const bool too_late = length < 0 && !reserve_->supervision->start_decided.exchange(true);
  if (length < 0 && !too_late) {
    // The job has begun, or is about to. After this limit, the time to stop it is left.
    length = driver_.await_message(messages, &message, sizeof message,
                                   order.latest + run_.plan.timing.ttl / 3);
  }
  const bool told = length == sizeof message;
  if (told && message.kind == WorkerMessage::Kind::job_started) {
    supervise(order, worker, std::move(messages), message.value);
    return std::nullopt;
  }
  if (told) {
    ::waitpid(worker, nullptr, 0);
  } else {
    give_up_worker(worker);
  }
  reserve_.reset();
  start_->job_control.start_failed();
  if (too_late || (told && message.kind == WorkerMessage::Kind::job_too_late)) {
    return lock::JobTooLate{};
  }
  if (told && message.kind == WorkerMessage::Kind::not_started) return kSystemFailed;
  if (told) return cannot_run(message);
  run_.out.line(
      fmt::format("redlock: {}: the process that starts the job (pid {}) {} before it reported the "
                  "start; if the job had begun, redlock killed it",
                  run_.title, worker, length < 0 ? "was stopped or stuck" : "was killed"));
  return kSystemFailed;
}

/// The job runs, and from now on this process is the supervisor.
void Runner::supervise(const lock::Spawn& order, pid_t worker, os::Fd messages, pid_t job) {
  // `ran` is measured from this moment: on a loaded machine the present one is much later.
  const auto began = std::chrono::time_point_cast<std::chrono::system_clock::duration>(
      std::chrono::system_clock::now() - (os::boot_now() - (began_ + facts_.waited)));
  facts_.job = RunFacts::Job{.began = began, .ran = {}, .fence = order.fence};
  run_.stage.note_start(began_ + facts_.waited);
  start_->job_control.supervise(job);
  supervisor_.emplace(run_, *start_, *reserve_->supervision, driver_.loop(), manager_, worker,
                      std::move(messages), job);
  run_.servers.drop_connections();
  run_.out.leave_to_child();
  // This process is the service's main process or, with several locks, below it.
  if (run_.stage.is_last()) manager_.tell("READY=1\nSTATUS=holds the lock, the job runs");
}

/// When the parent releases the lock, neither the worker nor the job may be alive.
void Runner::give_up_worker(pid_t worker) noexcept {
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  run_.killer.kill_all(run_.plan.timing.time_to_stop());
}

lock::JobFailedToStart Runner::cannot_run(const WorkerMessage& message) {
  if (!run_.stage.is_last()) {
    run_.out.line(fmt::format("redlock: cannot start itself again to take the next lock: {}",
                              std::strerror(message.value)));
    return kSystemFailed;
  }
  const ExitStatus status = message.kind == WorkerMessage::Kind::no_process ? ExitStatus::os_error
                            : message.value == ENOENT                       ? ExitStatus::not_found
                                                      : ExitStatus::cannot_execute;
  const std::vector<std::string> argv = run_.stage.argv();
  const bool for_shell = status == ExitStatus::not_found && is_for_shell(argv);
  run_.out.line(
      fmt::format("redlock: cannot run {}: {}{}",
                  argv.front().empty() ? "''" : diag::printable(argv.front(), 200),
                  message.kind == WorkerMessage::Kind::no_process
                      ? std::strerror(message.value)
                      : os::why_not_run(argv.front(), message.value),
                  for_shell ? "; for a shell command: redlock run NAME -c 'COMMAND'" : ""));
  return {static_cast<int>(status)};
}

}  // namespace

Exit carry_out(const cli::Run& request) {
  const std::string held(os::variable("REDLOCK_HELD"));
  // One moment for both: otherwise the first stage would wait a little less than -w says.
  const lock::Instant began = os::boot_now();
  const Stage stage(request, held, began);
  const config::Settings settings = stage.settings(began);
  os::Stderr out;
  if (stage.is_first()) {
    for (const std::string& warning : settings.warnings) warn(warning, settings, out);
  } else {
    os::rename_process("redlock", "redlock: " + stage.name());  // it is called after /proc/self/exe
  }
  const driver::LockId lock = driver::lock_id(settings, stage.name());
  lock::Plan plan = driver::plan_for(settings);
  if (settings.reentrant) plan.inherited = find_held(held, lock);
  if (plan.inherited && !may_join(*plan.inherited, lock.name, settings)) plan.inherited.reset();
  plan.stages = {.earlier = !stage.is_first(), .later = !stage.is_last()};
  const records::Holder who = driver::describe_ourselves(settings, request.job);
  redis::ServerSet servers =
      driver::open_servers(settings, lock, settings.ttl, driver::record_of(who),
                           plan.inherited ? plan.inherited->token : "");
  const std::string early = check_metrics_file(settings.metrics_file);
  warn(early, settings, out);
  diag::Reporter reporter = driver::reporter_for(settings, lock.name, out);

  Run run{plan, settings, lock, who, held, stage, servers, out, reporter};
  Runner runner(run);
  const Exit result = runner.run();
  try {
    const std::string late =
        add_to_metrics_file(settings.metrics_file, lock.key, runner.facts(), result.status);
    if (early.empty()) warn(late, settings, out);  // one warning is enough
  } catch (const std::bad_alloc&) {
    os::last_words("redlock: warning: no metrics: out of memory\n");
  }
  out.drain();
  return result;
}

}  // namespace redlock::run

// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "config/value.h"
#include "diag/reporter.h"
#include "diag/text.h"
#include "driver/driver.h"
#include "driver/output.h"
#include "driver/progress.h"
#include "driver/setup.h"
#include "error.h"
#include "hold/hold.h"
#include "hold/keeper.h"
#include "lock/by_token.h"
#include "lock/judgement.h"
#include "lock/value.h"
#include "observe/json.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "records/records.h"
#include "redis/servers/server_set.h"

namespace redlock::hold {

namespace {

using driver::kSystemFailed;
using records::Json;
using std::chrono::milliseconds;

/// For a loop that only asks servers.
class Bystander final : public driver::Host {
  bool take_signal(const lock::Signal&, lock::Instant) override { return true; }
};

/// The output of `redlock acquire --json` if somebody else held the lock until the limit; see
/// redlock-acquire(1). `now`: the moment at which redlock gave up.
std::string gave_up_json(const std::string& lock_name, const lock::Waiting& last,
                         const std::optional<lock::Superseded>& newer, lock::Instant now,
                         const config::Settings& settings) {
  Json state;
  Json holder;
  Json left;
  if (newer) {
    state = "superseded";
    holder = observe::holder_json(records::read_holder(newer->who), settings);
  } else if (const auto& refusal = last.refusal) {
    using Kind = lock::Sighting::Kind;
    lock::Sighting seen;  // what a query of the key on that server would have shown
    seen.kind = lock::type_of(refusal->blocker) ? Kind::other : Kind::value;
    seen.value = refusal->blocker;
    seen.holder = refusal->holder;
    state = observe::appearance_of(lock::state_of(seen)).word;
    holder = observe::holder_json(records::read_holder(refusal->holder), settings);
    if (refusal->ttl_left) {
      const auto since = std::chrono::ceil<milliseconds>(now - last.refused_at);
      left = observe::in_seconds(std::max(*refusal->ttl_left - since, milliseconds(0)));
    }
  }
  return Json::object({{"acquired", false},
                       {"name", lock_name},
                       {"state", state},
                       {"holder", holder},
                       {"left_s", left}})
      .output();
}

/// The heart of `redlock acquire` and `redlock hold`: the same session as that of a run. Where a
/// run would start its job, redlock ends, or hands the session to a keeper.
///
/// If a system call fails before the token is printed, redlock releases the lock
/// (driver/driver.h); during the handover the session releases it.
class Acquirer : private driver::Host {
 public:
  /// `who`: for the lock's log. Without `ward`, no keeper renews the lock. All must outlive this.
  Acquirer(const cli::ForLock& request, const driver::LockId& lock, const lock::Plan& plan,
           const records::Holder& who, const std::optional<Ward>& ward)
      : request_(request),
        settings_(request.settings),
        lock_(lock),
        plan_(plan),
        who_(who),
        ward_(ward),
        servers_(driver::open_servers(settings_, lock, who.ttl,
                                      [this] { return records::to_json(who_now()); })),
        reporter_(driver::reporter_for(settings_, lock.name, out_)),
        began_(os::boot_now()),
        session_(plan, began_),
        progress_(driver::progress_mode(settings_), lock.name, plan.patience, out_, began_),
        driver_(session_, *this, servers_, signals_,
                {.reporter = &reporter_, .who = &who_, .only_waits = true}) {
    if (ward_) reserve_.emplace();
    driver::require_connections(servers_.size());
  }

  /// Returns when the token is printed, or when the attempt has failed. Gives the way in which
  /// redlock ends.
  Exit run() {
    try {
      driver_.run();
      if (held_ && !ward_) linger();
      if (held_ && who_.maintenance) spread();
    } catch (const std::exception&) {
      // Once the token is printed, the lock belongs to its reader.
      if (!held_) {
        driver::give_back(driver_, plan_, lock_.name, out_);
        throw;
      }
    }
    if (held_ && who_.maintenance) say_held();
    out_.drain();
    if (held_) return ExitStatus::ok;
    if (ward_gone_) return ExitStatus::usage;
    if (interrupted_ != 0) return Exit::by_signal(interrupted_);
    const Exit result =
        driver::exit_of(session_.outcome(), {.conflict = settings_.conflict_exit_code, .done = 0});
    const lock::Outcome::Kind kind = session_.outcome().kind;
    const bool gave_up =
        kind == lock::Outcome::Kind::conflict || kind == lock::Outcome::Kind::superseded;
    if (!request_.json || !gave_up) return result;
    return driver::print(gave_up_json(lock_.name, session_.waiting(), session_.superseded(),
                                      os::boot_now(), request_.settings),
                         result);
  }

 private:
  bool perform(const lock::Effect& effect, lock::Instant) override {
    if (const auto* report = std::get_if<lock::Report>(&effect)) {
      reporter_.say(*report);
      if (const auto* won = std::get_if<lock::report::Acquired>(report)) {
        won_ = {.event = lock::Log::Event::acquired,
                .attempt = won->attempt,
                .fence = won->fence,
                .waited = won->waited};
      }
    } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
      if (auto answer = hand_over(*order)) driver_.step(std::move(*answer), driver_.now());
      if (held_) driver_.stop();
    } else {
      return false;
    }
    return true;
  }

  void stepped() override {
    if (!session_.acquiring()) progress_.hide();
  }
  [[nodiscard]] os::Interest watch() const override {
    if (!ward_ || ward_gone_) return {};
    return {.fd = ward_->process.get(), .read = true};
  }
  [[nodiscard]] lock::Instant deadline() const override { return progress_.deadline(session_); }

  /// When the ward is gone, nobody needs the lock any more: act as after a signal that ends us.
  void poll_process(bool woken, lock::Instant now) override {
    if (!woken || !ward_ || ward_gone_ || !os::has_ended(ward_->process)) return;
    ward_gone_ = true;
    out_.line(fmt::format("redlock: process {}, for which {} was to be kept, has ended", ward_->pid,
                          diag::lock_name(lock_.name)));
    driver_.step(lock::Signal{SIGHUP, true}, now);
  }

  void heard(const lock::Reply& reply) override {
    if (held_) reporter_.say_vote(reply);
  }
  void iterated(lock::Instant now) override { progress_.update(session_, now); }

  /// The token is printed. Waits for more servers to grant the lock, so that it survives the loss
  /// of one.
  void linger() {
    servers_.log(won_, records::word_for(won_.event), to_json(records::log_entry(won_, who_now())),
                 os::boot_now());
    driver_.finish_requests([this] { return !servers_.awaits_replies(); },
                            driver_.now() + settings_.request_timeout());
  }

  /// A job's renewals put its lock on the servers that did not grant it at first. Nobody renews a
  /// maintenance hold, and the loss of the keys of one more server would end it. So this puts it on
  /// those servers immediately, and waits a little for a server where another lock is about to end.
  void spread() {
    constexpr int kRounds = 10;
    constexpr milliseconds kPause{100};
    const auto elsewhere = [](const lock::Complaint& complaint) {
      return std::holds_alternative<lock::NotMine>(complaint.answer);
    };
    for (int round = 0; round < kRounds; ++round) {
      const lock::Duration rest = expiry() - os::unix_now();
      if (rest <= kPause) return;
      lock::ByToken renewal(servers_.size(), won_.attempt,
                            {.op = lock::Op::renew,
                             .timing = {.ttl = rest, .grace = {}},
                             .patience = settings_.request_timeout(),
                             .linger = settings_.request_timeout()},
                            driver_.now());
      Bystander host;
      driver::Driver(renewal, host, servers_, signals_, {.reporter = &reporter_}).run();
      if (std::ranges::none_of(renewal.complaints(), elsewhere)) return;
      driver_.finish_requests([] { return false; }, driver_.now() + kPause);
    }
  }

  /// For a person at a terminal, to whom the token alone says little.
  void say_held() {
    if (!settings_.verbose && (settings_.quiet || !os::Stderr::is_terminal())) return;
    out_.line(fmt::format("redlock: {} is held for maintenance until {}; to end that sooner: {}",
                          diag::lock_name(lock_.name), config::format_moment(expiry()),
                          observe::release_command(lock_.name, settings_)));
  }

  /// Returns nothing if the keeper has the session from now on.
  std::optional<lock::Event> hand_over(const lock::Spawn& order) {
    // Reads the clock again: somebody may have stopped us since the votes arrived.
    if (os::boot_now() >= order.latest) return lock::JobTooLate{};
    try {
      return ward_ ? start_keeper(order) : print_token(order);
    } catch (const std::exception& error) {
      end_keeper(SIGKILL);
      out_.line(fmt::format("redlock: cannot hand the lock over: {}", driver::reason_of(error)));
      return kSystemFailed;
    }
  }

  std::optional<lock::Event> start_keeper(const lock::Spawn& order) {
    if (!reserve_) reserve_.emplace();
    keeper_ = ::fork();
    if (keeper_ < 0) {
      out_.line(fmt::format("redlock: cannot start the process that is to keep the lock: {}",
                            std::strerror(errno)));
      return kSystemFailed;
    }
    if (keeper_ == 0) {
      out_.let_go();
      be_keeper(session_, servers_, signals_, *ward_, *reserve_, who_, won_,
                settings_.request_timeout());
    }
    reserve_->keepers.reset();
    char running = 0;
    if (driver_.await_message(reserve_->ours, &running, 1, order.latest) != 1) {
      end_keeper(SIGKILL);  // it has touched no connection: we can still release the lock
      out_.line("redlock: the process that was to keep the lock did not start");
      return kSystemFailed;
    }
    lock::Event printed = print_token(order);
    if (!held_) {
      send_message(reserve_->ours, KeeperMessage::end);
      end_keeper(0);
      return printed;
    }
    send_message(reserve_->ours, KeeperMessage::go);
    servers_.drop_connections();
    return std::nullopt;
  }

  /// `signal` 0: the keeper has got the message to end. On return the keeper is dead.
  void end_keeper(int signal) {
    if (keeper_ <= 0) return;
    if (signal != 0) ::kill(keeper_, signal);
    ::waitpid(keeper_, nullptr, 0);
    keeper_ = -1;
    reserve_.reset();
  }

  /// The holder since now, with the ttl that is left.
  [[nodiscard]] records::Holder who_now() const {
    records::Holder holder = records::since_now(who_);
    if (request_.until) holder.ttl = std::max(*request_.until - holder.since, milliseconds(0));
    return holder;
  }

  /// The end of the lease leaves room for drift. A person reads when the keys expire by clocks that
  /// agree with ours.
  [[nodiscard]] milliseconds expiry() const {
    if (request_.until) return *request_.until;
    const lock::Instant end =
        session_.worker_state().valid_until + lock::Timing::drift(plan_.timing.life());
    return os::unix_now() + std::chrono::floor<milliseconds>(end - os::boot_now());
  }

  [[nodiscard]] std::string describe_grant(const lock::Spawn& order) const {
    const std::string& token = servers_.token(order.attempt);
    if (!request_.json) return token + "\n";
    const auto valid_for =
        std::chrono::floor<milliseconds>(session_.worker_state().valid_until - os::boot_now());
    std::vector<Json::Member> members = {{"acquired", true},
                                         {"name", lock_.name},
                                         {"token", token},
                                         {"fence", order.fence},
                                         {"valid_for_s", observe::in_seconds(valid_for)}};
    if (who_.maintenance) {
      observe::add_time(members, "until", "until_ms", expiry());
    } else {
      members.emplace_back("keeper", keeper_ > 0 ? Json(keeper_) : Json());
    }
    return Json::object(members).output();
  }

  /// The reader may be slow, but only until the lock would expire too soon to be of use. Returns
  /// the answer to Spawn.
  lock::Event print_token(const lock::Spawn& order) {
    const std::string text = describe_grant(order);
    std::array<os::Interest, 2> interests{os::Interest{.fd = STDOUT_FILENO, .write = true},
                                          os::Interest{.fd = signals_.fd(), .read = true}};
    const char* why = "nobody reads it";
    do {
      driver_.await(interests, order.latest);
      if (interests[0].ready) {
        // The reader was slow, or somebody stopped us: the lock may have expired since.
        if (os::boot_now() >= order.latest) return lock::JobTooLate{};
        held_ =
            ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
        if (held_) return lock::JobStarted{};
        why = std::strerror(errno);
        break;
      }
      for (const os::ReceivedSignal& signal : signals_.take()) {
        if (signal.number == SIGCHLD || !os::ends_process_by_default(signal.number)) continue;
        interrupted_ = signal.number;
        return lock::JobFailedToStart{Exit::by_signal(signal.number).status};
      }
    } while (os::boot_now() < order.latest);
    out_.line(fmt::format("redlock: cannot write the token to standard output: {}", why));
    return kSystemFailed;
  }

  const cli::ForLock& request_;
  const config::Settings& settings_;
  const driver::LockId& lock_;
  const lock::Plan& plan_;
  const records::Holder& who_;
  const std::optional<Ward>& ward_;
  os::SignalSource signals_;  // first: from here on no signal ends us while we hold a lock
  os::Stderr out_;
  redis::ServerSet servers_;
  diag::Reporter reporter_;
  lock::Instant began_;
  lock::Session session_;
  driver::Progress progress_;
  driver::Driver driver_;
  /// Redlock takes it before it asks for the lock: if that fails, there is no lock yet
  /// to release.
  std::optional<KeeperReserve> reserve_;
  pid_t keeper_ = -1;
  lock::Log won_{};    ///< the line for the lock's log
  bool held_ = false;  ///< the token is printed
  bool ward_gone_ = false;
  int interrupted_ = 0;  ///< this signal came after the grant and before the token was printed
};

/// Takes the lock, and prints its token: what acquire and hold do alike.
Exit take(const cli::ForLock& request, const driver::LockId& lock, const lock::Plan& plan,
          const records::Holder& who, const std::optional<Ward>& ward) {
  if (os::output_was_closed()) {
    throw Error(ExitStatus::os_error, "standard output is closed: the token cannot be printed");
  }
  return Acquirer(request, lock, plan, who, ward).run();
}

std::optional<Ward> find_ward(const cli::Acquire& request) {
  if (!request.keep_for) return std::nullopt;
  if (*request.keep_for == ::getpid()) {
    throw Error(
        ExitStatus::usage,
        "--keep-for: this is the PID of redlock itself, as $BASHPID is inside $(...); use $$, "
        "or me=$BASHPID before $(...)");
  }
  os::Fd process = os::find_process(*request.keep_for);
  if (!process) {
    throw Error(ExitStatus::usage,
                "--keep-for: there is no process " + std::to_string(*request.keep_for));
  }
  if (request.on_lost_signal != 0 && !os::send_signal(process, 0) && errno != ESRCH) {
    throw Error(ExitStatus::os_error,
                fmt::format("--on-lost-signal: redlock cannot signal process {}: {}",
                            *request.keep_for, std::strerror(errno)));
  }
  return Ward{*request.keep_for, std::move(process), request.on_lost_signal};
}

/// redlock acquire does not run while the lock is held. So the record names the process for which
/// the keeper keeps the lock, or our caller.
records::Holder describe_holder(const cli::Acquire& request) {
  std::vector<std::string> command = {"redlock", "acquire"};
  if (request.keep_for) {
    command.insert(command.end(), {"--keep-for", std::to_string(*request.keep_for)});
  }
  command.push_back(request.name);
  records::Holder holder = driver::describe_ourselves(request.settings, command);
  holder.pid = request.keep_for.value_or(::getppid());
  holder.unattended = !request.keep_for;
  holder.unwarned = request.keep_for && request.on_lost_signal == 0;
  return holder;
}

/// No process has to be stopped when the lock ends, so it needs no grace. A hold until a fixed
/// moment gets shorter while redlock waits for it, and then redlock waits no longer than that.
lock::Plan plan_for_hold(const cli::Hold& request) {
  lock::Plan plan = driver::plan_for(request.settings);
  plan.timing.ttl = request.length;
  plan.timing.grace = {};
  if (request.until) {
    constexpr std::chrono::seconds kShortest{1};  // a shorter hold is of no use
    const lock::Duration rest = *request.until - os::unix_now();
    plan.timing.ends_at = os::boot_now() + rest;
    plan.patience.wait =
        std::min<lock::Duration>(plan.patience.wait.value_or(lock::Duration::max()),
                                 std::max<lock::Duration>(rest - kShortest, {}));
  }
  return plan;
}

}  // namespace

Exit carry_out(const cli::Acquire& request) {
  const driver::LockId lock = driver::lock_id(request.settings, request.name);
  const records::Holder who = describe_holder(request);
  const std::optional<Ward> ward = find_ward(request);
  lock::Plan plan = driver::plan_for(request.settings);
  // Without --on-lost-signal there is no process to stop, and so no grace is needed.
  if (request.on_lost_signal == 0) plan.timing.grace = {};
  return take(request, lock, plan, who, ward);
}

Exit carry_out(const cli::Hold& request) {
  const driver::LockId lock = driver::lock_id(request.settings, request.name);
  records::Holder who =
      driver::describe_ourselves(request.settings, {"redlock", "hold", request.name});
  who.pid = ::getppid();  // redlock itself does not run while the lock is held
  who.maintenance = true;
  who.ttl = request.length;
  return take(request, lock, plan_for_hold(request), who, std::nullopt);
}

}  // namespace redlock::hold

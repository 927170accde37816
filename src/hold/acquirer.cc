// SPDX-License-Identifier: MIT
#include "hold/acquirer.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <exception>
#include <utility>

#include "diag/text.h"
#include "driver/output.h"
#include "driver/setup.h"
#include "error.h"
#include "exit_status.h"
#include "hold/refused_json.h"
#include "os/clock.h"
#include "records/json.h"
#include "records/log_entry.h"

namespace redlock::hold {

namespace {

constexpr lock::JobFailedToStart kSystemRefused{static_cast<int>(ExitStatus::os_error)};

/// A keeper that is dead cannot be helped. One that lives must hear it: without a word it takes us
/// for dead, and would give back a lock whose token is known.
void say(const os::Fd& keeper, KeeperWord word) {
  constexpr int kTries = 100;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 10'000'000};
  const auto byte = static_cast<char>(word);
  for (int tries = 0; tries < kTries; ++tries) {
    if (::send(keeper.get(), &byte, 1, MSG_NOSIGNAL) == 1 || errno == EPIPE) return;
    ::nanosleep(&kPause, nullptr);
  }
}

}  // namespace

Acquirer::Acquirer(const lock::Plan& plan, const Grant& grant, redis::ServerSet& servers,
                   os::Stderr& out, diag::Reporter& reporter, driver::Progress::Mode progress,
                   driver::ChosenStatus chosen)
    : grant_(grant),
      chosen_(chosen),
      servers_(servers),
      out_(out),
      reporter_(reporter),
      began_(os::boot_now()),
      session_(plan, began_),
      progress_(progress, grant.lock_name, plan.patience, out, began_),
      driver_(session_, *this, servers, signals_, {.reporter = &reporter}),
      patience_(plan.server_timeout),
      life_(plan.timing.life()) {
  if (grant_.ward) reserve_.emplace();
  driver::require_connections(servers.size());
}

Exit Acquirer::run() {
  try {
    driver_.run();
    if (!held_) driver_.part();
    if (held_ && !grant_.ward) linger();
  } catch (const std::exception&) {
    // A token that is printed is its owner's.
    if (!held_) {
      give_back();
      throw;
    }
  }
  out_.drain(std::chrono::milliseconds(100));
  if (held_) return {0};
  if (ward_gone_) return {static_cast<int>(ExitStatus::usage)};
  if (interrupted_ != 0) return {128 + interrupted_, interrupted_};
  const Exit result = driver::exit_of(session_.outcome(), chosen_);
  const bool conflict = session_.outcome().kind == lock::Outcome::Kind::conflict;
  return grant_.json && conflict ? Exit{print_refusal(result.status)} : result;
}

/// A program that asked for JSON gets some. Gives `status`, or 71 if that could not be written.
int Acquirer::print_refusal(int status) const {
  const std::string text = refused_json(grant_.lock_name, session_.waiting(), os::boot_now());
  return driver::print(text, static_cast<ExitStatus>(status));
}

void Acquirer::give_back() noexcept {
  if (rescue_.give_back(driver_, patience_)) return;
  driver::say_may_stay_locked(grant_.lock_name, life_, out_);
}

os::Interest Acquirer::watch() const {
  if (!grant_.ward || ward_gone_) return {};
  return {.fd = grant_.ward->process.fd(), .read = true};
}

/// With its ward gone nobody is left to hold the lock for: as if we had been asked to end.
void Acquirer::look(bool woken, lock::Instant now) {
  if (!woken || !grant_.ward || ward_gone_ || !grant_.ward->process.gone()) return;
  ward_gone_ = true;
  out_.line(fmt::format("redlock: process {}, for which {} was to be kept, has ended",
                        grant_.ward->process.pid(), diag::printable(grant_.lock_name, 255)));
  driver_.step(lock::Signal{SIGHUP, true}, now);
}

void Acquirer::heard(const lock::Reply& reply) {
  if (held_) reporter_.say_vote(reply);
}

void Acquirer::turned(lock::Instant now) {
  progress_.turn(session_, servers_, now);
}

void Acquirer::stepped() {
  if (!session_.acquiring()) progress_.hide();
}

bool Acquirer::perform(const lock::Effect& effect, lock::Instant now) {
  if (const auto* report = std::get_if<lock::Report>(&effect)) {
    reporter_.say(*report);
    if (const auto* won = std::get_if<lock::report::Acquired>(report)) {
      won_ = {.event = lock::Log::Event::acquired,
              .attempt = won->attempt,
              .fence = won->fence,
              .waited = won->waited};
    }
  } else if (const auto* order = std::get_if<lock::Spawn>(&effect)) {
    if (auto answer = hand_over(*order)) driver_.step(std::move(*answer), now);
    if (held_) driver_.stop();
  } else {
    return false;
  }
  return true;
}

/// Nothing comes back if the session is the keeper's from now on.
std::optional<lock::Event> Acquirer::hand_over(const lock::Spawn& order) {
  // The clock is read once more: we may have been stopped since the votes came in.
  if (os::boot_now() >= order.latest) return lock::JobTooLate{};
  try {
    return grant_.ward ? start_keeper(order) : print_token(order);
  } catch (const std::exception& error) {
    end_keeper(SIGKILL);
    out_.line(fmt::format("redlock: cannot hand the lock over: {}", driver::reason_of(error)));
    return kSystemRefused;
  }
}

std::optional<lock::Event> Acquirer::start_keeper(const lock::Spawn& order) {
  if (!reserve_) reserve_.emplace();
  keeper_ = ::fork();
  if (keeper_ < 0) {
    out_.line(fmt::format("redlock: cannot start the process that is to keep the lock: {}",
                          std::strerror(errno)));
    return kSystemRefused;
  }
  if (keeper_ == 0) be_keeper();
  reserve_->keepers.reset();
  if (!await_keeper(reserve_->ours, order.latest)) return keeper_failed();
  lock::Event printed = print_token(order);
  if (!held_) {
    say(reserve_->ours, KeeperWord::end);
    end_keeper(0);
    return printed;
  }
  say(reserve_->ours, KeeperWord::go);
  servers_.drop_connections();
  return std::nullopt;
}

/// Nothing may be thrown from here to what the parent would do about it.
void Acquirer::be_keeper() noexcept {
  try {
    reserve_->ours.reset();
    out_.let_go();
    Keeper(session_, servers_, signals_, *grant_.ward, std::move(reserve_->keepers),
           std::move(reserve_->loop), {grant_.who, won_})
        .keep(grant_.linger, rescue_);
  } catch (const std::exception&) {
    ::_exit(0);  // the parent sees it
  }
}

/// `signal` 0: it has been told to. Either way it is gone afterwards.
void Acquirer::end_keeper(int signal) {
  if (keeper_ <= 0) return;
  if (signal != 0) ::kill(keeper_, signal);
  ::waitpid(keeper_, nullptr, 0);
  keeper_ = -1;
  reserve_.reset();
}

bool Acquirer::await_keeper(os::Fd& keeper, lock::Instant latest) {
  std::array<os::Interest, 1> interests{os::Interest{.fd = keeper.get(), .read = true}};
  char word = 0;
  ssize_t length = -1;
  do {
    driver_.await(interests, latest);
    length = ::read(keeper.get(), &word, 1);
  } while (length < 0 && os::boot_now() < latest);
  return length == 1;
}

/// It has touched no connection: the lock is still ours to give back.
lock::JobFailedToStart Acquirer::keeper_failed() {
  end_keeper(SIGKILL);
  out_.line("redlock: the process that was to keep the lock did not start");
  return kSystemRefused;
}

std::string Acquirer::describe_grant(const lock::Spawn& order) const {
  const std::string& token = servers_.token(order.attempt);
  if (!grant_.json) return token + "\n";
  const auto valid_for = std::chrono::floor<std::chrono::milliseconds>(
      session_.worker_state().valid_until - os::boot_now());
  return records::Json::object({{"acquired", true},
                                {"name", grant_.lock_name},
                                {"token", token},
                                {"fence", order.fence},
                                {"valid_for_s", std::chrono::duration<double>(valid_for).count()},
                                {"keeper", keeper_ > 0 ? records::Json(keeper_) : records::Json()}})
      .output();
}

/// A reader may be slow, but only as long as the lock lasts long enough to be of use to it. Gives
/// what became of it, as an answer to Spawn.
lock::Event Acquirer::print_token(const lock::Spawn& order) {
  const std::string text = describe_grant(order);
  std::array<os::Interest, 2> interests{os::Interest{.fd = STDOUT_FILENO, .write = true},
                                        os::Interest{.fd = signals_.fd(), .read = true}};
  const char* why = "nobody reads it";
  do {
    driver_.await(interests, order.latest);
    if (interests[0].ready) {
      // A reader that was slow, or we: the lock may have expired meanwhile.
      if (os::boot_now() >= order.latest) return lock::JobTooLate{};
      held_ = ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
      if (held_) return lock::JobStarted{};
      why = std::strerror(errno);
      break;
    }
    for (const os::ReceivedSignal& signal : signals_.take()) {
      if (signal.number == SIGCHLD || !os::ends_process_by_default(signal.number)) continue;
      interrupted_ = signal.number;
      return lock::JobFailedToStart{128 + signal.number};
    }
  } while (os::boot_now() < order.latest);
  out_.line(fmt::format("redlock: cannot write the token to standard output: {}", why));
  return kSystemRefused;
}

/// The lock is held, and printed; with more servers that have it, it outlives the death of one.
void Acquirer::linger() {
  servers_.log(won_, records::word_for(won_.event), to_json(records::log_entry(won_, grant_.who)),
               os::boot_now());
  driver_.finish_requests([this] { return servers_.deadline() == lock::kNever; },
                          driver_.now() + grant_.linger);
}

}  // namespace redlock::hold

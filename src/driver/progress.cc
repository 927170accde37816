// SPDX-License-Identifier: MIT
#include "driver/progress.h"

#include <unistd.h>

#include "diag/progress.h"
#include "driver/output.h"
#include "driver/setup.h"
#include "os/clock.h"
#include "os/fd.h"

namespace redlock::driver {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A shorter wait is not worth a line. By then our place in the queue is known as well.
constexpr milliseconds kFirstLook{200};
constexpr milliseconds kLookAgain{100};

/// After this time redlock says so even if it knows nothing, or if servers are missing.
constexpr seconds kSilence{1};

constexpr std::size_t kUsualWidth = 80;

bool is_ci() {
  const std::string_view text = os::variable("CI");
  return !text.empty() && text != "0" && text != "false";
}

lock::Duration interval(Progress::Mode mode) {
  if (mode == Progress::Mode::live) return seconds(1);
  return mode == Progress::Mode::status ? seconds(5) : seconds(60);
}

}  // namespace

Progress::Mode progress_mode(const config::Settings& settings) {
  using Mode = Progress::Mode;
  if (settings.quiet || settings.progress == config::When::never) return Mode::none;
  if (os::Stderr::is_terminal()) return Mode::live;
  return settings.progress == config::When::always || is_ci() ? Mode::lines : Mode::none;
}

diag::Reporter reporter_for(const config::Settings& settings, const std::string& lock_name,
                            os::Stderr& out) {
  std::vector<std::string> servers;
  for (const redis::Endpoint& server : settings.servers) servers.push_back(server.brief());
  const diag::Verbosity verbosity = settings.verbose > 1   ? diag::Verbosity::detailed
                                    : settings.verbose > 0 ? diag::Verbosity::verbose
                                    : settings.quiet       ? diag::Verbosity::quiet
                                                           : diag::Verbosity::normal;
  return {out,
          lock_name,
          std::move(servers),
          verbosity,
          {.shown = progress_mode(settings) != Progress::Mode::none,
           .conflict_status = settings.conflict_exit_code,
           .list = server_list(settings),
           .slots = settings.slots,
           .max_waiting = settings.max_waiting,
           .where = settings.where,
           .newest = settings.newest}};
}

Progress::Progress(Mode mode, std::string lock_name, const lock::Patience& patience,
                   os::Stderr& out, lock::Instant began, const os::ServiceManager* manager)
    : mode_(mode),
      lock_(std::move(lock_name)),
      limit_(patience.wait),
      out_(out),
      manager_(manager),
      began_(began),
      next_(mode == Mode::none ? lock::kNever : began + kFirstLook) {
  if (limit_ != lock::Duration::zero()) return;
  limit_.reset();  // the user has not asked for the short wait of -n
  if (mode_ != Mode::live) next_ = lock::kNever;
}

void Progress::update(const lock::Session& session, lock::Instant now) {
  if (now < deadline(session)) return;
  const lock::Waiting state = session.waiting();
  const bool known = state.refusal && !state.lacks_quorum;
  if (!known && now - began_ < kSilence) {
    next_ = now + kLookAgain;
    return;
  }
  show(state, now);
  next_ = diag::next_due(began_, interval(mode_), now);
}

/// The last column stays empty: some terminals begin a new line when a program writes to it.
void Progress::show(const lock::Waiting& state, lock::Instant now) const {
  const diag::WaitFacts facts{.lock = lock_,
                              .state = state,
                              .refusal_age = now - state.refused_at,
                              .waited = now - began_,
                              .limit = limit_,
                              .unix_time = os::unix_now()};
  if (mode_ == Mode::status) return manager_->tell("STATUS=" + diag::plain_line(facts));
  if (mode_ == Mode::lines) return out_.line("redlock: " + diag::plain_line(facts));
  const std::size_t width = os::terminal_width(STDERR_FILENO).value_or(kUsualWidth) - 1;
  const std::string line = diag::live_line(facts, width, charset_of_locale());
  out_.show(line, diag::columns(line));
}

}  // namespace redlock::driver

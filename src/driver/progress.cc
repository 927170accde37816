// SPDX-License-Identifier: MIT
#include "driver/progress.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <set>

#include "diag/progress.h"
#include "diag/text.h"
#include "driver/output.h"
#include "driver/setup.h"
#include "os/clock.h"
#include "os/fd.h"
#include "records/records.h"

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
  const char* const value = std::getenv("CI");
  const std::string_view text = value == nullptr ? "" : value;
  return !text.empty() && text != "0" && text != "false";
}

lock::Duration interval(Progress::Mode mode) {
  if (mode == Progress::Mode::live) return seconds(1);
  return mode == Progress::Mode::status ? seconds(5) : seconds(60);
}

/// Only a person waits for these words.
constexpr milliseconds kLookAtLog{50};
constexpr seconds kMostReading{3};

/// The lengths of the runs that ended well, the latest first.
std::vector<milliseconds> lengths_of(const std::vector<redis::LoggedLine>& latest_first) {
  std::set<std::string> others;  // lost, revoked, or counted
  for (const redis::LoggedLine& line : latest_first) {
    if (line.event == "lost" || line.event == "revoked") others.insert(line.run);
  }
  std::vector<milliseconds> lengths;
  for (const redis::LoggedLine& line : latest_first) {
    if (line.event != "released" || !others.insert(line.run).second) continue;
    const auto entry = records::read_log_entry(line.data);
    if (entry && entry->status == 0 && entry->held) lengths.push_back(*entry->held);
  }
  return lengths;
}

}  // namespace

UsualRun::UsualRun(const config::Settings& settings, const redis::ServerSet& servers,
                   std::string key)
    : settings_(settings), servers_(servers), key_(std::move(key)) {}

bool UsualRun::turn(lock::Instant now) noexcept {
  if (now < next_) return false;
  next_ = now + kLookAtLog;
  try {
    read(now);
  } catch (const std::exception&) {
    stop();
  }
  return !reading_ && usual_;
}

void UsualRun::read(lock::Instant now) {
  if (!reading_) {
    limit_ = now + kMostReading;
  } else {
    reading_->questions.turn(now);
    const bool finished = reading_->questions.finished();
    if (!finished && now < limit_) return;
    const bool failed = finished && reading_->log.trouble();
    if (finished && !failed) usual_ = diag::usual_of(lengths_of(reading_->log.take_lines()));
    stop();
    if (!failed || ++server_ == settings_.servers.size() || now >= limit_) return;
    next_ = now + kLookAtLog;
  }
  // turn() comes so seldom that the time-outs of a vote would be too short.
  reading_.emplace(settings_.servers[server_], servers_.tls_for(server_),
                   redis::Timeouts{.request = kMostReading, .connect = kMostReading});
  reading_->log.read(key_, now, redis::LogReader::Extent::latest);
}

void UsualRun::stop() noexcept {
  reading_.reset();
  next_ = lock::kNever;
}

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
           .fingerprint = server_set_fingerprint(settings.servers),
           .slots = settings.slots,
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

void Progress::tell_usual(const config::Settings& settings, const redis::ServerSet& servers,
                          const std::string& lock_key) {
  const bool try_once = settings.wait && *settings.wait == lock::Duration::zero();
  if (mode_ != Mode::live || settings.log_entries == 0 || try_once) return;
  usual_.emplace(settings, servers, lock_key);
}

void Progress::turn(const lock::Session& session, lock::Instant now) {
  if (now < deadline(session)) return;
  const bool news = usual_ && usual_->turn(now);
  if (now < next_ && !news) return;
  const lock::Waiting state = session.waiting();
  const bool known = state.refusal && !state.lacks_quorum;
  if (!known && now - began_ < kSilence) {
    next_ = now + kLookAgain;
    return;
  }
  if (usual_) usual_->begin(now);
  show(state, now);
  next_ = diag::next_due(began_, interval(mode_), now);
}

/// The last column stays empty: some terminals begin a new line when a program writes to it.
void Progress::show(const lock::Waiting& state, lock::Instant now) const {
  const diag::WaitFacts facts{.lock = lock_,
                              .state = state,
                              .refusal_age = now - state.refused_at,
                              .usual = usual_ ? usual_->usual() : std::nullopt,
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

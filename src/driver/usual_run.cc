// SPDX-License-Identifier: MIT
#include "driver/usual_run.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <set>
#include <utility>
#include <vector>

#include "os/descriptors.h"
#include "records/log_entry.h"

namespace redlock::driver {

namespace {

using std::chrono::milliseconds;

/// Only a person waits for these words.
constexpr milliseconds kLookAtLog{50};
constexpr std::chrono::seconds kMostReading{3};

/// A few for this connection, and enough for those that the wait may still open.
constexpr std::size_t kSpareDescriptors = 32;

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

void UsualRun::begin(lock::Instant now) noexcept {
  if (std::exchange(begun_, true)) return;
  limit_ = now + kMostReading;
  try {
    os::require_free_descriptors(2 * settings_.servers.size() + kSpareDescriptors);
    ask(now);
  } catch (const std::exception&) {
    stop();
  }
}

void UsualRun::ask(lock::Instant now) {
  // It looks so seldom that the time-outs of a vote would be too short.
  reader_.emplace(settings_.servers[server_], servers_.tls_for(server_),
                  redis::Timeouts{.request = kMostReading, .connect = kMostReading});
  reader_->read(key_, now, redis::LogReader::Extent::latest);
  next_ = now + kLookAtLog;
}

bool UsualRun::turn(lock::Instant now) noexcept {
  if (now < next_ || !reader_) return false;
  try {
    look(now);
  } catch (const std::exception&) {
    stop();
  }
  return !reader_ && usual_;
}

void UsualRun::look(lock::Instant now) {
  next_ = now + kLookAtLog;
  reader_->turn(now);
  if (reader_->finished()) {
    const bool failed = reader_->trouble().has_value();
    if (!failed) usual_ = diag::usual_of(lengths_of(reader_->take_lines()));
    stop();
    if (failed && ++server_ < settings_.servers.size() && now < limit_) ask(now);
  } else if (now >= limit_) {
    stop();
  }
}

void UsualRun::stop() noexcept {
  reader_.reset();
  next_ = lock::kNever;
}

}  // namespace redlock::driver

// SPDX-License-Identifier: MIT
#include "hold/token_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "diag/blocker.h"
#include "diag/duration.h"
#include "driver/setup.h"
#include "error.h"
#include "inspect/observed.h"
#include "inspect/query.h"
#include "lock/revoking.h"
#include "lock/token.h"
#include "lock/value.h"
#include "os/clock.h"
#include "records/holder.h"
#include "records/log_entry.h"

namespace redlock::hold {

namespace {

constexpr lock::AttemptId kTheirs = 1;

lock::ByToken::Terms terms_for(const config::Settings& settings, lock::Op op) {
  lock::Duration patience = settings.server_wait;
  // The first vote renewed must still be of use when the last one is renewed.
  if (op == lock::Op::renew) patience = std::min<lock::Duration>(patience, settings.ttl / 2);
  return {.op = op,
          .timing = {.ttl = settings.ttl, .grace = {}},
          .patience = patience,
          .linger = settings.request_timeout()};
}

}  // namespace

TokenCommand::TokenCommand(const config::Settings& settings, const Possession& possession,
                           lock::Op op)
    : settings_(settings),
      possession_(possession),
      op_(op),
      reporter_(out_, possession.lock.name, driver::displays_of(settings),
                driver::verbosity_of(settings)),
      servers_(driver::open_servers(settings, possession.lock,
                                    [record = possession.record] { return record; })),
      by_token_(settings.servers.size(), kTheirs, terms_for(settings, op), os::boot_now()),
      driver_(by_token_, *this, servers_, signals_, {.reporter = &reporter_}) {
  servers_.adopt(kTheirs, possession.token);
}

Exit TokenCommand::run() {
  driver::require_connections(servers_.size());
  if (op_ == lock::Op::leave) note_release();
  driver_.run();
  if (op_ == lock::Op::renew && by_token_.state() == lock::ByToken::State::done) note_renewal();
  const Exit result = interrupted_ != 0 ? Exit::by_signal(interrupted_) : tell();
  out_.drain(std::chrono::milliseconds(100));
  return result;
}

/// Writes the end of the run into the log, together with the request.
void TokenCommand::note_release() {
  const auto holder = records::read_holder(possession_.record);
  if (!holder) return;
  const lock::Log line{.event = lock::Log::Event::released,
                       .carrier = lock::Log::Carrier::leave,
                       .attempt = kTheirs,
                       .fence = possession_.fence,
                       .held = diag::ago(holder->since)};
  servers_.log(line, records::word_for(line.event), to_json(records::log_entry(line, *holder)),
               os::boot_now());
}

/// The log has no line for the end of a maintenance hold that just expires: history computes it.
void TokenCommand::note_renewal() {
  auto holder = records::read_holder(possession_.record);
  if (!holder || !holder->maintenance) return;
  holder->ttl = settings_.ttl;
  const lock::Log line{
      .event = lock::Log::Event::acquired, .attempt = kTheirs, .fence = possession_.fence};
  servers_.log(line, "renewed", to_json(records::log_entry(line, *holder)), os::boot_now());
  driver_.finish_requests([this] { return servers_.deadline() == lock::kNever; },
                          driver_.now() + settings_.request_timeout());
}

bool TokenCommand::take_signal(const lock::Signal& signal, lock::Instant) {
  if (signal.ends_waiting) {
    interrupted_ = signal.number;
    driver_.stop();
  }
  return true;
}

ExitStatus TokenCommand::tell() {
  switch (by_token_.state()) {
    case lock::ByToken::State::done:
      if (possession_.revoked.empty()) return ExitStatus::ok;
      reporter_.say_not_held(possession_.revoked);
      return ExitStatus::lost;
    case lock::ByToken::State::not_ours:
      // The lock was ours when the command started, and somebody has released it since: a keeper
      // did so when its process ended.
      if (op_ == lock::Op::leave && possession_.held) return ExitStatus::ok;
      reporter_.say_not_held(who_has_it());
      return ExitStatus::lost;
    case lock::ByToken::State::trying:
    case lock::ByToken::State::unavailable:
      break;
  }
  if (op_ == lock::Op::renew) {
    reporter_.say(lock::Report(lock::report::Unavailable{by_token_.complaints()}));
  } else {
    reporter_.say_not_released(by_token_.complaints());
  }
  return ExitStatus::unavailable;
}

/// The holder of the lock now, as far as the servers show it.
std::string TokenCommand::who_has_it() const {
  inspect::Query query(settings_);
  const std::vector<inspect::Observed> found =
      query.look({possession_.lock.name}, redis::Observer::Marks::ignored);
  const inspect::Observed& lock = found.front();
  if (lock.judgement.state == lock::State::free) return "it was released, or has expired";
  if (!lock.sighting) return "no quorum of the servers holds it";
  if (lock.sighting->value == possession_.token) return "it is held by too few servers";
  if (lock.shared && lock::is_of_reader(possession_.token))
    return "it was released, or has expired; others still read";
  return diag::describe(inspect::as_refusal(*lock.sighting));
}

lock::Duration TokenCommand::valid_for() const {
  return std::max(by_token_.valid_until() - os::boot_now(), lock::Duration::zero());
}

namespace {

const lock::Reader* find_reader(const lock::Sighting& sighting, std::string_view token) {
  const auto found = std::ranges::find(sighting.readers, token, &lock::Reader::token);
  return found == sighting.readers.end() ? nullptr : &*found;
}

}  // namespace

Possession look_up(const config::Settings& settings, const std::string& lock_name,
                   std::string token) {
  inspect::Query query(settings);
  const inspect::Observed found =
      query.look({lock_name}, redis::Observer::Marks::ignored, token).front();
  Possession possession{.lock = found.id,
                        .token = std::move(token),
                        .record = {},
                        .fence = found.judgement.fence,
                        .revoked = {}};
  possession.held = found.judgement.state == lock::State::held &&
                    lock::owner_of(*found.sighting) == possession.token;
  for (const lock::Reader& reader : found.readers) {
    if (reader.token != possession.token) continue;
    possession.held = found.judgement.state == lock::State::held;
    possession.fence = reader.fence;
  }
  for (const lock::Seen& seen : found.seen) {
    const auto* sighting = std::get_if<lock::Sighting>(&seen);
    if (sighting == nullptr || sighting->kind != lock::Sighting::Kind::value) continue;
    const lock::Value value = lock::read_value(sighting->value);
    const lock::Reader* reader = find_reader(*sighting, possession.token);
    if (value.token != possession.token && reader == nullptr) continue;
    if (possession.record.empty()) {
      possession.record = reader != nullptr ? reader->holder : sighting->holder;
    }
    if (value.kind == lock::Value::Kind::revoked) {
      possession.revoked = diag::describe(inspect::as_refusal(*sighting));
    }
  }
  return possession;
}

/// The record is untrusted: any client may have written it.
std::optional<std::chrono::milliseconds> recorded_ttl(const Possession& possession) {
  using namespace std::chrono_literals;
  const auto holder = records::read_holder(possession.record);
  if (!holder) return std::nullopt;
  if (holder->ttl < 1s || holder->ttl > (holder->maintenance ? 720h : 24h)) return std::nullopt;
  return holder->ttl;
}

std::string read_token(const std::string& token) {
  if (!token.empty()) return token;
  std::string text;
  std::array<char, 256> buffer{};
  ssize_t length = 0;
  while (text.size() < buffer.size() && text.find('\n') == std::string::npos &&
         (length = ::read(STDIN_FILENO, buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.ends_with('\r')) text.pop_back();
  if (!lock::is_token(text)) {
    throw Error(ExitStatus::usage,
                "standard input has no token: expected the 40 digits that redlock acquire has "
                "printed, in one line");
  }
  return text;
}

}  // namespace redlock::hold

// SPDX-License-Identifier: MIT
//
// `redlock renew`, and `redlock release` by token: for a lock that another process took.
#include <unistd.h>

#include "config/settings.h"
#include "diag/blocker.h"
#include "diag/reporter.h"
#include "diag/text.h"
#include "driver/driver.h"
#include "driver/output.h"
#include "driver/progress.h"
#include "driver/setup.h"
#include "error.h"
#include "hold/hold.h"
#include "lock/by_token.h"
#include "lock/judgement.h"
#include "lock/value.h"
#include "observe/json.h"
#include "os/clock.h"
#include "os/signals.h"
#include "os/stderr.h"
#include "records/records.h"
#include "redis/connection/questions.h"
#include "redis/requests/request.h"
#include "redis/servers/server_set.h"
#include "redis/wire/trouble.h"

namespace redlock::hold {

namespace {

using std::chrono::milliseconds;

constexpr lock::AttemptId kTheirs = 1;

/// A lock and its token, from the command line, and what the servers know about its acquisition.
struct Possession {
  driver::LockId lock;
  std::string token;
  std::string record{};  ///< of the holder, JSON as it stored it; empty: not known
  std::optional<records::Holder> holder{};  ///< the same; untrusted: any client may have written it
  std::uint64_t fence = 0;                  ///< 0: not known
  std::string revoked{};  ///< names who revoked it from whom; empty: a quorum shows no revocation
  bool held = false;      ///< a quorum had the token when look_up() asked
  milliseconds left{};    ///< how long the token lives at most, by the servers that answered
};

/// Returns `token` or, if that is empty, the line on standard input. Throws Error (64).
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

/// Looks for the token on all servers. Throws Error (71, 78).
Possession look_up(const config::Settings& settings, const std::string& lock_name,
                   std::string token) {
  const observe::Observed found = observe::look_at(lock_name, settings, token);
  Possession possession{
      .lock = found.id, .token = std::move(token), .fence = found.judgement.fence};
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
    const auto& readers = sighting->readers;
    const auto reader = std::ranges::find(readers, possession.token, &lock::Reader::token);
    const bool reads = reader != readers.end();
    if (value.token != possession.token && !reads) continue;
    possession.left = std::max(possession.left, sighting->ttl_left.value_or(milliseconds::zero()));
    if (possession.record.empty()) possession.record = reads ? reader->holder : sighting->holder;
    // A release --force that reached too few servers leaves the lock to its holder.
    if (value.kind == lock::Value::Kind::revoked && !possession.held) {
      possession.revoked = diag::name_blocker(observe::as_refusal(*sighting));
    }
  }
  possession.holder = records::read_holder(possession.record);
  return possession;
}

/// The ttl that the process used which acquired the lock, if that is known.
std::optional<milliseconds> recorded_ttl(const std::optional<records::Holder>& holder) {
  using namespace std::chrono_literals;
  if (!holder || holder->ttl < 1s) return std::nullopt;
  if (holder->ttl > (holder->maintenance ? 720h : 24h)) return std::nullopt;
  return holder->ttl;
}

lock::ByToken::Terms terms_for(const config::Settings& settings, lock::Op op, milliseconds ttl) {
  lock::Duration patience = settings.server_wait;
  // The first vote renewed must still be of use when the last one is renewed.
  if (op == lock::Op::renew) patience = std::min<lock::Duration>(patience, ttl / 2);
  return {.op = op,
          .timing = {.ttl = ttl, .grace = {}},
          .patience = patience,
          .linger = settings.request_timeout()};
}

/// The loop of `redlock renew` and `redlock release`.
class TokenCommand : private driver::Host {
 public:
  /// `op`: renew or leave. `ttl`: for which to renew; for a release, that of the lock. `settings`
  /// must outlive this.
  TokenCommand(const config::Settings& settings, const Possession& possession, lock::Op op,
               milliseconds ttl)
      : settings_(settings),
        possession_(possession),
        op_(op),
        ttl_(ttl),
        reporter_(driver::reporter_for(settings, possession.lock.name, out_)),
        servers_(driver::open_servers(
            settings, possession.lock, ttl, [record = possession.record] { return record; },
            possession.token)),
        by_token_(settings.servers.size(), kTheirs, terms_for(settings, op, ttl), os::boot_now()),
        driver_(by_token_, *this, servers_, signals_, {.reporter = &reporter_}) {
    servers_.adopt(kTheirs, possession.token);
  }

  /// Returns when the outcome is certain. Reports it unless the command succeeded.
  Exit run() {
    driver::require_connections(servers_.size());
    if (op_ == lock::Op::leave) note_release();
    driver_.run();
    if (op_ == lock::Op::renew && by_token_.state() == lock::ByToken::State::done) note_renewal();
    const Exit result = interrupted_ != 0 ? Exit::by_signal(interrupted_) : tell();
    out_.drain();
    return result;
  }

  /// Why the command failed; empty: it did not.
  [[nodiscard]] const std::string& error() const { return error_; }

  /// After a successful renewal: the time for which the lock is certain to last.
  [[nodiscard]] lock::Duration valid_for() const {
    return std::max(by_token_.valid_until() - os::boot_now(), lock::Duration::zero());
  }

 private:
  /// Writes the end of the run into the log, together with the request.
  void note_release() {
    const auto& holder = possession_.holder;
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
  void note_renewal() {
    auto holder = possession_.holder;
    if (!holder || !holder->maintenance) return;
    holder->ttl = ttl_;
    const lock::Log line{
        .event = lock::Log::Event::acquired, .attempt = kTheirs, .fence = possession_.fence};
    servers_.log(line, "renewed", to_json(records::log_entry(line, *holder)), os::boot_now());
    driver_.finish_requests([this] { return !servers_.awaits_replies(); },
                            driver_.now() + settings_.request_timeout());
  }

  bool take_signal(const lock::Signal& signal, lock::Instant) override {
    if (signal.ends_waiting) {
      interrupted_ = signal.number;
      driver_.stop();
    }
    return true;
  }

  ExitStatus tell() {
    switch (by_token_.state()) {
      case lock::ByToken::State::done:
        if (by_token_.kept()) {
          driver::complain({diag::lock_name(possession_.lock.name) +
                            " is still held: a run inside the one with this token holds it, too"});
          return ExitStatus::conflict;
        }
        if (op_ == lock::Op::leave && !settings_.quiet) {
          driver::complain(observe::may_keep(by_token_.complaints(), possession_.left,
                                             possession_.lock.name, settings_));
        }
        if (op_ == lock::Op::renew || possession_.revoked.empty()) return ExitStatus::ok;
        return not_held(possession_.revoked + "; now it is released");
      case lock::ByToken::State::not_ours:
        // The lock was ours when the command started, and somebody has released it since: a keeper
        // did so when its process ended. A key that another program wrote is still there.
        if (op_ == lock::Op::leave && possession_.held &&
            !look_up(settings_, possession_.lock.name, possession_.token).held) {
          return ExitStatus::ok;
        }
        return not_held(who_has_it());
      case lock::ByToken::State::trying:
      case lock::ByToken::State::unavailable:
        break;
    }
    error_ = "too few servers answered";
    if (op_ == lock::Op::renew) {
      reporter_.say(lock::Report(lock::report::Unavailable{by_token_.complaints()}));
    } else {
      reporter_.say_not_released(by_token_.complaints());
    }
    return ExitStatus::unavailable;
  }

  ExitStatus not_held(const std::string& why) {
    error_ = why;
    reporter_.say_not_held(why);
    return ExitStatus::lost;
  }

  /// The holder of the lock now, as far as the servers show it.
  [[nodiscard]] std::string who_has_it() const {
    const observe::Observed lock = observe::look_at(possession_.lock.name, settings_);
    if (lock.judgement.state == lock::State::free) return "it was released, or has expired";
    if (!lock.sighting) return "no quorum of the servers holds it";
    if (lock.sighting->value == possession_.token) {
      return "another program has written the token into its key";
    }
    if (lock.shared && lock::is_of_reader(possession_.token))
      return "it was released, or has expired; others still hold it";
    return diag::describe(observe::as_refusal(*lock.sighting));
  }

  const config::Settings& settings_;
  Possession possession_;
  lock::Op op_;
  const milliseconds ttl_;
  os::SignalSource signals_;
  os::Stderr out_;
  diag::Reporter reporter_;
  redis::ServerSet servers_;
  lock::ByToken by_token_;
  driver::Driver driver_;
  std::string error_;    ///< why the command failed
  int interrupted_ = 0;  ///< this signal ended the command; 0: none
};

}  // namespace

Exit carry_out(const cli::Release& request) {
  const std::string token = read_token(request.token);
  // For the lock's log, and to report a revocation, although the release itself would work.
  const Possession possession = look_up(request.settings, request.name, token);
  // The servers remember the release for this time, so that no keeper renews the lock.
  const milliseconds ttl = recorded_ttl(possession.holder).value_or(request.settings.ttl);
  return TokenCommand(request.settings, possession, lock::Op::leave, ttl).run();
}

Exit carry_out(const cli::Renew& request) {
  const std::string token = read_token(request.token);
  const Possession possession = look_up(request.settings, request.name, token);
  const auto& holder = possession.holder;
  if (request.length && possession.held && (!holder || !holder->maintenance)) {
    throw Error(ExitStatus::usage, diag::lock_name(request.name) +
                                       " is not a maintenance hold, and --for and --until are for "
                                       "those; give --ttl");
  }
  milliseconds ttl = request.settings.ttl;
  if (!request.has_ttl) ttl = request.length ? *request.length : recorded_ttl(holder).value_or(ttl);
  TokenCommand by_token(request.settings, possession, lock::Op::renew, ttl);
  const Exit result = by_token.run();
  if (result.signal != 0 || !request.json) return result;
  const bool renewed = result.status == 0;
  const auto valid_for = std::chrono::floor<milliseconds>(by_token.valid_for());
  const auto json = records::Json::object(
      {{"renewed", renewed},
       {"name", request.name},
       {"status", result.status},
       {"valid_for_s", renewed ? observe::in_seconds(valid_for) : records::Json()},
       {"error", observe::text_or_null(by_token.error())}});
  return driver::print(json.output(), result);
}

/// Any server that still knows the number would go on refusing older builds.
Exit carry_out(const cli::ForgetBuild& request) {
  const config::Settings& settings = request.settings;
  const driver::LockId lock = driver::lock_id(settings, request.name);
  driver::Interview interview(settings);
  std::string troubles;
  for (std::size_t server = 0; server < interview.servers(); ++server) {
    interview.questions().go_to(server, lock.key);
    interview.questions().ask(
        server, {{redis::encode_forget_build(lock.key)}},
        [&, server](const redis::Questions::Answer& answer, auto) {
          const auto* silence = answer.silence();
          const auto& reply = silence != nullptr ? redis::Value() : answer.reply();
          if (silence == nullptr && reply.type == redis::Value::Type::integer) return;
          troubles += (troubles.empty() ? "" : "; ") + settings.servers[server].brief() + ": " +
                      (silence != nullptr ? silence->why : redis::unexpected_reply(reply).why);
        },
        os::boot_now());
  }
  interview.finish();
  if (troubles.empty()) return ExitStatus::ok;
  driver::complain(
      {diag::lock_name(lock.name) + ": these servers may still know the last build: " + troubles});
  return ExitStatus::unavailable;
}

}  // namespace redlock::hold

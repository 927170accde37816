// SPDX-License-Identifier: MIT
//
// Texts from a file, a variable or a URI.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>

#include "config/table.h"
#include "config/value.h"
#include "diag/text.h"
#include "driver/setup.h"
#include "error.h"
#include "fuzz.h"
#include "lock/value.h"
#include "look/history.h"
#include "records/records.h"
#include "redis/requests/keys.h"
#include "redis/wire/uri.h"
#include "run/metrics.h"
#include "run/stage.h"

namespace redlock::fuzz {

using namespace std::chrono_literals;

namespace {

bool is_ascii(std::string_view text) {
  return os::to_ascii(text) == text;
}

/// Runs `work`, which may reject its input with this status.
template <class Work>
void may_reject(ExitStatus status, std::string_view beginning, Work work) {
  try {
    work();
  } catch (const Error& error) {
    require(error.status() == status, "a text is rejected with the right status");
    require(std::string_view(error.what()).starts_with(beginning), "a message names the place");
  }
}

}  // namespace

void uri(std::string_view input) {
  may_reject(ExitStatus::usage, "", [&] {
    const redis::Endpoint endpoint = redis::parse_uri(input);
    const std::string shown = endpoint.display();
    require(is_clean(shown) && is_clean(endpoint.brief()), "a URI is shown clean");
    redis::Endpoint other = endpoint;
    if (!other.credentials.password.empty()) other.credentials.password = "another";
    other.sentinel_credentials.password.clear();
    require(other.display() == shown, "what is shown does not depend on the password");
    if (!is_ascii(endpoint.path + endpoint.service + endpoint.credentials.user)) return;
    require(redis::parse_uri(shown).display() == shown, "a URI that is shown is read as the same");
  });
  const std::string guess = redis::with_scheme(input);
  require(guess.empty() || guess.ends_with(input), "a word gets a scheme");
}

void duration(std::string_view input) {
  if (const auto length = config::parse_duration(input)) {
    require(*length >= 0ns && *length <= config::kLongestDuration, "a duration is in its range");
    require(config::parse_duration(config::format_duration(*length)) == length,
            "a duration that is shown is read as the same");
    require(is_clean(diag::for_people(*length)), "a duration is shown clean");
  }
  may_reject(ExitStatus::usage, "", [&] {
    const int number = config::to_integer(input, -5, 1000);
    require(number >= -5 && number <= 1000, "a number is in its range");
  });
  may_reject(ExitStatus::usage, "", [&] {
    const int signal = config::to_signal(input);
    require(signal > 0 && signal <= 64, "a signal is in its range");
  });
  require(is_clean(config::quote(input)), "a rejected text is shown clean");
}

void moment(std::string_view input) {
  static const bool zone = ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1) == 0;
  constexpr auto kNow = std::chrono::milliseconds(1'795'172'400s);
  constexpr auto kYear9999 = std::chrono::milliseconds(253'370'764'800s);
  for (const auto tense : {config::Tense::past, config::Tense::future}) {
    const auto read = config::parse_moment(input, kNow, tense);
    if (!zone || !read || read->at >= kYear9999) continue;
    const std::string shown = config::format_moment(read->at);
    const auto again = config::parse_moment(shown, kNow, tense);
    if (read->at < 0ms) continue;  // before 1970
    require(again.has_value() && again->at == std::chrono::floor<std::chrono::seconds>(read->at),
            "a moment that is shown is read as the same");
  }
}

void file(std::string_view input) {
  const auto read = [](std::string_view text) {
    config::Draft draft;
    draft.config_file = "/etc/redlock.toml";
    std::size_t values = 0;
    may_reject(ExitStatus::config, "/etc/redlock.toml:", [&] {
      config::read_toml(text, draft);
      values = 1 + draft.given.size();
    });
    return values;
  };
  if (input.ends_with('\r')) return;  // the comment would complete its line break
  require(read(input) == read(std::string(input) + "\n# end\n"), "a comment changes nothing");
}

void held(std::string_view input) {
  Bytes bytes(input);
  const driver::LockId ours{.name = "a", .key = "a", .servers = "0123456789abcdef"};
  const driver::LockId other{.name = "b", .key = "b", .servers = "0123456789abcdef"};
  std::string token(lock::kTokenDigits, 'a');
  token.front() = "aspr"[bytes.below(4)];
  const lock::Inherited entry{.token = token, .fence = bytes.byte()};
  const std::string_view variable = bytes.rest();
  const auto before = run::find_held(variable, other);
  require(!before || lock::is_token(before->token), "what is held has a token");
  const std::string added = run::add_held(variable, ours, entry);
  const auto found = run::find_held(added, ours);
  require(found && found->token == token && found->fence == entry.fence, "an entry is found again");
  const auto after = run::find_held(added, other);
  require(before.has_value() == after.has_value() && (!before || before->token == after->token),
          "an entry changes no other entry");
}

namespace {

/// A stage would take over, and close, a descriptor of this process.
bool names_our_descriptor(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::int64_t number = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), number);
    if (::fcntl(static_cast<int>(number), F_GETFD) >= 0) return true;
  }
  return false;
}

}  // namespace

void stage(std::string_view input) {
  if (input.find('\0') != input.npos || names_our_descriptor(input)) return;
  const std::string value(input.substr(0, input.find('|')));
  const std::string pipes(input.substr(std::min(input.size(), value.size() + 1)));
  cli::Run request;
  request.name = "m";
  request.also = {"z", "a"};
  request.job = {"true"};
  std::string all;
  for (const char* name : {"a", "m"}) {
    all = run::add_held(all, driver::lock_id({}, name), {std::string(40, 'a'), 1});
  }
  ::setenv("REDLOCK_STAGE", value.c_str(), 1);
  ::setenv(config::kPipesVariable, pipes.c_str(), 1);
  may_reject(ExitStatus::usage, "REDLOCK_STAGE", [&] {
    const run::Stage stage(request, all, lock::Instant(1s));
    const std::string number = value.empty() ? "0" : value.substr(0, 1);
    require(stage.name() == (number == "0"   ? "a"
                             : number == "1" ? "m"
                                             : "z"),
            "a stage takes the lock that its variable names");
    static_cast<void>(stage.settings(lock::Instant(1s)));
    static_cast<void>(stage.variables(run::Stage::Reader::job, std::string(40, 'a'), 1));
  });
  ::unsetenv("REDLOCK_STAGE");
  ::unsetenv(config::kPipesVariable);
}

void metrics(std::string_view input) {
  const auto read = run::parse_metrics(input);
  // A key is written clean, and cut.
  if (!read || !std::ranges::all_of(*read, [](const auto& lock) {
        return is_clean(lock.first) && lock.first.size() <= 255;
      })) {
    return;
  }
  require(run::parse_metrics(run::to_text(*read)) == read, "metrics are read as they are written");
}

void printable(std::string_view input) {
  Bytes bytes(input);
  const std::size_t width = 1 + bytes.byte();
  const std::string_view text = bytes.rest();
  const std::string shown = os::printable(text, width);
  require(is_clean(shown) && shown.size() <= width + 3, "a text is shown clean, and cut");
  require(is_ascii(os::to_ascii(text)), "ASCII is ASCII");
  require(text.starts_with(os::clip(text, width)), "a text is cut at its end");
  for (const auto charset : {diag::Charset::ascii, diag::Charset::utf8}) {
    require(diag::columns(diag::cut(shown, width, charset)) <= width, "a text fits its columns");
  }
  static_cast<void>(diag::wrap(shown, width));
  require(is_clean(diag::lock_name(text)) && is_clean(diag::bare_name(text)), "a name is clean");
  std::string json = records::Json(text).output();
  require(json.ends_with('\n'), "JSON ends its line");
  json.pop_back();
  require(is_clean(json) && is_ascii(json), "JSON is ASCII");
  require(look::escaped(text).find_first_of("<>\"") == std::string::npos, "HTML is escaped");
  static_cast<void>(records::as_message(text));
  static_cast<void>(lock::slot_of(text));
  may_reject(ExitStatus::usage, "", [&] { redis::check_lock_name(text); });
}

}  // namespace redlock::fuzz

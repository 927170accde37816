// SPDX-License-Identifier: MIT
#include "config/setters.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "config/draft.h"
#include "config/value.h"
#include "error.h"
#include "redis/requests/keys.h"

namespace redlock::config {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// `words`: the names of the enumeration's values, in their order.
template <class Enum>
Enum to_choice(std::string_view value, const std::string& expected,
               std::initializer_list<std::string_view> words) {
  const auto word = std::ranges::find(words, value);
  if (word == words.end()) refuse(expected, value);
  return static_cast<Enum>(word - words.begin());
}

/// The parts between blanks.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  std::size_t begin = text.find_first_not_of(kBlanks);
  while (begin != std::string_view::npos) {
    const std::size_t end = text.find_first_of(kBlanks, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace

void add_servers(Draft& draft, std::string_view value) {
  const std::vector<std::string_view> uris = words_of(value);
  if (uris.empty()) refuse("a URI such as redis://host:6379", value);
  const std::size_t before = draft.settings.servers.size();
  const auto parse = [&](std::size_t index) {
    try {
      return redis::parse_uri(uris[index]);
    } catch (const Error& error) {
      // The message may not repeat the URI, so it says the URI's number.
      const std::size_t number = before + index + 1;
      if (number == 1 && uris.size() == 1) throw;
      throw Error(error.status(), "server " + std::to_string(number) + ": " + error.what());
    }
  };
  // A blank in a password cuts its URI in two. So redlock refuses the second half first: a message
  // about the first half might show it.
  const auto without_scheme = std::ranges::find_if(
      uris, [](std::string_view uri) { return uri.find("://") == std::string_view::npos; });
  if (without_scheme != uris.end()) {
    parse(static_cast<std::size_t>(without_scheme - uris.begin()));
  }
  for (std::size_t index = 0; index < uris.size(); ++index) {
    draft.settings.servers.push_back(parse(index));
  }
}

void set_ttl(Draft& draft, std::string_view value) {
  draft.settings.ttl = in_milliseconds(to_duration(value, {1s, 24h}));
}

void set_prefix(Draft& draft, std::string_view value) {
  if (!value.empty()) redis::check_lock_name(value);  // the key begins with it
  draft.settings.prefix = value;
}

void set_tls_sni(Draft& draft, std::string_view value) {
  const bool name = value.find_first_not_of("0123456789.") != std::string_view::npos &&
                    value.find_first_of(":/@ ") == std::string_view::npos;
  if (!name) refuse("a host's name, without a port", value);
  draft.settings.tls.sni = value;
}

void set_tls_insecure(Draft& draft, std::string_view value) {
  const bool yes = value.empty() || value == "1" || value == "true";  // empty: the flag
  if (!yes && value != "0" && value != "false") refuse("0 or 1", value);
  draft.settings.tls.verify =
      yes ? redis::TlsSettings::Verify::nothing : redis::TlsSettings::Verify::server;
}

void set_config_file(Draft& draft, std::string_view value) {
  if (value.empty()) refuse("the name of a file (/dev/null: none)", value);
  draft.config_file = value;
}

void set_metrics_file(Draft& draft, std::string_view value) {
  if (value.empty()) refuse("the name of a file (/dev/null: none)", value);
  draft.settings.metrics_file = value == "/dev/null" ? "" : value;
}

void set_progress(Draft& draft, std::string_view value) {
  draft.settings.progress =
      to_choice<Progress>(value, "auto, always or never", {"auto", "always", "never"});
}

void set_color(Draft& draft, std::string_view value) {
  draft.settings.color =
      to_choice<Color>(value, "auto, always or never", {"auto", "always", "never"});
}

void set_max_runtime(Draft& draft, std::string_view value) {
  const nanoseconds time = to_duration(value);
  draft.settings.max_runtime.reset();
  if (time > 0ns) draft.settings.max_runtime = time;  // 0: no limit, as for timeout(1)
}

void set_record_command(Draft& draft, std::string_view value) {
  draft.settings.record_command =
      to_choice<RecordCommand>(value, "full, name or none", {"full", "name", "none"});
}

void refuse_unlock(Draft&, std::string_view) {
  throw Error(ExitStatus::usage,
              "there is nothing to unlock: redlock releases the lock when the command ends");
}

}  // namespace redlock::config

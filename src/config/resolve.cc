// SPDX-License-Identifier: MIT
//
// The only file that includes toml++, which takes seconds to compile. toml++ runs only if there is
// a file that is not empty.
#include "config/resolve.h"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "config/quote.h"
#include "config/read_file.h"
#include "config/toml_guard.h"
#include "config/value.h"
#include "error.h"

namespace redlock::config {
namespace {

using redis::Endpoint;

void add_environment(Draft& draft, const Environment& environment) {
  for (const Row& row : table()) {
    // A flag overrides even a broken variable, so redlock does not read that variable.
    if (row.environment == nullptr || draft.origin(row.name) == Origin::flag) continue;
    const std::string value = variable(environment, row.environment);
    if (!value.empty()) store(row, draft, value, {Origin::environment});
  }
}

constexpr std::size_t kLongestFile = 256 * std::size_t{1024};

std::string name_of(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

/// A number as parse_duration and the like read it: without an exponent, and with no more decimal
/// places than it needs. std::to_chars() can do that, but needs libm, which nothing else does:
/// every start of redlock would load it.
std::string decimal(double number) {
  constexpr int kMostPlaces = 340;
  std::array<char, 700> text{};
  for (int places = 0; places <= kMostPlaces; ++places) {
    std::snprintf(text.data(), text.size(), "%.*f", places, number);
    if (std::strtod(text.data(), nullptr) == number) break;
  }
  return text.data();
}

class Reader {
 public:
  explicit Reader(Draft& draft) : draft_(draft) {}

  void read(const toml::table& settings) {
    for (const auto& [key, value] : settings) {
      const std::string_view name = key.str();
      const auto row = std::ranges::find_if(
          table(), [name](const Row& other) { return file_key(other) == name; });
      // The line of a [table] is the line of its heading.
      const unsigned line = key.source().begin.line;
      if (row == table().end()) refuse_key(name, line);
      const bool overridden = draft_.origin(row->name) != Origin::built_in;
      holds_secret_ = holds_secret_ || (row->type == Type::secret && value.is_string() &&
                                        !value.as_string()->get().empty());
      if (!overridden) take(*row, value, line);
    }
  }

  /// Whether the file contains a password.
  [[nodiscard]] bool holds_secret() const {
    if (holds_secret_) return true;
    return draft_.origin(key::server) == Origin::file &&
           std::ranges::any_of(draft_.settings.servers, [](const redis::Endpoint& server) {
             return !server.credentials.password.empty();
           });
  }

 private:
  [[noreturn]] void refuse(unsigned line, const std::string& message) const {
    throw Error(ExitStatus::config,
                draft_.config_file + ":" + std::to_string(line) + ": " + message);
  }

  [[noreturn]] void refuse_key(std::string_view key, unsigned line) const {
    std::string message = "unknown key " + quote(key);
    std::vector<std::string> keys;
    for (const Row& row : table()) keys.push_back(file_key(row));
    const std::string meant = nearest(key, keys);
    if (!meant.empty()) message += ", did you mean " + meant + "?";
    refuse(line, message + " (see redlock.toml(5))");
  }

  [[noreturn]] void refuse_type(const Row& row, const toml::node& value, unsigned line,
                                const std::string& expected) const {
    refuse(line, file_key(row) + ": expected " + expected + ", not " + name_of(value.type()));
  }

  void take(const Row& row, const toml::node& value, unsigned line) {
    const Source source{Origin::file, line};
    switch (row.type) {
      case Type::uri_list:
        return take_list(row, value, line);
      case Type::toggle:
        if (!value.is_boolean()) refuse_type(row, value, line, "true or false");
        return store(row, draft_, **value.as_boolean() ? "true" : "false", source);
      case Type::duration:
        if (value.is_number()) return store(row, draft_, number(value), source);
        if (!value.is_string()) {
          refuse_type(row, value, line, "a time such as \"30s\", or a number of seconds");
        }
        break;
      case Type::integer:
        if (!value.is_integer()) refuse_type(row, value, line, "a whole number");
        return store(row, draft_, number(value), source);
      default:
        if (!value.is_string()) refuse_type(row, value, line, "a string");
    }
    store(row, draft_, **value.as_string(), source);
  }

  static std::string number(const toml::node& value) {
    if (const auto* whole = value.as_integer()) return std::to_string(**whole);
    return decimal(**value.as_floating_point());
  }

  void take_list(const Row& row, const toml::node& value, unsigned line) {
    const toml::array* array = value.as_array();
    const std::string expected = "an array of strings, such as [\"redis://db1\"]";
    if (array == nullptr) refuse_type(row, value, line, expected);
    if (array->empty()) refuse(line, file_key(row) + ": expected at least one");
    for (const toml::node& element : *array) {
      const unsigned at = element.source().begin.line;
      const auto* text = element.as_string();
      if (text == nullptr) refuse_type(row, element, at, expected);
      // Blanks separate the servers of a list in the environment, but not in the file.
      if (text->get().find_first_of(kBlanks) != std::string::npos) {
        refuse(at, file_key(row) + ": expected one URI in each string");
      }
      store(row, draft_, text->get(), {Origin::file, at});
    }
    draft_.given[row.name].source.line = line;
  }

  Draft& draft_;
  bool holds_secret_ = false;
};

/// The message of toml++, without the text it complains about: that may be a password.
std::string without_input(std::string_view description) {
  constexpr std::string_view opening = "Error while ";
  if (description.starts_with(opening)) description.remove_prefix(opening.size());
  std::string text(description.substr(0, description.find(", saw")));
  const std::size_t first = text.find('\'');
  const std::size_t last = text.rfind('\'');
  if (first != last) text.replace(first + 1, last - first - 1, "...");
  return text;
}

/// Stores the file's values for the settings that neither a flag nor a variable has set. Without
/// draft.config_file it reads kDefaultFile, which need not exist. Throws Error (78) with file and
/// line for any mistake in the file, except in the value of a setting that is set already.
void add_file(Draft& draft) {
  const bool named = !draft.config_file.empty();
  if (!named) draft.config_file = kDefaultFile;
  const std::string& path = draft.config_file;
  const FileRead file = read_file_or_pipe(path, kLongestFile, draft);
  if (!named && (file.error == ENOENT || file.error == ENOTDIR)) return;
  if (const std::string why = file.trouble(); !why.empty()) {
    throw Error(ExitStatus::config,
                "configuration file " + quote(path) + ": " + why +
                    (named ? "" : "; make it readable, or use --config /dev/null to read no file"));
  }
  if (file.too_long) {
    throw Error(ExitStatus::config, "configuration file " + quote(path) + ": too long");
  }
  if (file.text.empty()) return;
  const auto refuse = [&path](unsigned line, const std::string& why) {
    throw Error(ExitStatus::config,
                path + ":" + std::to_string(line) + ": not valid TOML (texts need quotes): " + why);
  };
  if (const auto trouble = not_toml(file.text)) {
    refuse(trouble->line, std::string(trouble->why));
  }
  const toml::parse_result parsed = toml::parse(file.text, path);
  if (!parsed) {
    refuse(parsed.error().source().begin.line, without_input(parsed.error().description()));
  }
  Reader reader(draft);
  reader.read(parsed.table());
  const Content content = reader.holds_secret() ? Content::secret : Content::settings;
  const std::string warning = exposure(file, path, content);
  if (!warning.empty()) draft.settings.warnings.push_back(warning);
}

/// What two URIs of one server have in common.
std::vector<std::string> marks_of(const Endpoint& server) {
  if (server.kind == Endpoint::Kind::unix_socket) return {server.path};
  if (server.kind == Endpoint::Kind::tcp)
    return {redis::Address{server.host, server.port}.display()};
  std::vector<std::string> marks;
  for (const redis::Address& node : server.nodes) {
    // The same Sentinels may know several primaries.
    marks.push_back(node.display() + (server.service.empty() ? "" : "/" + server.service));
  }
  return marks;
}

bool same_server(const Endpoint& one, const Endpoint& other) {
  const std::vector<std::string> marks = marks_of(other);
  return std::ranges::any_of(marks_of(one), [&](const std::string& mark) {
    return std::ranges::find(marks, mark) != marks.end();
  });
}

/// How messages name the origin of a row's value.
std::string place(const Draft& draft, std::string_view name) {
  return place(row_of(name), draft, draft.of(name).source);
}

void check_servers(const Draft& draft) {
  const auto& servers = draft.settings.servers;
  if (servers.empty()) {
    const std::string file =
        draft.config_file == "/dev/null"
            ? ""
            : ", or write servers = [\"redis://HOST\"] into " + draft.config_file;
    throw Error(ExitStatus::config,
                "no servers are configured: give --server redis://HOST, or set REDLOCK_SERVERS" +
                    file + " (to try redlock without any: redlock sandbox)");
  }
  for (auto one = servers.begin(); one != servers.end(); ++one) {
    const bool twice = std::any_of(std::next(one), servers.end(),
                                   [&](const Endpoint& other) { return same_server(*one, other); });
    if (!twice) continue;
    throw Error(status_of(draft.origin(key::server)),
                place(draft, key::server) + ": " + one->display() +
                    " occurs twice, and a server has one vote, whatever the database");
  }
}

[[noreturn]] void bad_password_file(const std::string& path, const std::string& why) {
  throw Error(ExitStatus::config, "password file " + quote(path) + ": " + why);
}

std::string read_password(const std::string& path, Draft& draft) {
  constexpr std::size_t too_long = 64 * std::size_t{1024};
  FileRead file = read_file_or_pipe(path, too_long, draft);
  std::string& text = file.text;
  if (const std::string why = file.trouble(); !why.empty()) bad_password_file(path, why);
  if (file.too_long) bad_password_file(path, "too long for a password");
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) bad_password_file(path, "it is empty");
  if (text.find('\n') != std::string::npos) bad_password_file(path, "expected one line");
  const std::string warning = exposure(file, path, Content::secret);
  if (!warning.empty()) draft.settings.warnings.push_back(warning);
  return text;
}

/// The password and the file may have different origins: the higher origin wins, then the password.
std::string choose_password(Draft& draft) {
  const std::string& file = draft.settings.password_file;
  const bool by_file =
      !file.empty() &&
      (draft.password.empty() || draft.origin(key::password_file) > draft.origin(key::password));
  if (by_file) return read_password(file, draft);
  return draft.password.empty() ? draft.rediscli_auth : draft.password;
}

void add_password(Draft& draft) {
  const auto needs_one = [](const Endpoint& server) { return server.credentials.password.empty(); };
  auto& servers = draft.settings.servers;
  if (std::none_of(servers.begin(), servers.end(), needs_one)) return;
  const std::string password = choose_password(draft);
  for (Endpoint& server : servers) {
    if (needs_one(server)) server.credentials.password = password;
  }
}

/// Without verification, the answer may come from anyone on the network path.
void warn_of_trust(Settings& settings) {
  if (settings.tls.verify != redis::TlsSettings::Verify::nothing) return;
  if (std::ranges::none_of(settings.servers, &Endpoint::tls)) return;
  settings.warnings.push_back(
      "certificates are not verified (--tls-insecure): anyone on the network path can pose as a "
      "server; instead, give the servers' authority to --tls-ca");
}

}  // namespace

std::string variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

void complete(Draft& draft, const Environment& environment) {
  if (draft.nonblocking) draft.settings.wait = std::chrono::nanoseconds::zero();
  draft.earlier_pipes = variable(environment, kPipesVariable);
  add_environment(draft, environment);
  add_file(draft);
  check_servers(draft);
  add_password(draft);
  warn_of_trust(draft.settings);
}

void check_kill_after(const Draft& draft) {
  const Settings& settings = draft.settings;
  if (!settings.kill_after || settings.grace_fits()) return;
  const bool flag =
      draft.origin(key::kill_after) == Origin::flag || draft.origin(key::ttl) == Origin::flag;
  throw Error(flag ? ExitStatus::usage : ExitStatus::config,
              place(draft, key::kill_after) + ": expected at most a third of the ttl of " +
                  format_duration(settings.ttl) + ", not " + format_duration(*settings.kill_after));
}

/// A restarted server may have forgotten a lock. It must not vote before that lock has expired.
void check_restart_grace(const Draft& draft) {
  const Settings& settings = draft.settings;
  if (settings.servers.size() < 2 || settings.ttl_fits()) return;
  const std::string ttl = format_duration(settings.ttl);
  const std::string grace = format_duration(settings.restart_grace);
  // The value that overrides the other's origin is the one to change.
  const bool grace_is_later = draft.origin(key::restart_grace) > draft.origin(key::ttl);
  const std::string_view later = grace_is_later ? key::restart_grace : key::ttl;
  throw Error(status_of(draft.origin(later)),
              place(draft, later) + ": " +
                  (grace_is_later ? grace + " is less than the ttl of " + ttl
                                  : ttl + " is more than the --restart-grace of " + grace) +
                  ": a restarted server would vote again while a lock that it forgot still lasts; "
                  "raise --restart-grace on every host");
}

}  // namespace redlock::config

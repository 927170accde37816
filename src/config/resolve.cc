// SPDX-License-Identifier: MIT
#include "config/resolve.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "config/duration.h"
#include "config/exposure.h"
#include "config/file.h"
#include "config/pipes.h"
#include "config/quote.h"
#include "config/read_file.h"
#include "error.h"

namespace redlock::config {
namespace {

using redis::Endpoint;

void add_environment(Draft& draft, const Environment& environment) {
  for (const Row& row : table()) {
    // A flag overrides even a broken variable, so redlock does not read that variable.
    if (row.environment == nullptr || draft.origin(row.key) == Origin::flag) continue;
    const std::string value = variable(environment, row.environment);
    if (!value.empty()) store(row, draft, value, {Origin::environment});
  }
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
std::string place(const Draft& draft, Key key) {
  return place(row_of(key), draft, draft.of(key).source);
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
    throw Error(status_of(draft.origin(Key::server)),
                place(draft, Key::server) + ": " + one->display() +
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
      (draft.password.empty() || draft.origin(Key::password_file) > draft.origin(Key::password));
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
      draft.origin(Key::kill_after) == Origin::flag || draft.origin(Key::ttl) == Origin::flag;
  throw Error(flag ? ExitStatus::usage : ExitStatus::config,
              place(draft, Key::kill_after) + ": expected at most a third of the ttl of " +
                  format_duration(settings.ttl) + ", not " + format_duration(*settings.kill_after));
}

/// A restarted server may have forgotten a lock. It must not vote before that lock has expired.
void check_restart_grace(const Draft& draft) {
  const Settings& settings = draft.settings;
  if (settings.servers.size() < 2 || settings.ttl_fits()) return;
  const std::string ttl = format_duration(settings.ttl);
  const std::string grace = format_duration(settings.restart_grace);
  // The value that overrides the other's origin is the one to change.
  const bool grace_is_later = draft.origin(Key::restart_grace) > draft.origin(Key::ttl);
  const Key key = grace_is_later ? Key::restart_grace : Key::ttl;
  throw Error(status_of(draft.origin(key)),
              place(draft, key) + ": " +
                  (grace_is_later ? grace + " is less than the ttl of " + ttl
                                  : ttl + " is more than the --restart-grace of " + grace) +
                  ": a restarted server would vote again while a lock that it forgot still lasts; "
                  "raise --restart-grace on every host");
}

}  // namespace redlock::config

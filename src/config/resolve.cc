// SPDX-License-Identifier: MIT
#include "config/resolve.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "config/duration.h"
#include "config/quote.h"

namespace redlock::config {
namespace {

using redis::Endpoint;

void add_environment(Draft& draft, const Environment& environment) {
  for (const Row& row : table()) {
    // What a flag has set is not even looked at: a broken variable can be overridden.
    if (row.environment == nullptr || draft.origin(row.key) == Origin::flag) continue;
    const std::string value = variable(environment, row.environment);
    if (!value.empty()) store(row, draft, value, Origin::environment);
  }
}

bool same_server(const Endpoint& one, const Endpoint& other) {
  if (one.kind != other.kind) return false;
  if (one.kind == Endpoint::Kind::unix_socket) return one.path == other.path;
  return one.host == other.host && one.port == other.port;
}

void check_servers(const Draft& draft, Origin origin) {
  const auto& servers = draft.settings.servers;
  if (servers.empty()) {
    throw Error(ExitStatus::config,
                "no servers are configured: give --server redis://HOST or set REDLOCK_SERVERS "
                "(to try redlock without any: redlock sandbox)");
  }
  for (auto one = servers.begin(); one != servers.end(); ++one) {
    const bool twice = std::any_of(std::next(one), servers.end(),
                                   [&](const Endpoint& other) { return same_server(*one, other); });
    if (!twice) continue;
    throw Error(status_of(origin),
                std::string(origin == Origin::flag ? "-S/--server" : "REDLOCK_SERVERS") + ": " +
                    one->display() +
                    " is given twice, and a server has one vote, whatever the database");
  }
}

void check_kill_after(const Settings& settings, Origin of_grace, Origin of_ttl) {
  if (!settings.kill_after || *settings.kill_after <= settings.ttl / 3) return;
  const bool flag = of_grace == Origin::flag || of_ttl == Origin::flag;
  const std::string name = of_grace == Origin::environment ? "REDLOCK_KILL_AFTER" : "--kill-after";
  throw Error(flag ? ExitStatus::usage : ExitStatus::config,
              name + ": expected at most a third of the ttl of " + format_duration(settings.ttl) +
                  ", not " + format_duration(*settings.kill_after));
}

/// A server that was restarted and forgot a lock must not vote before that lock is over anyway.
void check_restart_grace(const Settings& settings) {
  using std::chrono::seconds;
  if (settings.servers.size() < 2 || settings.restart_grace == seconds::zero()) return;
  if (settings.ttl <= settings.restart_grace) return;
  throw Error(ExitStatus::usage,
              "--ttl: " + format_duration(settings.ttl) + " is more than the --restart-grace of " +
                  format_duration(settings.restart_grace) +
                  ": a restarted server would vote again while a lock it forgot still holds; raise "
                  "--restart-grace on every host");
}

[[noreturn]] void bad_password_file(const std::string& path, const std::string& why) {
  throw Error(ExitStatus::config, "password file " + quote(path) + ": " + why);
}

std::string read_password(const std::string& path) {
  constexpr std::size_t too_long = 64 * std::size_t{1024};
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (!file) bad_password_file(path, std::generic_category().message(errno));
  std::string text(too_long, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) bad_password_file(path, std::generic_category().message(errno));
  if (text.size() == too_long) bad_password_file(path, "too long for a password");
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) bad_password_file(path, "it is empty");
  if (text.find('\n') != std::string::npos) bad_password_file(path, "expected one line");
  return text;
}

std::string choose_password(Draft& draft) {
  const std::string& file = draft.settings.password_file;
  if (draft.origin(Key::password_file) == Origin::flag) return read_password(file);
  if (!draft.password.empty()) return draft.password;
  if (!file.empty()) return read_password(file);
  return draft.rediscli_auth;
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

}  // namespace

std::string variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? "" : value;
}

Settings resolve(Draft draft, const Environment& environment) {
  if (draft.shared) {
    throw Error(ExitStatus::usage, "-s/--shared: this version has exclusive locks only");
  }
  if (draft.no_fork && draft.close) {
    throw Error(ExitStatus::usage, "-F/--no-fork and -o/--close exclude each other");
  }
  if (draft.nonblocking) draft.settings.wait = std::chrono::nanoseconds::zero();
  add_environment(draft, environment);
  check_servers(draft, draft.origin(Key::server));
  check_kill_after(draft.settings, draft.origin(Key::kill_after), draft.origin(Key::ttl));
  check_restart_grace(draft.settings);
  add_password(draft);
  return std::move(draft.settings);
}

}  // namespace redlock::config

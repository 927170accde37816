// SPDX-License-Identifier: MIT
#include "driver/setup.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "lock/value.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/loop.h"
#include "os/process.h"

namespace redlock::driver {

namespace {

/// The same for every URI of one server, as far as redlock can know without asking it.
std::string place_of(const redis::Endpoint& server) {
  if (server.kind == redis::Endpoint::Kind::unix_socket) {
    return fmt::format("{} {}\n", server.path, server.db);
  }
  if (!server.moves()) {
    return fmt::format("{} {} {}\n", server.address.host, server.address.port, server.db);
  }
  std::vector<std::string> nodes;
  for (const redis::Address& node : server.nodes) nodes.push_back(node.display());
  std::ranges::sort(nodes);
  return fmt::format("{}, {} {}\n", fmt::join(nodes, ","), server.service, server.db);
}

/// FNV-1a: it protects no secret, it only distinguishes servers.
std::uint64_t digest(std::string_view place, std::uint64_t hash = 0xcbf29ce484222325U) {
  for (const char byte : place) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
  return hash;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// The page of the CI job in which we run: of GitHub Actions, GitLab, Buildkite, CircleCI, Jenkins
/// or Azure Pipelines, by the variables that their manuals name; or empty.
std::string page_of_ci_job() {
  if (const auto run = os::variable("GITHUB_RUN_ID"); !run.empty()) {
    return fmt::format("{}/{}/actions/runs/{}", os::variable("GITHUB_SERVER_URL"),
                       os::variable("GITHUB_REPOSITORY"), run);
  }
  for (const char* whole : {"CI_JOB_URL", "BUILDKITE_BUILD_URL", "CIRCLE_BUILD_URL", "BUILD_URL"}) {
    if (const auto page = os::variable(whole); !page.empty()) return std::string(page);
  }
  const auto build = os::variable("BUILD_BUILDID");
  if (os::variable("TF_BUILD").empty() || build.empty()) return {};
  return fmt::format("{}{}/_build/results?buildId={}",
                     os::variable("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI"),
                     os::variable("SYSTEM_TEAMPROJECT"), build);
}

/// Why we take the lock. Where the servers must not have our command, they do not get its page.
std::string reason(const config::Settings& settings) {
  const bool may_tell = settings.record_command == config::RecordCommand::full;
  if (!settings.message.empty() || !may_tell) return settings.message;
  return page_of_ci_job();
}

/// Reads the environment instead of calling getpwuid(3): a look-up may ask a directory server over
/// the network, and redlock must not wait for one.
std::string user_name() {
  for (const char* variable : {"LOGNAME", "USER"}) {
    if (const auto name = os::variable(variable); !name.empty()) return std::string(name);
  }
  return ::geteuid() == 0 ? "root" : fmt::format("uid {}", ::geteuid());
}

/// A command line may contain secrets, and many people may read the servers.
std::string recorded(const std::vector<std::string>& job, config::RecordCommand how) {
  if (how == config::RecordCommand::none || job.empty()) return {};
  if (how == config::RecordCommand::full) return records::shell_like(job);
  const std::string& program = job.front();
  return records::shell_like({program.substr(program.rfind('/') + 1)});
}

}  // namespace

LockId lock_id(const config::Settings& settings, std::string name) {
  std::string key = settings.prefix + name;
  return {.name = std::move(name),
          .key = std::move(key),
          .servers = server_set_fingerprint(settings.servers)};
}

std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers) {
  std::vector<std::string> places;
  for (const redis::Endpoint& server : servers) places.push_back(place_of(server));
  std::sort(places.begin(), places.end());
  std::uint64_t hash = digest({});
  for (const std::string& place : places) hash = digest(place, hash);
  return fmt::format("{:016x}", hash);
}

diag::ServerList server_list(const config::Settings& settings) {
  std::vector<diag::ServerList::Server> servers;
  for (const redis::Endpoint& server : settings.servers) {
    const std::uint64_t hash = digest(place_of(server));
    const std::uint64_t folded = (hash ^ hash >> 24U ^ hash >> 48U) & 0xffffffU;
    servers.push_back({fmt::format("{:06x}", folded), server.brief()});
  }
  return diag::ServerList(std::move(servers));
}

records::Holder describe_ourselves(const config::Settings& settings,
                                   const std::vector<std::string>& job) {
  return {
      .host = host_name(),
      .user = user_name(),
      .pid = ::getpid(),
      .command = recorded(job, settings.record_command),
      .message = records::as_message(reason(settings)),
      .build = settings.build.value_or(0),
      .shared = settings.shared || settings.slots > 0,
      .since = {},
      .ttl = settings.ttl,
      .list = server_list(settings).record(),
  };
}

std::function<std::string()> record_of(records::Holder who) {
  return [who = std::move(who)] { return records::to_json(records::since_now(who)); };
}

lock::Plan plan_for(const config::Settings& settings) {
  return {
      .servers = settings.servers.size(),
      .timing = {.ttl = settings.ttl,
                 .grace = settings.grace(),
                 .min_hold = settings.min_hold,
                 .once = settings.once,
                 .hold_on_failure = settings.hold_on_failure},
      .patience = {.wait = settings.wait,
                   .server_wait = settings.server_wait,
                   .max_waiting = settings.max_waiting},
      .max_runtime = settings.max_runtime,
      .stop_signal = settings.stop_signal,
      .slots = settings.slots,
      .build = settings.build,
      .replaces = settings.replaces,
      .wait_all = settings.wait_all,
      .server_timeout = settings.request_timeout(),
      .replicated = settings.replicas > 0,
      .seed = os::random_seed(),
  };
}

redis::Timeouts timeouts_of(const config::Settings& settings) {
  return {.request = settings.request_timeout(), .connect = settings.connect_timeout()};
}

redis::ServerSet open_servers(const config::Settings& settings, const LockId& lock,
                              std::chrono::milliseconds ttl, std::function<std::string()> record,
                              std::string held_token) {
  const bool redisson =
      held_token.empty() ? settings.as == config::As::redisson : lock::is_of_redisson(held_token);
  return {settings.servers,
          {.lock_key = lock.key,
           .redisson = redisson,
           .shared = settings.shared,
           .slots = settings.slots,
           .held_token = std::move(held_token),
           .keeps = settings.min_hold.count() > 0 || settings.hold_on_failure.count() > 0,
           .newest = settings.newest,
           .build = settings.build,
           .replicas = settings.replicas,
           .log_entries = settings.log_entries,
           .list = lock.servers.substr(0, 8),
           .ttl = ttl,
           .restart_grace = settings.restart_grace},
          std::move(record),
          timeouts_of(settings),
          settings.tls};
}

/// Each server needs a socket or, during the look-up of its name, an eventfd and a file of the
/// resolver. Standard error is opened once more.
void require_connections(std::size_t servers) {
  os::require_free_descriptors(2 * servers + 1);
}

Interview::Interview(const config::Settings& settings, redis::Timeouts timeouts)
    : servers_(settings.servers.size()) {
  for (const redis::Endpoint& server : settings.servers) {
    if (server.tls && !tls_) tls_.emplace(settings.tls);
    questions_.connect(server, server.tls ? &*tls_ : nullptr, timeouts);
  }
}

void Interview::finish() {
  os::Loop loop;
  require_connections(servers());
  std::vector<os::Interest> interests;
  while (!questions_.finished()) {
    interests.clear();
    questions_.interests(interests);
    loop.wait(interests, questions_.deadline());
    questions_.turn(os::boot_now());
  }
}

}  // namespace redlock::driver

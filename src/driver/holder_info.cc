// SPDX-License-Identifier: MIT
#include "driver/holder_info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace redlock::driver {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// By the environment, not getpwuid(3): a look-up may ask a directory server over the network, and
/// this must not wait for anybody.
std::string user_name() {
  for (const char* variable : {"LOGNAME", "USER"}) {
    const char* name = std::getenv(variable);
    if (name != nullptr && *name != '\0') return name;
  }
  return ::geteuid() == 0 ? "root" : fmt::format("uid {}", ::geteuid());
}

/// A command line may hold what not everybody who reads the servers shall know.
std::string recorded(const std::vector<std::string>& job, config::RecordCommand how) {
  if (how == config::RecordCommand::none || job.empty()) return {};
  if (how == config::RecordCommand::full) return records::shell_like(job);
  const std::string& program = job.front();
  return records::shell_like({program.substr(program.rfind('/') + 1)});
}

}  // namespace

records::Holder describe_ourselves(const config::Settings& settings,
                                   const std::vector<std::string>& job) {
  return {
      .host = host_name(),
      .user = user_name(),
      .pid = ::getpid(),
      .command = recorded(job, settings.record_command),
      .since = {},
      .ttl = settings.ttl,
      .servers = server_set_fingerprint(settings.servers),
  };
}

std::string server_set_fingerprint(const std::vector<redis::Endpoint>& servers) {
  std::vector<std::string> places;
  places.reserve(servers.size());
  for (const redis::Endpoint& server : servers) {
    places.push_back(server.kind == redis::Endpoint::Kind::unix_socket
                         ? fmt::format("{} {}\n", server.path, server.db)
                         : fmt::format("{} {} {}\n", server.host, server.port, server.db));
  }
  std::sort(places.begin(), places.end());
  // FNV-1a: no secret is protected by it, two sets are only told apart.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::string& place : places) {
    for (const char byte : place) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace redlock::driver

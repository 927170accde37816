// SPDX-License-Identifier: MIT
#include "driver/holder_info.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "records/holder.h"
namespace redlock::driver {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// Reads the environment instead of calling getpwuid(3): a look-up may ask a directory server over
/// the network, and redlock must not wait for one.
std::string user_name() {
  for (const char* variable : {"LOGNAME", "USER"}) {
    const char* name = std::getenv(variable);
    if (name != nullptr && *name != '\0') return name;
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

records::Holder describe_ourselves(const config::Settings& settings, const LockId& lock,
                                   const std::vector<std::string>& job) {
  return {
      .host = host_name(),
      .user = user_name(),
      .pid = ::getpid(),
      .command = recorded(job, settings.record_command),
      .message = records::as_message(settings.message),
      .shared = settings.shared || settings.slots > 0,
      .since = {},
      .ttl = settings.ttl,
      .servers = lock.servers,
  };
}

std::function<std::string()> record_of(records::Holder who) {
  return [who = std::move(who)] { return records::to_json(records::since_now(who)); };
}

}  // namespace redlock::driver

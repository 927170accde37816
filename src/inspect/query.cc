// SPDX-License-Identifier: MIT
#include "inspect/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "driver/finish.h"
#include "os/clock.h"

namespace redlock::inspect {

Query::Query(const config::Settings& settings)
    : settings_(settings), refusals_(settings.servers.size()) {
  for (const redis::Endpoint& server : settings.servers) {
    if (server.tls && !tls_) tls_.emplace(settings.tls);
    observers_.emplace_back(server, server.tls ? &*tls_ : nullptr,
                            // No lease depends on these requests, so the ttl does not limit their
                            // time-out.
                            redis::Timeouts{.request = settings.server_timeout});
  }
}

std::vector<std::string> Query::names(Which which) {
  const char* const part = which == Which::held ? "holder" : "log";
  for (redis::Observer& observer : observers_) observer.scan(part, os::boot_now());
  driver::finish(observers_);
  std::set<std::string> names;
  for (const redis::Observer& observer : observers_) {
    for (const std::string& key : observer.found()) {
      const std::string& prefix = settings_.prefix;
      if (key.size() > prefix.size() && key.starts_with(prefix)) {
        names.insert(key.substr(prefix.size()));
      }
    }
  }
  return {names.begin(), names.end()};
}

std::vector<Observed> Query::look(const std::vector<std::string>& names,
                                  redis::Observer::Marks marks, const std::string& reader) {
  std::vector<driver::LockId> ids;
  std::vector<std::string> keys;
  for (const std::string& name : names) {
    ids.push_back(driver::lock_id(settings_, name));
    keys.push_back(ids.back().key);
  }
  for (redis::Observer& observer : observers_) observer.look(keys, marks, reader, os::boot_now());
  driver::finish(observers_);
  std::vector<Observed> all;
  all.reserve(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    std::vector<redis::Observation> observations;
    for (std::size_t server = 0; server < observers_.size(); ++server) {
      observations.push_back(observers_[server].take(index));
      const auto* none = std::get_if<lock::Unreachable>(&observations.back().seen);
      if (none != nullptr && !refusals_[server]) refusals_[server] = none->why;
    }
    all.push_back(observe(std::move(ids[index]), std::move(observations)));
  }
  return all;
}

std::vector<std::optional<std::string>> Query::troubles() const {
  std::vector<std::optional<std::string>> troubles = refusals_;
  for (std::size_t server = 0; server < observers_.size(); ++server) {
    if (const auto why = observers_[server].cut()) troubles[server] = *why;
    if (const auto why = observers_[server].trouble()) troubles[server] = why->why;
  }
  return troubles;
}

std::vector<std::string> Query::complaints() const {
  std::vector<std::string> lines;
  const auto why = troubles();
  for (std::size_t server = 0; server < observers_.size(); ++server) {
    const std::string display = settings_.servers[server].brief();
    const bool cut = observers_[server].cut() && !observers_[server].trouble();
    if (cut) {
      lines.push_back(fmt::format("warning: {} {}", display, *why[server]));
    } else if (why[server]) {
      lines.push_back(fmt::format("{} could not be asked: {}", display, *why[server]));
    }
  }
  return lines;
}

std::size_t Query::reached() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      observers_,
      [](const redis::Observer& observer) { return !observer.trouble() && !observer.cut(); }));
}

}  // namespace redlock::inspect

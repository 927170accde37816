// SPDX-License-Identifier: MIT
#include "diag/server_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "lock/timing.h"

namespace redlock::diag {

namespace {

constexpr std::size_t kDigits = 6;
constexpr std::size_t kMostServers = 100;  ///< a longer list is not believed

using Hashes = std::vector<std::string>;

/// The hashes of `some` that `others` has not.
Hashes only_in(const Hashes& some, const Hashes& others) {
  Hashes rest;
  std::ranges::set_difference(some, others, std::back_inserter(rest));
  return rest;
}

}  // namespace

std::vector<std::string> hashes_in(std::string_view list) {
  const bool hex = list.find_first_not_of("0123456789abcdef") == list.npos;
  if (!hex || list.size() % kDigits != 0 || list.size() > kDigits * kMostServers) return {};
  Hashes hashes;
  for (; !list.empty(); list.remove_prefix(kDigits)) hashes.emplace_back(list.substr(0, kDigits));
  return std::ranges::is_sorted(hashes) ? hashes : Hashes();
}

Hashes ServerList::hashes() const {
  Hashes hashes;
  for (const Server& server : servers_) hashes.push_back(server.hash);
  std::ranges::sort(hashes);
  return hashes;
}

std::string ServerList::record() const {
  return fmt::format("{}", fmt::join(hashes(), ""));
}

Relation ServerList::relation(std::string_view theirs) const {
  const Hashes ours = hashes();
  const Hashes them = hashes_in(theirs);
  if (ours.empty() || them.empty()) return Relation::unknown;
  const std::size_t all = ours.size() + only_in(them, ours).size();
  if (ours == them) return Relation::same;
  const bool share = all < lock::quorum(ours.size()) + lock::quorum(them.size());
  return share ? Relation::overlapping : Relation::apart;
}

std::string ServerList::name(const std::string& hash) const {
  const auto ours = std::ranges::find(servers_, hash, &Server::hash);
  return ours == servers_.end() ? hash : ours->name;
}

std::string ServerList::names(std::string_view theirs) const {
  Hashes names = hashes_in(theirs);
  for (std::string& each : names) each = name(each);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string ServerList::difference(std::string_view theirs) const {
  const Hashes them = hashes_in(theirs);
  Hashes parts;
  for (const std::string& hash : only_in(hashes(), them)) parts.push_back("without " + name(hash));
  for (const std::string& hash : only_in(them, hashes())) parts.push_back("with " + hash);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace redlock::diag

// SPDX-License-Identifier: MIT
//
// Our list of servers, beside those of other hosts: of these, records have the short hashes only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::diag {

/// How another list relates to ours, the harmless first.
enum class Relation {
  same,
  unknown,      ///< the record has none: of redlock 1.0, or of another program
  overlapping,  ///< any quorums of the two lists share a server: a roll-out is on its way
  apart,        ///< they need not: two jobs may run at the same time
};

/// A list in a record is one word: the hashes of its servers, 6 hex digits each, sorted.
class ServerList {
 public:
  struct Server {
    std::string hash;
    std::string name;  ///< its redacted URI
  };

  ServerList() = default;  ///< of which every list is unknown
  explicit ServerList(std::vector<Server> servers) : servers_(std::move(servers)) {}

  [[nodiscard]] const std::vector<Server>& servers() const { return servers_; }
  /// Our list, for a record.
  [[nodiscard]] std::string record() const;

  // `theirs`: from a record, untrusted. All texts are safe to print.

  [[nodiscard]] Relation relation(std::string_view theirs) const;
  /// "redis://db1:6379, 3f2a9c": our servers have their names, all others their hashes.
  [[nodiscard]] std::string names(std::string_view theirs) const;
  /// "without redis://db4:6379, with 3f2a9c"
  [[nodiscard]] std::string difference(std::string_view theirs) const;

 private:
  [[nodiscard]] std::vector<std::string> hashes() const;
  [[nodiscard]] std::string name(const std::string& hash) const;

  std::vector<Server> servers_;
};

/// The hashes in a list. Empty: it is no list.
std::vector<std::string> hashes_in(std::string_view list);

}  // namespace redlock::diag

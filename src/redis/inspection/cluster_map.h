// SPDX-License-Identifier: MIT
//
// Which primary of a Redis Cluster has which key. Absent on purpose: asking for it (observer.h),
// and finding the one primary of a lock, which needs no map (locator.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/wire/resp.h"
#include "redis/wire/uri.h"

namespace redlock::redis {

/// The hash slot of a key, 0 to 16383
/// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
std::uint16_t slot_of(std::string_view key);

class ClusterMap {
 public:
  /// Of the reply to CLUSTER SLOTS. Each slot may be a range of its own, with up to 30 elements and
  /// 500 bytes for a primary and its replicas.
  static constexpr ReplyLimits kLimits{
      .bytes = 8 * 1024 * 1024, .of_array = 16 * 1024, .of_reply = 512 * 1024};

  /// Reads the reply to CLUSTER SLOTS; none if it is something else. `asked`: the host of the node
  /// that gave it, for nodes that it names without a host.
  static std::optional<ClusterMap> read(const Value& reply, const std::string& asked);

  /// Each primary once.
  [[nodiscard]] const std::vector<Address>& primaries() const { return primaries_; }

  /// The index in primaries() of the one that has the key; none: no node serves its slot.
  [[nodiscard]] std::optional<std::size_t> primary_of(std::string_view key) const;

 private:
  struct Range {
    std::int64_t first;
    std::int64_t last;
    std::size_t primary;
  };
  std::vector<Address> primaries_;
  std::vector<Range> ranges_;
};

}  // namespace redlock::redis

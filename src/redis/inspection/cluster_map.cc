// SPDX-License-Identifier: MIT
#include "redis/inspection/cluster_map.h"

#include <algorithm>

namespace redlock::redis {
namespace {

constexpr std::uint16_t kSlots = 16'384;
/// Redis recommends at most 1000 nodes. redlock connects to each primary, so a map with more than
/// this is not believed.
constexpr std::size_t kMostPrimaries = 1024;

/// CRC-16/XMODEM, as the specification of Redis Cluster has it.
std::uint16_t crc16(std::string_view text) {
  unsigned crc = 0;
  for (const char c : text) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    }
    crc &= 0xffffU;
  }
  return static_cast<std::uint16_t>(crc);
}

}  // namespace

std::uint16_t slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != key.npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != key.npos && close != open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % kSlots;
}

std::optional<ClusterMap> ClusterMap::read(const Value& reply, const std::string& asked) {
  ClusterMap map;
  if (reply.type != Value::Type::array) return std::nullopt;
  for (const Value& range : reply.elements) {
    const std::vector<Value>& part = range.elements;
    if (part.size() < 3 || part[2].elements.size() < 2) return std::nullopt;
    const std::vector<Value>& node = part[2].elements;
    const std::int64_t port = node[1].integer;
    Address address{.host = node[0].text.empty() ? asked : node[0].text, .port = 0};
    if (!is_host(address.host) || port < 1 || port > 65535) return std::nullopt;
    address.port = static_cast<std::uint16_t>(port);
    const auto known = std::ranges::find(map.primaries_, address);
    const auto index = static_cast<std::size_t>(known - map.primaries_.begin());
    if (known == map.primaries_.end()) map.primaries_.push_back(std::move(address));
    if (map.primaries_.size() > kMostPrimaries) return std::nullopt;
    map.ranges_.push_back({part[0].integer, part[1].integer, index});
  }
  return map;
}

std::optional<std::size_t> ClusterMap::primary_of(std::string_view key) const {
  const std::int64_t slot = slot_of(key);
  const auto range = std::ranges::find_if(
      ranges_, [slot](const Range& one) { return one.first <= slot && slot <= one.last; });
  if (range == ranges_.end()) return std::nullopt;
  return range->primary;
}

}  // namespace redlock::redis

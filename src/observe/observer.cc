// SPDX-License-Identifier: MIT
#include "observe/observer.h"

#include <algorithm>

#include "lock/value.h"
#include "redis/requests/keys.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"

namespace redlock::observe {
namespace {

/// Requests on their way at a time: enough to save round trips, too few to burden a server.
constexpr std::size_t kWindow = 16;
/// Buckets that a server scans in one step: far below a millisecond's work.
constexpr std::string_view kStep = "500";
/// A server that names more locks than this is not believed.
constexpr std::size_t kMostLocks = 100'000;

// look.lua never returns longer fields.
constexpr std::size_t kMostOfValue = 1024;
constexpr std::size_t kMostOfHolder = 8192;
constexpr std::size_t kMostOfWord = 80;
constexpr std::size_t kMostReaders = 100;
/// A server that counts more readers than this is not believed.
constexpr std::int64_t kMostReaderCount = 1'000'000;

/// The bytes of text in a value.
std::size_t size_of(const redis::Value& value) {
  std::size_t size = value.text.size();
  for (const redis::Value& element : value.elements) size += size_of(element);
  return size;
}

std::optional<lock::Reader> read_reader(const redis::Value& reply) {
  if (!redis::fits(reply, "sssss")) return std::nullopt;
  const std::vector<redis::Value>& part = reply.elements;
  const auto left = redis::read_number(part[1]);
  if (!lock::is_token(part[0].text) || !left || part[2].text.size() > kMostOfHolder ||
      part[4].text.size() > kMostOfWord) {
    return std::nullopt;
  }
  constexpr std::uint64_t kMost = 100ULL * 365 * 24 * 3600 * 1000;  // more comes from a wrong clock
  return lock::Reader{part[0].text, std::chrono::milliseconds(std::min(*left, kMost)), part[2].text,
                      redis::read_number(part[3]).value_or(0), part[4].text};
}

std::optional<lock::Sighting> read_sighting(const redis::Value& reply) {
  const std::vector<redis::Value>& part = reply.elements;
  if (!redis::fits(reply, "sssissisisaii") || part[1].text.size() > kMostOfWord ||
      part[2].text.size() > kMostOfValue || part[4].text.size() > kMostOfHolder ||
      part[7].text.size() > kMostOfWord || part[9].text.size() > kMostOfWord) {
    return std::nullopt;
  }
  const std::string& type = part[1].text;
  using Kind = lock::Sighting::Kind;
  lock::Sighting sighting{.kind = type == "none"     ? Kind::nothing
                                  : type == "string" ? Kind::value
                                                     : Kind::other,
                          .value = type == "string" ? part[2].text : lock::stand_in_for(type),
                          .ttl_left = std::nullopt,
                          .holder = part[4].text,
                          // Another program may have written the key.
                          .fence = redis::read_number(part[5]).value_or(0),
                          .owner = part[7].text,
                          .count = part[8].integer,
                          .run = part[9].text};
  constexpr std::int64_t kMostHolds = 10'000;
  sighting.holds = static_cast<unsigned>(std::clamp<std::int64_t>(part[6].integer, 0, kMostHolds));
  for (const redis::Value& reader : part[10].elements) {
    if (auto known = read_reader(reader)) sighting.readers.push_back(std::move(*known));
    if (sighting.readers.size() == kMostReaders) break;
  }
  const auto listed = static_cast<std::int64_t>(sighting.readers.size());
  sighting.reader_count =
      static_cast<std::size_t>(std::clamp(part[11].integer, listed, kMostReaderCount));
  if (part[3].integer != -1) sighting.ttl_left = redis::read_length(part[3]);
  constexpr std::int64_t kMost = 3'650LL * 24 * 3600 * 1000;  // more comes from a wrong clock
  sighting.lease_left = std::chrono::milliseconds(std::clamp(part[12].integer, -kMost, kMost));
  return sighting;
}

lock::Seen read_seen(const redis::Value& reply) {
  const std::vector<redis::Value>& part = reply.elements;
  if (redis::fits(reply, "ss") && part[0].text == "replica") return redis::replica_of(part[1].text);
  if (!part.empty() && part[0].text == "seen") {
    if (auto sighting = read_sighting(reply)) return std::move(*sighting);
  }
  return redis::unexpected_reply(reply);
}

/// Of a shared lock, at least one is left, or the lock is about to expire.
bool hides_readers(const lock::Seen& seen) {
  const auto* sighting = std::get_if<lock::Sighting>(&seen);
  return sighting != nullptr && lock::is_shared(lock::read_value(sighting->value).token) &&
         sighting->reader_count == 0;
}

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

std::optional<ClusterMap> ClusterMap::read(const redis::Value& reply, const std::string& asked) {
  ClusterMap map;
  if (reply.type != redis::Value::Type::array) return std::nullopt;
  for (const redis::Value& range : reply.elements) {
    const std::vector<redis::Value>& part = range.elements;
    if (part.size() < 3 || part[2].elements.size() < 2) return std::nullopt;
    const std::vector<redis::Value>& node = part[2].elements;
    const std::int64_t port = node[1].integer;
    const bool unnamed = node[0].text.empty() || node[0].text == "?";
    redis::Address address{.host = unnamed ? asked : node[0].text, .port = 0};
    if (!redis::is_host(address.host) || port < 1 || port > 65535) return std::nullopt;
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

std::size_t ClusterMap::unserved() const {
  std::int64_t served = 0;
  for (const Range& range : ranges_) {
    const std::int64_t last = std::min<std::int64_t>(range.last, kSlots - 1);
    served += std::max<std::int64_t>(last - std::max<std::int64_t>(range.first, 0) + 1, 0);
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(kSlots - served, 0));
}

Observer::Observer(redis::Questions& questions, std::size_t server)
    : questions_(questions), server_(server) {
  if (questions.place(server).kind != redis::Endpoint::Kind::cluster) nodes_.push_back({server});
}

void Observer::scan(std::string_view part, lock::Instant now) {
  looks_ = false;
  part_ = part;
  if (nodes_.empty()) return ask_for_map(now);
  begin(now);
}

void Observer::look(std::vector<std::string> keys, Marks marks, std::string reader,
                    lock::Instant now) {
  looks_ = true;
  keys_ = std::move(keys);
  reader_ = std::move(reader);
  marks_ = marks;
  if (nodes_.empty() && keys_.size() == 1) {
    // The nodes lead us to the one that has this key.
    questions_.go_to(server_, keys_.front());
    nodes_.push_back({server_});
  } else if (nodes_.empty() && !trouble_) {
    return ask_for_map(now);
  }
  begin(now);
}

void Observer::ask_for_map(lock::Instant now) {
  questions_.allow(server_, ClusterMap::kLimits);
  const auto take = [this](const redis::Questions::Answer& answer, lock::Instant later) {
    if (const auto* silence = answer.silence()) {
      trouble_ = *silence;
    } else {
      const redis::Value& reply = answer.reply();
      map_ = ClusterMap::read(reply, questions_.link(server_).place().address.host);
      if (!map_) trouble_ = redis::unexpected_reply(reply);
    }
    questions_.close(server_);
    if (map_) {
      for (const redis::Address& address : map_->primaries()) {
        redis::Endpoint primary = questions_.place(server_);
        primary.kind = redis::Endpoint::Kind::tcp;
        primary.address = address;
        nodes_.push_back({questions_.connect_like(server_, std::move(primary))});
      }
    }
    begin(later);
  };
  questions_.ask(server_, {{{.words = {"CLUSTER", "SLOTS"}}}}, take, now);
}

void Observer::begin(lock::Instant now) {
  for (Node& node : nodes_) node.bytes = 0;
  if (looks_) return begin_look(now);
  const std::size_t unserved = map_ ? map_->unserved() : 0;
  if (unserved > 0) {
    gap_ = "no node of the Cluster serves " + std::to_string(unserved) +
           " of the 16384 slots, so that the locks in them are missing";
  }
  for (Node& node : nodes_) {
    node.cursor = "0";
    ask_scan(node, now);
  }
}

void Observer::begin_look(lock::Instant now) {
  observations_.assign(keys_.size(), {});
  for (Node& node : nodes_) node.wanted.clear();
  for (std::size_t index = 0; index < keys_.size(); ++index) {
    std::optional<std::size_t> at;
    if (!nodes_.empty()) at = map_ ? map_->primary_of(keys_[index]) : std::size_t{0};
    lock::Unreachable why = (at ? nodes_[*at].trouble : trouble_).value_or(lock::Unreachable{});
    if (at) {
      nodes_[*at].wanted.push_back(index);
    } else if (why.why.empty()) {
      why.why = "no node of the Cluster serves the slot of this lock";
    }
    observations_[index].seen = std::move(why);
  }
  for (Node& node : nodes_) {
    node.asked = 0;
    if (!node.trouble) ask_more(node, now);
  }
}

void Observer::ask(Node& node, redis::Command command, Take take, lock::Instant now) {
  questions_.ask(
      node.connection, {{std::move(command)}},
      [this, &node, take = std::move(take)](const redis::Questions::Answer& answer,
                                            lock::Instant later) {
        if (const auto* silence = answer.silence()) {
          node.trouble = *silence;
          stop(node, *silence);
        } else {
          take(answer.reply(), later);
        }
      },
      now);
}

void Observer::ask_scan(Node& node, lock::Instant now) {
  ask(
      node,
      {.words = {"SCAN", node.cursor, "MATCH", redis::helper_pattern(part_), "COUNT",
                 std::string(kStep)}},
      [this, &node](const redis::Value& reply, lock::Instant later) {
        take_scan(node, reply, later);
      },
      now);
}

void Observer::take_scan(Node& node, const redis::Value& reply, lock::Instant now) {
  const std::vector<redis::Value>& part = reply.elements;
  if (!redis::fits(reply, "sa")) {
    node.trouble = redis::unexpected_reply(reply);
    return;
  }
  for (const redis::Value& helper : part[1].elements) {
    if (auto key = redis::key_of_helper(helper.text, part_)) found_.insert(std::move(*key));
  }
  const bool in_circles = part[0].text == node.cursor;
  node.cursor = part[0].text;
  if (node.cursor == "0") return;
  if (found_.size() > kMostLocks) {
    cut_ = "names more than " + std::to_string(kMostLocks) + " locks; the rest is left out";
  } else if (in_circles) {
    cut_ = "repeats the same page of locks (SCAN), so some locks may be missing";
  } else if (const auto why = redis::too_much(node.bytes += size_of(reply))) {
    cut_ = why;
  } else {
    ask_scan(node, now);
  }
}

void Observer::ask_more(Node& node, lock::Instant now) {
  while (node.asked < node.wanted.size() && questions_.unanswered(node.connection) < kWindow) {
    const std::size_t index = node.wanted[node.asked++];
    const std::string& key = keys_[index];
    Observation& about = observations_[index];
    const auto ask_about = [&](redis::Command command,
                               std::function<void(const redis::Value&)> take) {
      ask(
          node, std::move(command),
          [this, &node, take = std::move(take)](const redis::Value& reply, lock::Instant later) {
            take(reply);
            go_on(node, reply, later);
          },
          now);
    };
    ask_look(node, index, {}, now);
    ask_about(redis::encode_waiting(key),
              [&about](const redis::Value& reply) { about.queue = redis::read_waiting(reply); });
    if (marks_ == Marks::asked) {
      ask_about({&redis::scripts::done, {redis::helper_key(key, "done")}},
                [&about](const redis::Value& reply) { about.done = redis::read_done(reply); });
      ask_about({&redis::scripts::done, {redis::helper_key(key, "build")}},
                [&about](const redis::Value& reply) { about.built = redis::read_built(reply); });
      ask_about(redis::encode_refusals(key), [&about](const redis::Value& reply) {
        about.refusals = redis::read_refusals(reply);
      });
    }
  }
}

/// Some services hide the readers unless they are in KEYS. There a second request declares them: a
/// user who never shares a lock may lack permission for them, and needs no such request.
void Observer::ask_look(Node& node, std::size_t index, std::vector<std::string> declared,
                        lock::Instant now) {
  const std::string& key = keys_[index];
  const std::string readers = redis::helper_key(key, "readers");
  const bool again = !declared.empty();
  ask(
      node,
      {&redis::scripts::look,
       {key, redis::helper_key(key, "holder")},
       {readers, reader_},
       std::move(declared)},
      [=, this, &node](const redis::Value& reply, lock::Instant later) {
        lock::Seen& seen = observations_[index].seen;
        // A node that a map names has no other place to send us to.
        const bool moved = map_ && redis::is_redirection(reply);
        seen = moved ? lock::Unreachable{.why =
                                             "has just moved the lock's slot to another node; "
                                             "try again"}
                     : read_seen(reply);
        if (!again && hides_readers(seen)) ask_look(node, index, {readers}, later);
        go_on(node, reply, later);
      },
      now);
}

/// After each answer about a lock.
void Observer::go_on(Node& node, const redis::Value& reply, lock::Instant now) {
  const auto why = redis::too_much(node.bytes += size_of(reply));
  // With one lock there is nothing to leave out.
  if (why && node.wanted.size() > 1) {
    cut_ = why;
    return stop(node, {.why = *why});
  }
  ask_more(node, now);
}

/// Locks without an answer get the reason; the others keep their answer.
void Observer::stop(Node& node, const lock::Unreachable& why) {
  for (const std::size_t index : node.wanted) {
    auto* none = std::get_if<lock::Unreachable>(&observations_[index].seen);
    if (none != nullptr && none->why.empty()) *none = why;
  }
  questions_.forget(node.connection);
}

std::optional<std::string> Observer::trouble() const {
  if (trouble_) return trouble_->why;
  const auto node =
      std::ranges::find_if(nodes_, [](const Node& one) { return one.trouble.has_value(); });
  if (node == nodes_.end()) return gap_;
  if (!map_) return node->trouble->why;
  const redis::Address& address = questions_.place(node->connection).address;
  return "node " + address.display() + ": " + node->trouble->why;
}

}  // namespace redlock::observe

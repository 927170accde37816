// SPDX-License-Identifier: MIT
#include "redis/inspection/observer.h"

#include <algorithm>

#include "redis/wire/trouble.h"

namespace redlock::redis {

Observer::Observer(const Endpoint& endpoint, const TlsContext* tls, Timeouts timeouts)
    : endpoint_(endpoint), tls_(tls), timeouts_(timeouts) {
  if (endpoint.kind != Endpoint::Kind::cluster) nodes_.emplace_back(endpoint, tls, timeouts);
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
    nodes_.emplace_back(endpoint_, tls_, timeouts_, keys_.front());
  } else if (nodes_.empty() && !trouble_) {
    return ask_for_map(now);
  }
  begin(now);
}

void Observer::ask_for_map(lock::Instant now) {
  map_link_.emplace(endpoint_, tls_, timeouts_, std::string());
  map_link_->allow(ClusterMap::kLimits);
  map_link_->ask({.attempt = lock::kNoAttempt}, {encode_command({"CLUSTER", "SLOTS"}), 1}, now);
}

void Observer::take_map(const Link::Arrival& arrival, lock::Instant now) {
  if (const auto* silence = std::get_if<lock::Unreachable>(&arrival.content)) {
    trouble_ = *silence;
  } else {
    const Value& reply = std::get<Value>(arrival.content);
    map_ = ClusterMap::read(reply, map_link_->place().host);
    if (!map_) trouble_ = unexpected_reply(reply);
  }
  map_link_.reset();
  if (map_) {
    for (const Address& address : map_->primaries()) {
      Endpoint primary = endpoint_;
      primary.kind = Endpoint::Kind::tcp;
      primary.host = address.host;
      primary.port = address.port;
      primaries_.push_back(std::move(primary));
    }
    for (const Endpoint& primary : primaries_) {
      nodes_.emplace_back(primary, tls_, timeouts_, std::string(), NodeObserver::Named::by_map);
    }
  }
  begin(now);
}

void Observer::begin(lock::Instant now) {
  if (looks_) return begin_look(now);
  for (NodeObserver& node : nodes_) node.scan(part_, now);
}

void Observer::begin_look(lock::Instant now) {
  std::vector<std::vector<std::string>> by_node(nodes_.size());
  places_.clear();
  for (const std::string& key : keys_) {
    std::optional<std::size_t> node;
    if (map_) {
      node = map_->primary_of(key);
    } else if (!nodes_.empty()) {
      node = 0;
    }
    places_.emplace_back();
    if (!node) continue;
    places_.back() = {*node, by_node[*node].size()};
    by_node[*node].push_back(key);
  }
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    nodes_[node].look(std::move(by_node[node]), marks_, reader_, now);
  }
}

void Observer::interests(std::vector<os::Interest>& out) const {
  if (map_link_) map_link_->interests(out);
  for (const NodeObserver& node : nodes_) {
    if (!node.finished()) node.interests(out);
  }
}

lock::Instant Observer::deadline() const {
  lock::Instant earliest = map_link_ ? map_link_->deadline() : lock::kNever;
  for (const NodeObserver& node : nodes_) {
    if (!node.finished()) earliest = std::min(earliest, node.deadline());
  }
  return earliest;
}

void Observer::turn(lock::Instant now) {
  if (map_link_) {
    const std::vector<Link::Arrival> arrivals = map_link_->turn(now);
    if (!arrivals.empty()) take_map(arrivals.front(), now);
    return;
  }
  for (NodeObserver& node : nodes_) {
    if (!node.finished()) node.turn(now);
  }
}

bool Observer::finished() const {
  return !map_link_ && std::ranges::all_of(nodes_, &NodeObserver::finished);
}

std::optional<lock::Unreachable> Observer::trouble() const {
  if (trouble_) return trouble_;
  const auto node = std::ranges::find_if(
      nodes_, [](const NodeObserver& one) { return one.trouble().has_value(); });
  if (node == nodes_.end()) return std::nullopt;
  if (!map_) return node->trouble();
  lock::Unreachable why = *node->trouble();
  const Endpoint& primary = primaries_[static_cast<std::size_t>(node - nodes_.begin())];
  why.why = "node " + Address{primary.host, primary.port}.display() + ": " + why.why;
  return why;
}

std::set<std::string> Observer::found() const {
  std::set<std::string> all;
  for (const NodeObserver& node : nodes_) all.insert(node.found().begin(), node.found().end());
  return all;
}

std::optional<std::string> Observer::cut() const {
  const auto node =
      std::ranges::find_if(nodes_, [](const NodeObserver& one) { return one.cut().has_value(); });
  return node == nodes_.end() ? std::nullopt : node->cut();
}

Observation Observer::take(std::size_t index) {
  if (const auto place = places_[index]) return nodes_[place->first].take(place->second);
  lock::Unreachable why = trouble_.value_or(lock::Unreachable{});
  if (why.why.empty()) why.why = "no node of the Cluster serves the slot of this lock";
  return {why, std::nullopt, std::nullopt};
}

}  // namespace redlock::redis

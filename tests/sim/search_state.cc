// SPDX-License-Identifier: MIT
#include "search.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <variant>

namespace redlock::sim {

using std::chrono::milliseconds;

Hash mix(Hash a, Hash b) {
  Hash mixed = (a ^ (b + 0x9e3779b97f4a7c15U)) * 0xbf58476d1ce4e5b9U;
  mixed = (mixed ^ (mixed >> 29U)) * 0x94d049bb133111ebU;
  return mixed ^ (mixed >> 32U);
}
Hash hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}
Hash hash_of(const std::vector<redis::Command>& commands) {
  Hash hash = commands.size();
  for (const redis::Command& each : commands) {
    hash = mix(hash, each.script == nullptr ? 0 : hash_of(each.script->text));
    for (const std::string& key : each.keys) hash = mix(hash, hash_of(key));
    for (const std::string& word : each.words) hash = mix(hash, hash_of(word));
  }
  return hash;
}
Hash hash_of(Time time) {
  return static_cast<Hash>(time.count());
}
Hash hash_of(const lock::Answer& answer) {
  Hash hash = answer.index();
  if (const auto* granted = std::get_if<lock::Granted>(&answer)) {
    hash = mix(mix(mix(hash, granted->fence), hash_of(granted->distrusted_for)),
               hash_of(granted->clock) ^ (granted->may_be_new ? 1U : 0U));
  } else if (const auto* refused = std::get_if<lock::Refused>(&answer)) {
    hash = mix(mix(hash, hash_of(refused->blocker)), hash_of(refused->clock));
    hash = mix(mix(hash, refused->ticket), refused->place);
    hash = mix(hash, hash_of(refused->ttl_left.value_or(milliseconds(-1))));
  } else if (const auto* behind = std::get_if<lock::NotCommitted>(&answer)) {
    hash = mix(hash, behind->last);
  }
  return hash;
}

namespace {

/// In whatever order the keys were made.
Hash hash_of_keys(const Keyspace& keyspace) {
  Hash all = hash_of(keyspace.identity.run_id);
  for (const Keyspace::Key& key : keyspace.keys()) {
    if (key.type == Keyspace::Type::none) continue;
    Hash hash = mix(hash_of(key.name), static_cast<Hash>(key.expires_ms));
    if (key.type == Keyspace::Type::string) hash = mix(hash, hash_of(key.text));
    for (const auto& [name, value] : key.fields) {
      hash = mix(mix(hash, hash_of(name)), hash_of(value));
    }
    for (const Keyspace::Member& each : key.members) {
      hash = mix(mix(hash, hash_of(each.name)), static_cast<Hash>(each.score));
    }
    all += hash;
  }
  return all;
}

}  // namespace

lock::Instant Contender::deadline() const {
  lock::Instant earliest = session->deadline();
  for (const Link& link : links) earliest = std::min(earliest, link.deadline());
  return earliest;
}

Hash State::hash() const {
  Hash hash = mix(hash_of(now), jobs);
  hash = mix(hash, taken ^ revoked << 8U ^ deleted << 12U);
  for (const std::uint8_t each : {left.stops, left.crashes, left.lates, left.forces}) {
    hash = mix(hash, each);
  }
  for (const Server& server : servers) hash = mix(hash, hash_of_keys(server.keyspace()));
  for (const Contender& client : clients) {
    hash = mix(mix(hash, client.past), client.replies);
    for (const bool is : {client.started, client.stopped, client.job, client.session.has_value()}) {
      hash = mix(hash, is ? 1 : 0);
    }
    for (const Channel& to : client.channels) {
      const auto size = to.requests.size() << 8U | to.answers.size();
      hash =
          mix(mix(hash, to.on_the_way), size << 2U | (to.dialing ? 2U : 0U) | (to.open ? 1U : 0U));
    }
  }
  return hash;
}

}  // namespace redlock::sim

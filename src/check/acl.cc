// SPDX-License-Identifier: MIT
//
// The line of `redlock check --acl`: the permissions of redlock-protocol(7), as redis-cli reads
// them.
#include <fmt/format.h>

#include <algorithm>

#include "check/check.h"
#include "redis/requests/keys.h"
#include "redis/requests/request.h"

namespace redlock::check {
namespace {

using Texts = std::vector<std::string>;

/// The keys of a lock, each with "~" in front, and the beginnings of its channels, with "&".
Texts places_of(const std::string& key, const config::Settings& settings) {
  Texts places{"~" + key};
  const auto add = [&](std::string_view part) {
    places.push_back("~" + redis::helper_key(key, part));
  };
  for (const auto* part : {"holder", "fence", "dead", "log", "queue", "alive", "waiters", "turn"}) {
    add(part);
  }
  if (settings.shared || settings.slots > 0) add("readers");
  if (settings.once.count() > 0) add("done");
  if (settings.build) add("build");
  if (settings.newest) add("newest");
  places.push_back("&" + redis::notice_channel(key, ""));
  places.push_back("&" + redis::wake_channel(key, ""));
  if (settings.as == config::As::redisson) {
    places.push_back("~" + redis::redisson_queue(key));
    places.push_back("&" + redis::redisson_channel(key));
  }
  return places;
}

/// What the places of all locks with the prefix begin with, a name with a tag of its own included.
Texts places_of_all(const config::Settings& settings) {
  Texts all;
  for (const std::string_view rest : {"x", "{x}"}) {
    const std::string name = settings.prefix + std::string(rest);
    if (std::ranges::count(name, '{') > 1) continue;  // a name has one tag at most
    for (const std::string& place : places_of(name, settings)) {
      all.push_back(place.substr(0, place.find(name) + settings.prefix.size()));
    }
  }
  std::ranges::sort(all);
  Texts shortest;
  for (const std::string& each : all) {
    if (shortest.empty() || !each.starts_with(shortest.back())) shortest.push_back(each);
  }
  return shortest;
}

/// A pattern for this text alone. Servers accept no blank there, not even with a backslash.
std::string pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) out += '\\';
    out += c == ' ' ? '?' : c;
  }
  return out;
}

/// In redis-cli's quotation marks, if necessary.
std::string quoted(const std::string& word) {
  const auto is_plain = [](char c) { return c > ' ' && c <= '~' && c != '"' && c != '\''; };
  if (std::ranges::all_of(word, is_plain)) return word;
  std::string out;
  for (const char c : word) {
    const bool plain = is_plain(c) && c != '\\';
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return '"' + out + '"';
}

}  // namespace

std::string acl_line(const cli::Check& request) {
  using Kind = redis::Endpoint::Kind;
  const config::Settings& settings = request.settings;
  const auto any_of = [&](Kind kind) {
    return std::ranges::count(settings.servers, kind, &redis::Endpoint::kind) > 0;
  };
  const bool all = request.name.empty();
  const bool cluster = any_of(Kind::cluster);
  const bool redisson = settings.as == config::As::redisson;
  // A user keeps the passwords, and no other permission.
  std::string line =
      "ACL SETUSER " + quoted(request.acl_user) + " on resetkeys resetchannels -@all";
  for (const std::string& place :
       all ? places_of_all(settings) : places_of(settings.prefix + request.name, settings)) {
    line += " " + quoted(pattern(place) + (all || place.front() == '&' ? "*" : ""));
  }
  line +=
      " +eval +evalsha +type +get +set +del +pttl +pexpire +hget +hset +hmget +hdel +info +time"
      " +xadd +xrevrange +xlen +strlen +hstrlen +getrange +memory +unlink +zadd +zrem +zrange"
      " +zrangebyscore +zrank +zcard +zscore +subscribe +publish";
  if (std::ranges::any_of(settings.servers, &redis::Endpoint::db)) line += " +select";
  if (settings.newest || settings.build || settings.once.count() > 0) line += " +xdel";
  if (settings.replicas > 0) line += " +wait";
  if (any_of(Kind::sentinel)) line += " +role";
  if (redisson) line += " +hlen +hgetall +lindex";
  if (cluster) line += " +asking +ssubscribe";
  if (cluster || redisson) line += " +spublish";
  if (all) line += cluster ? " +scan +cluster|slots" : " +scan";
  return line + '\n';
}

}  // namespace redlock::check

// SPDX-License-Identifier: MIT
//
// The commands of sorted sets.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "keyspace.h"
#include "words.h"

namespace redlock::sim {

namespace {

using Member = Keyspace::Member;

constexpr std::string_view kNotFloat = "ERR value is not a valid float";

std::optional<double> read_double(std::string_view text) {
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || std::isnan(number)) {
    return std::nullopt;
  }
  return number;
}

struct Limit {
  double score;
  bool open;
};
std::optional<Limit> read_limit(std::string_view text) {
  const bool open = !text.empty() && text.front() == '(';
  if (open) text.remove_prefix(1);
  const auto score = read_double(text);
  if (!score) return std::nullopt;
  return Limit{*score, open};
}

bool is_before(const Member& a, double score, std::string_view name) {
  return a.score != score ? a.score < score : a.name < name;
}

auto find_member(std::vector<Member>& members, std::string_view name) {
  return std::ranges::find_if(members, [&](const Member& each) { return each.name == name; });
}

}  // namespace

std::string show_number(double number) {
  char text[40];
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  if (std::abs(number) < 1e17 && number == std::trunc(number)) {
    const auto end = std::to_chars(text, text + sizeof text, static_cast<std::int64_t>(number)).ptr;
    return {text, end};
  }
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "%.17g", number))};
}

void Keyspace::zadd(Words words) {
  const bool only_new = is_word(words[2], "NX");
  const bool only_known = is_word(words[2], "XX");
  const Words pairs = words.subspan(only_new || only_known ? 3 : 2);
  if (pairs.empty() || pairs.size() % 2 != 0) return fail(kSyntax);
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    if (!read_double(pairs[i])) return fail(kNotFloat);
  }
  Key* key = find(words[1], Type::zset);
  if (reply_.kind == CommandReply::Kind::error) return;
  if (key == nullptr && only_known) return integer(0);
  if (key == nullptr) key = &make(words[1], Type::zset);
  std::int64_t added = 0;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    const double score = *read_double(pairs[i]);
    const auto known = find_member(key->members, pairs[i + 1]);
    if (known == key->members.end()) {
      if (only_known) continue;
      ++added;
    } else if (only_new || known->score == score) {
      continue;
    } else {
      key->members.erase(known);
    }
    const auto place = std::ranges::partition_point(
        key->members, [&](const Member& each) { return is_before(each, score, pairs[i + 1]); });
    key->members.insert(place, {score, std::string(pairs[i + 1])});
  }
  integer(added);
}

void Keyspace::zrem(Words words) {
  Key* const key = find(words[1], Type::zset);
  std::int64_t removed = 0;
  for (const std::string_view name : words.subspan(2)) {
    if (key == nullptr) break;
    const auto known = find_member(key->members, name);
    if (known == key->members.end()) continue;
    key->members.erase(known);
    ++removed;
  }
  if (key != nullptr) drop_if_empty(*key);
  integer(removed);
}

void Keyspace::zscore(Words words) {
  Key* const key = find(words[1], Type::zset);
  if (key == nullptr) return;
  const auto known = find_member(key->members, words[2]);
  if (known != key->members.end()) text(scratch_ = show_number(known->score));
}

void Keyspace::zrank(Words words) {
  Key* const key = find(words[1], Type::zset);
  if (key == nullptr) return;
  const auto known = find_member(key->members, words[2]);
  if (known != key->members.end()) integer(known - key->members.begin());
}

void Keyspace::zcard(Words words) {
  const Key* key = find(words[1], Type::zset);
  integer(key == nullptr ? 0 : static_cast<std::int64_t>(key->members.size()));
}

/// The texts of numbers must not move.
void Keyspace::list_members(const Key* key, std::size_t from, std::size_t to, bool scores) {
  begin_list();
  if (key == nullptr || from >= to) return;
  numbers_.reserve(to - from);
  for (std::size_t i = from; i < to; ++i) {
    reply_.list.emplace_back(key->members[i].name);
    if (!scores) continue;
    reply_.list.emplace_back(numbers_.emplace_back(show_number(key->members[i].score)));
  }
}

void Keyspace::zrange(Words words) {
  const bool scores = words.size() == 5;
  auto from = read_integer(words[2]);
  auto to = read_integer(words[3]);
  if (!from || !to) return fail(kNotInteger);
  if (scores && !is_word(words[4], "WITHSCORES")) return fail(kSyntax);
  const Key* key = find(words[1], Type::zset);
  const bool some = key != nullptr && cut_range(*from, *to, key->members.size());
  list_members(some ? key : nullptr, static_cast<std::size_t>(*from),
               static_cast<std::size_t>(*to + 1), scores);
}

void Keyspace::zrangebyscore(Words words) {
  bool scores = false;
  std::int64_t offset = 0;
  std::int64_t count = -1;
  for (std::size_t i = 4; i < words.size(); ++i) {
    if (is_word(words[i], "WITHSCORES")) {
      scores = true;
    } else if (is_word(words[i], "LIMIT") && i + 2 < words.size()) {
      const auto first = read_integer(words[i + 1]);
      const auto most = read_integer(words[i + 2]);
      if (!first || !most) return fail(kNotInteger);
      offset = *first;
      count = *most;
      i += 2;
    } else {
      return fail(kSyntax);
    }
  }
  const auto least = read_limit(words[2]);
  const auto most = read_limit(words[3]);
  if (!least || !most) return fail("ERR min or max is not a float");
  const Key* key = find(words[1], Type::zset);
  if (key == nullptr || offset < 0) return begin_list();
  const auto below = [&](const Member& each) {
    return least->open ? each.score <= least->score : each.score < least->score;
  };
  const auto within = [&](const Member& each) {
    return most->open ? each.score < most->score : each.score <= most->score;
  };
  const auto begin = std::ranges::partition_point(key->members, below);
  const auto end = std::partition_point(begin, key->members.end(), within);
  const std::int64_t first = begin - key->members.begin() + offset;
  std::int64_t last = end - key->members.begin();
  if (count >= 0) last = std::min(last, first + count);
  list_members(key, static_cast<std::size_t>(first), static_cast<std::size_t>(last), scores);
}

}  // namespace redlock::sim

// SPDX-License-Identifier: MIT
//
// What the scripts of readers do: readers.lua, enter.lua, exit.lua and those that include them.
#include <algorithm>

#include "server.h"

namespace redlock::sim {

namespace {

using Word = Response::Word;

constexpr std::size_t kMostPurged = 32;

}  // namespace

Server::Standing Server::stand(Token token, std::int64_t now) const {
  const Token value = data_.lock.value;
  if (!is_shared(value)) return {};
  Standing standing{.revoked = is_revoked(value)};
  const Token generation = plain(value);
  const bool counts = data_.readers.value == generation || mutation_ == Mutation::renews_any_list;
  if (!counts) return standing;
  standing.shared = generation;
  for (const Reader& each : data_.readers.list) {
    if (each.token == token) standing.ends_ms = each.ends_ms;
  }
  standing.ours = standing.ends_ms > now;
  return standing;
}

std::vector<Token> Server::readers(Time now) const {
  std::vector<Token> tokens;
  if (!is_shared(owner(now)) || data_.readers.value != plain(owner(now))) return tokens;
  for (const Reader& each : data_.readers.list) {
    if (each.ends_ms > now_ms(now)) tokens.push_back(each.token);
  }
  return tokens;
}

/// The tombstone of a shared lock names all readers.
bool Server::is_dead(Token token) const {
  if (data_.dead.value == kNoToken) return false;
  return data_.dead.value == token ||
         std::ranges::find(data_.dead_readers, token) != data_.dead_readers.end();
}

/// enter.lua. The lock is free, or shared.
void Server::enter(Token token, const Standing& standing, std::int64_t life_ms, std::int64_t now) {
  Key& key = data_.lock;
  Readers& readers = data_.readers;
  const bool first = standing.shared == kNoToken;
  if (first) {
    if (mutation_ != Mutation::renews_any_list) readers = {};
    readers.value = shared(token);
    key = {shared(token), now + life_ms};
  } else if (key.expires_ms != 0 && mutation_ != Mutation::renews_list_only) {
    key.expires_ms = std::max(key.expires_ms, now + life_ms);
  }
  const std::int64_t ends = std::max(standing.ours ? standing.ends_ms : 0, now + life_ms);
  std::erase_if(readers.list, [token](const Reader& each) { return each.token == token; });
  readers.list.push_back({token, ends});
  const std::int64_t end = key.expires_ms == 0 ? now + 31'536'000'000 : key.expires_ms;
  readers.expires_ms = end + 10'000;
}

/// exit.lua
void Server::exit(Token token, std::int64_t now) {
  std::vector<Reader>& list = data_.readers.list;
  const Token gone =
      mutation_ == Mutation::slot_frees_other && slots_of(token) != 0 ? list.front().token : token;
  std::erase_if(list, [gone](const Reader& each) { return each.token == gone; });
  const bool others = std::ranges::any_of(list, [&](const Reader& each) {
    return each.ends_ms > now || mutation_ == Mutation::readers_stay;
  });
  if (!others || mutation_ == Mutation::releases_readers) {
    data_.lock = {};
    data_.readers = {};
  } else {
    std::int64_t last = 0;
    for (const Reader& each : list) last = std::max(last, each.ends_ms);
    if (last > now) data_.lock.expires_ms = std::min(data_.lock.expires_ms, last);
  }
  data_.holder.forget(token);
}

Response Server::run_for_listed(const Request& request, std::int64_t now) {
  switch (request.op) {
    case lock::Op::acquire:
      return is_reader(request.token) ? acquire_shared(request, now) : acquire_slot(request, now);
    case lock::Op::commit:
      return commit_shared(request, now);
    case lock::Op::renew:
      return renew_shared(request, now);
    case lock::Op::repair:
      return repair_shared(request, now);
    case lock::Op::leave:
      return leave_shared(request, now);
    default:
      return release_shared(request, now);
  }
}

Response Server::acquire_shared(const Request& request, std::int64_t now) {
  const Standing standing = stand(request.token, now);
  const bool free = data_.lock.value == kNoToken;
  const bool joins = request.hold != request.token;
  if (!free && (standing.revoked || !slots(request.token, standing, now).fits)) {
    if (mutation_ != Mutation::reader_enters) return refuse(request, refusal(now), now);
  }
  if (!standing.ours && is_dead(request.token)) {
    return refuse(request, {.word = Word::refused, .value = revoked(request.token), .pttl = -2},
                  now);
  }
  if (joins && !standing.ours) {
    return refuse(request, {.word = Word::refused, .pttl = -2}, now);
  }
  if (joins && !data_.holder.is_held(request.token)) return {.word = Word::no_holds};
  const Trace trace = this->trace();
  if (const auto refusal = fresh(trace, standing.ours, now)) return *refusal;

  if (!standing.ours && !joins) {
    Queue& queue = data_.queue;
    const auto bar = queue.refusing_reader(request.waiter, request.ticket, free, now, publish_);
    if (bar && (free || !bar->other)) {
      return refuse(request,
                    {.word = Word::refused, .pttl = bar->turn.left_ms, .turn = bar->turn.owner},
                    now);
    }
    if (bar) return refuse(request, refusal(now), now);
    queue.granted(request.waiter);
  }
  seat(request, standing, now);
  return grant(request, trace, standing.ours, now);
}

/// seat.lua
void Server::seat(const Request& request, const Standing& standing, std::int64_t now) {
  if (standing.shared != kNoToken && mutation_ != Mutation::readers_stay) {
    std::size_t purged = 0;
    std::vector<Reader>& list = data_.readers.list;
    std::ranges::sort(list, {}, &Reader::ends_ms);
    std::erase_if(list, [&](const Reader& each) {
      if (each.ends_ms > now || purged++ >= kMostPurged) return false;
      if (each.token == request.token) return false;
      data_.holder.forget(each.token);
      return true;
    });
  }
  enter(request.token, standing, request.life_ms, now);
  if (standing.shared == kNoToken) data_.holder.forget_all();
}

Response Server::commit_shared(const Request& request, std::int64_t now) {
  const Standing standing = stand(request.token, now);
  if (standing.revoked || !standing.ours) return {.word = Word::not_committed};
  return raise(request, now);
}

Response Server::renew_shared(const Request& request, std::int64_t now) {
  hold(request, now);
  const Token value = data_.lock.value;
  const Standing standing = stand(request.token, now);
  if (standing.ours && standing.revoked) {
    return {.word = Word::not_mine, .value = revoked(request.token), .revoked = true};
  }
  if (value == kNoToken || (standing.shared != kNoToken && !standing.ours)) {
    return {.word = Word::missing};
  }
  if (!standing.ours) return {.word = Word::not_mine, .value = value};
  enter(request.token, standing, request.life_ms, now);
  return {.word = Word::renewed};
}

Response Server::repair_shared(const Request& request, std::int64_t now) {
  const auto answer = [&]() -> Response {
    if (is_released(request.token) && mutation_ != Mutation::note_unread) {
      return {.word = Word::released};
    }
    if (is_dead(request.token)) {
      return {.word = Word::refused, .value = revoked(request.token), .pttl = -2};
    }
    const Standing standing = stand(request.token, now);
    const Slots slots = this->slots(request.token, standing, now);
    if (slots.occupant != kNoToken && mutation_ != Mutation::slot_repaired_over) {
      return {.word = Word::refused, .value = slots.occupant, .pttl = slots.occupant_ends_ms - now};
    }
    const bool free = data_.lock.value == kNoToken || mutation_ == Mutation::repairs_over;
    if (!free && (standing.revoked || !slots.fits)) return refusal(now);
    enter(request.token, standing, request.life_ms, now);
    data_.holder.numbered(request.token).who = true;
    data_.holder.expires_ms = data_.lock.expires_ms + 10'000;
    return {.word = Word::granted};
  }();
  hold(request, now);
  return answer;
}

Response Server::release_shared(const Request& request, std::int64_t now) {
  const Token value = data_.lock.value;
  const Standing standing = stand(request.token, now);
  if (standing.ends_ms != 0) exit(request.token, now);
  if (standing.ours) return {.word = Word::released};
  if (value == kNoToken || standing.shared != kNoToken) return {.word = Word::missing};
  return {.word = Word::not_mine, .value = value};
}

Response Server::leave_shared(const Request& request, std::int64_t now) {
  const Token value = data_.lock.value;
  const Standing standing = stand(request.token, now);
  if (!standing.ours) {
    if (standing.ends_ms != 0) exit(request.token, now);
    data_.holder.forget(request.token);
    if (request.by == By::owner && note(request, settings_.ttl_ms, now)) {
      return {.word = Word::released};
    }
    if (value == kNoToken || standing.shared != kNoToken) return {.word = Word::missing};
    return {.word = Word::not_mine, .value = value};
  }
  const auto others = joined_by_others(request, now);
  if (!others) return {.word = Word::kept};
  if (*others && mutation_ != Mutation::holds_forgotten) {
    drop_hold(request, now);
    return {.word = Word::kept};
  }
  exit(request.token, now);
  if (request.by != By::holder) {
    note(request, std::max(standing.ends_ms - now, settings_.ttl_ms), now);
  }
  return {.word = Word::released};
}

bool Server::remove_shared(Token value, const std::vector<Token>& readers, Time now) {
  constexpr std::int64_t kLongestTtlMs = 86'400'000;
  const std::int64_t clock = now_ms(now);
  expire(clock);
  Key& key = data_.lock;
  if (key.value != kNoToken && plain(key.value) != value) return false;
  std::int64_t left = key.value == kNoToken ? 0 : kLongestTtlMs;
  if (key.expires_ms != 0) left = key.expires_ms - clock;
  std::vector<Token> dead = readers;
  for (const Reader& each : data_.readers.list) dead.push_back(each.token);
  // A member of the list, too; and it has its first reader's token in it.
  if (data_.readers.value != kNoToken) dead.push_back(first_of(data_.readers.value));
  for (const Token each : readers) data_.holder.forget(each);
  key = {};
  if (mutation_ != Mutation::renews_any_list) data_.readers = {};
  bury(value, std::move(dead), clock + left + 10'000);
  return true;
}

}  // namespace redlock::sim

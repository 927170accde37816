// SPDX-License-Identifier: MIT
#include "server.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "redis/requests/answer.h"
#include "redis/requests/keys.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"

namespace redlock::sim {

using std::chrono::milliseconds;
using Type = Keyspace::Type;

namespace {

/// Never: before everything.
Time last_in(const std::map<Token, Time>& times, Token which) {
  const auto known = times.find(which);
  return known == times.end() ? Time(-1) : known->second;
}

}  // namespace

void Server::reset(std::uint32_t index, const Clock& clock, std::int64_t started_ms,
                   const std::string& lock_key, const LockSettings& settings,
                   Interpreter& interpreter) {
  *this = {};
  index_ = index + 1;
  clock_ = replica_clock_ = clock;
  context_ = lock_context(lock_key, kNoWaiter, settings);
  queue_key_ = redis::helper_key(lock_key, "queue");
  alive_key_ = redis::helper_key(lock_key, "alive");
  interpreter_ = &interpreter;
  begin_life(started_ms);
  take_snapshot();
}

void Server::begin_life(std::int64_t started_ms) {
  ++life_;
  keyspace_.identity = {"run" + std::to_string(index_ * 1000 + life_), started_ms};
}

void Server::set_wake(Wake wake) {
  const std::string head = redis::wake_channel(context_.lock_key, "");
  keyspace_.publish = [head, wake = std::move(wake)](std::string_view channel,
                                                     std::string_view message) -> std::size_t {
    if (!channel.starts_with(head)) return 0;
    // A word that redlock ignores is heard all the same.
    const auto in = redis::read_wake_up(message).value_or(std::chrono::hours(1));
    return wake(waiter_of(channel.substr(head.size())), in) ? 1 : 0;
  };
}

void Server::set_fence(std::uint64_t value, bool present) {
  const std::int64_t ends = keyspace_.identity.started_ms + 365LL * 86'400'000;
  Keyspace::Key& key = keyspace_.put(context_.fence_key, Type::hash, "", ends);
  key.fields["value"] = std::to_string(value);
  key.fields["run_id"] = present ? keyspace_.identity.run_id : "earlier";
}

lock::Answer Server::execute(const Request& request, Time now) {
  const redis::Value reply = run_all(request.commands, now, request.op == lock::Op::renew ? 1 : 0);
  if (request.joins_queue) return lock::Released{};
  context_.restart_grace = request.restart_grace;
  lock::Answer answer = redis::read_answer(request.op, context_, reply);
  note_renewal(request, answer, now);
  return answer;
}

/// A token has its right life once a renewal has cut it, and all its holds had theirs then.
void Server::note_renewal(const Request& request, const lock::Answer& answer, Time now) {
  const auto* const renewed = std::get_if<lock::Renewed>(&answer);
  const bool granted = std::holds_alternative<lock::Granted>(answer);
  if (renewed == nullptr && !granted) return;
  renewed_[request.token] = now;
  const bool joined = granted && request.hold != request.token;
  if (joined || (renewed != nullptr && (!renewed->longer || request.cuts)))
    holds_right_[request.hold] = now;
  if (renewed != nullptr && all_holds_right(request.token, now)) right_[request.token] = now;
}

bool Server::all_holds_right(Token token, Time now) const {
  const Keyspace::Key* const holder = keyspace_.look(context_.holder_key, now_ms(now));
  if (!set_back_ || holder == nullptr) return false;
  const std::string text = token_text(token);
  const auto holds = holder->fields.find("holds:" + text);
  const auto keep = holder->fields.find("keep:" + text);
  const bool cools = keep != holder->fields.end() && keep->second != "0";
  if (holds == holder->fields.end() || cools) return false;
  std::istringstream words(holds->second);
  for (std::string hold, ends; words >> hold >> ends;) {
    if (last_in(holds_right_, token_of(hold)) < *set_back_) return false;
  }
  return true;
}

void Server::step_clock(Time by, Time now) {
  clock_.step(by);
  if (by < Time{}) {
    set_back_ = now;
  } else {
    keyspace_.expire(now_ms(now));
    ++memory_;
  }
}

bool Server::is_stale(Token token, Time life, Time now) const {
  if (now < std::max(last_in(renewed_, plain(token)), *set_back_) + life) return false;
  return is_cooling(token) || last_in(right_, plain(token)) < *set_back_;
}

void Server::free_stale(Time life, Time now) {
  if (!set_back_) return;
  const Token value = owner(now);
  if (client_of(value) == kForeigner || value == kForeignType) return delete_lock();
  std::vector<Token> tokens = readers(now);
  if (value != kNoToken && !is_shared(value)) tokens.push_back(value);
  for (const Token each : tokens) {
    if (!is_stale(each, life, now)) continue;
    const std::string text = token_text(plain(each));
    run_all(redis::encode_request(lock::op::Release{}, context_, {.token = text, .hold = text})
                .commands,
            now);
  }
}

redis::Value Server::run(const redis::Command& command) {
  const std::vector<std::string_view> words(command.words.begin(), command.words.end());
  if (command.script == nullptr) {
    keyspace_.run(words);
    return {};
  }
  std::vector<std::string_view> keys(command.keys.begin(), command.keys.end());
  keys.insert(keys.end(), command.more_keys.begin(), command.more_keys.end());
  redis::Value reply = interpreter_->eval(keyspace_, command.script->text, keys, words);
  const std::string& undeclared = interpreter_->undeclared();
  // A client that does not share the lock may lack permission for the readers. A waiter for a slot,
  // whom it cannot wake on a service, asks by itself.
  const bool may = command.script == &redis::scripts::hand_on && undeclared.ends_with(":readers");
  if (undeclared.empty() || may) return reply;
  throw std::logic_error("a script touches " + undeclared +
                         ", not in its KEYS: " + std::string(command.script->text));
}

void Server::restart(Restart how, Time now) {
  if (how == Restart::snapshot) {
    keyspace_.set_keys(snapshot_);
    right_.clear();
    holds_right_.clear();
  }
  if (how == Restart::empty) keyspace_.clear();
  ++memory_;
  begin_life(now_ms(now));
}

Time Server::replicate(Time now, Time lag) {
  // All but the last of what the replica has got is of no use.
  const auto late = std::ranges::find_if(replica_, [&](const Copy& copy) { return copy.at > now; });
  if (late - replica_.begin() > 1) replica_.erase(replica_.begin(), late - 1);
  Time at = std::max(now + lag, replica_held_);
  if (!replica_.empty()) at = std::max(at, replica_.back().at);
  replica_.push_back({at, keyspace_.keys()});
  return at;
}

void Server::lose_primary(Time now) {
  const auto late = std::ranges::find_if(replica_, [&](const Copy& copy) { return copy.at > now; });
  if (late != replica_.begin()) {
    keyspace_.set_keys(std::prev(late)->keys);
  } else {
    keyspace_.clear();
  }
  replica_.clear();
  replica_.push_back({now, keyspace_.keys()});
  replica_held_ = {};
  ++memory_;
}

void Server::promote(Time now) {
  std::swap(clock_, replica_clock_);
  const std::int64_t started = std::exchange(replica_started_ms_, now_ms(now));
  ++memory_;  // by the new clock, a lock may end earlier than was foreseen while nobody answered
  begin_life(started);
}

void Server::set_foreign(Token value, std::int64_t ttl_ms, Time now) {
  if (keyspace_.look(context_.lock_key, now_ms(now)) != nullptr) return;
  keyspace_.put(context_.lock_key, value == kForeignType ? Type::list : Type::string,
                token_text(value), now_ms(now) + ttl_ms);
}

/// The reply to the command with that number.
redis::Value Server::run_all(const std::vector<redis::Command>& commands, Time now,
                             std::size_t answer_at) {
  // A script sees one time from its beginning to its end.
  keyspace_.set_now(now_ms(now));
  redis::Value answer;
  for (std::size_t at = 0; at < commands.size(); ++at) {
    redis::Value reply = run(commands[at]);
    if (at == answer_at) answer = std::move(reply);
  }
  return answer;
}

bool Server::revoke(Token token, Time now) {
  const Token before = owner(now);
  const std::string value = token_text(token);
  const redis::Command command =
      redis::encode_revoke(context_.lock_key, value, "revoked:" + value + " {}");
  return run_all({command}, now).elements.front().text == "revoked" && before != revoked(token);
}

bool Server::remove(Token value, const std::vector<Token>& readers, Time now) {
  const std::string text = token_text(value);
  std::vector<std::string> names;
  for (const Token each : readers) names.push_back(token_text(each));
  lock::Sighting seen;
  seen.kind = lock::Sighting::Kind::value;
  seen.value = text;
  const redis::Flight flight = redis::encode_remove(context_.lock_key, seen, text, names);
  return run_all(flight.commands, now).elements.front().text != "not_mine";
}

Token Server::owner(Time now) const {
  const Keyspace::Key* const key = keyspace_.look(context_.lock_key, now_ms(now));
  if (key == nullptr) return kNoToken;
  return key->type == Type::string ? token_of(key->text) : kForeignType;
}

/// Null: it does not count.
const Keyspace::Key* Server::list_of_readers(std::int64_t now) const {
  const Keyspace::Key* const key = keyspace_.look(context_.lock_key, now);
  if (key == nullptr || key->type != Type::string || !is_shared(token_of(key->text)))
    return nullptr;
  const Keyspace::Key* const list = keyspace_.look(context_.readers_key, now);
  if (list == nullptr || list->members.empty()) return nullptr;
  const Token generation = token_of(list->members.back().name);
  return generation == plain(token_of(key->text)) ? list : nullptr;
}

std::vector<Token> Server::readers(Time now) const {
  std::vector<Token> tokens;
  const Keyspace::Key* const list = list_of_readers(now_ms(now));
  if (list == nullptr) return tokens;
  for (const Keyspace::Member& each : list->members) {
    if (each.score <= static_cast<double>(now_ms(now))) continue;
    if (const Token token = token_of(each.name); !is_shared(token)) tokens.push_back(token);
  }
  return tokens;
}

/// When its key or its place in the list ends; 0: it has none. For ever: the largest number.
std::int64_t Server::ends_of(Token token, std::int64_t now) const {
  const Keyspace::Key* const key = keyspace_.look(context_.lock_key, now);
  if (key == nullptr) return 0;
  const std::int64_t ends = key->expires_ms == 0 ? INT64_MAX : key->expires_ms;
  if (!is_listed(token)) return token_of(key->text) == token ? ends : 0;
  const Keyspace::Key* const list = list_of_readers(now);
  if (list == nullptr) return 0;
  const std::string text = token_text(token);
  const auto known = std::ranges::find(list->members, text, &Keyspace::Member::name);
  return known == list->members.end() ? 0 : std::min(ends, static_cast<std::int64_t>(known->score));
}

bool Server::lasts(Token token, Time until) const {
  return ends_of(token, now_ms(until)) > now_ms(until);
}

std::int64_t Server::left(Token token, Time now) const {
  return std::max<std::int64_t>(ends_of(token, now_ms(now)) - now_ms(now), 0);
}

std::int64_t Server::left_on_replica(Token token, Time now) const {
  const std::int64_t ahead = (replica_clock_.shown(now) - clock_.shown(now)) / milliseconds(1);
  return std::max<std::int64_t>(left(token, now) - ahead, 0);
}

std::vector<Server::Queued> Server::queue(Time now) const {
  std::vector<Queued> queued;
  const Keyspace::Key* const queue = keyspace_.look(queue_key_, now_ms(now));
  const Keyspace::Key* const alive = keyspace_.look(alive_key_, now_ms(now));
  if (queue == nullptr) return queued;
  for (const Keyspace::Member& each : queue->members) {
    std::int64_t until = 0;
    if (alive != nullptr) {
      const auto known = std::ranges::find(alive->members, each.name, &Keyspace::Member::name);
      if (known != alive->members.end()) until = static_cast<std::int64_t>(known->score);
    }
    queued.push_back({waiter_of(each.name), until});
  }
  return queued;
}

std::size_t Server::place(Waiter waiter, Time now) const {
  const Keyspace::Key* const queue = keyspace_.look(queue_key_, now_ms(now));
  if (queue == nullptr) return 0;
  const std::string name = waiter_text(waiter);
  const auto known = std::ranges::find(queue->members, name, &Keyspace::Member::name);
  if (known == queue->members.end()) return 0;
  return static_cast<std::size_t>(known - queue->members.begin()) + 1;
}

}  // namespace redlock::sim

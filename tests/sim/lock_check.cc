// SPDX-License-Identifier: MIT
#include "lock_check.h"

#include <stdexcept>
#include <vector>

#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"

namespace redlock::sim {

namespace {

std::string field(const std::string& info, const std::string& name) {
  const std::size_t at = info.find(name);
  if (at == std::string::npos) throw std::runtime_error("INFO has no " + name);
  const std::size_t begin = at + name.size();
  return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
}

}  // namespace

LockCheck::LockCheck(const std::string& socket, std::uint64_t seed, Mutation mutation)
    : redis_(socket), random_(seed), mutation_(mutation) {
  const redis::Value info = redis_.command({"INFO", "server"});
  run_id_ = field(info.text, "run_id:");
  uptime_ = std::stoll(field(info.text, "uptime_in_seconds:"));
}

/// A sequence of its own: empty keys, a new restart grace.
bool LockCheck::sequence(std::uint64_t number) {
  story_ = "sequence " + std::to_string(number) + "\n";
  first_ = random_.one_of(1U, 4U, 7U);
  redis_.command({"FLUSHALL"});
  settings_ = {random_.one_of<std::int64_t>(0, 100'000), kTtlMs};
  context_.restart_grace = std::chrono::seconds(settings_.restart_grace_s);
  const std::int64_t now = redis_.time_ms();
  model_.reset(0, Clock(0, std::chrono::milliseconds(0)), now - uptime_ * 1000, settings_,
               mutation_);
  for (int step = 0; step < 30; ++step) {
    const bool same = random_.percent(75) ? ask() : interfere();
    if (!same || !same_keys()) return false;
  }
  return true;
}

bool LockCheck::ask() {
  lock::Ask ask;
  ask.op = random_.one_of(lock::Op::acquire, lock::Op::acquire, lock::Op::commit, lock::Op::renew,
                          lock::Op::repair, lock::Op::mark, lock::Op::unmark, lock::Op::release,
                          lock::Op::leave, lock::Op::leave, lock::Op::inquire);
  ask.attempt = first_ + random_.below(kTokens + 1 - first_);
  const Token token = token_of(ask.attempt);
  // Its own hold, or one of two that join.
  const std::uint32_t joins = random_.one_of(0U, 0U, 1U, 2U);
  const By by = joins == 0 ? random_.one_of(By::holder, By::owner, By::keeper) : By::holder;
  ask.for_owner = by == By::keeper;
  const Token hold = joins == 0 ? token : make_token(0, 2, joins);
  const Server::Fence last = model_.data().fence;
  ask.fence = last.value + random_.below(4);
  if (ask.fence > 0) --ask.fence;
  const std::int64_t life_ms = ask.op == lock::Op::leave
                                   ? random_.one_of<std::int64_t>(0, kTtlMs / 2, kTtlMs * 3)
                                   : random_.one_of<std::int64_t>(kTtlMs, kTtlMs * 2);
  ask.life = std::chrono::milliseconds(life_ms);
  const std::int64_t once_ms = random_.one_of<std::int64_t>(0, kTtlMs * 5);
  ask.once = std::chrono::milliseconds(once_ms);
  // Of runs that are apart by more than the clocks; the first is over.
  ask.began = std::chrono::milliseconds(redis_.time_ms() / 1000 * 1000 -
                                        kTtlMs * random_.one_of<std::int64_t>(4, 2, 1));
  if (ask.op == lock::Op::unmark && random_.percent(70)) {
    ask.began = std::chrono::milliseconds(model_.data().done.began_ms);
  }
  const lock::Answer real = redis::read_answer(
      ask.op, context_,
      redis_.send(redis::encode_request(
          ask, context_,
          {.token = token_text(token), .hold = token_text(hold), .adopted = by == By::owner})));
  const std::int64_t now = redis_.time_ms();
  uptime_ = std::stoll(field(redis_.command({"INFO", "server"}).text, "uptime_in_seconds:"));
  const lock::Answer model = read_answer(
      model_.execute({ask.op, token, ask.fence, hold, life_ms, once_ms, ask.began.count(), by},
                     std::chrono::milliseconds(now)),
      settings_, Mutation::none);
  const std::string told = words(ask.op, real);
  story_ += token_text(token) + " " + told + "\n";
  if (told == words(ask.op, model) && close(real, model)) {
    adopt(real, model);
    return true;
  }
  story_ += "the model: " + words(ask.op, model) + "\n";
  return false;
}

/// What has to be equal, as text. What depends on the moment is left to close().
std::string LockCheck::words(lock::Op op, const lock::Answer& answer) const {
  constexpr const char* kOps[] = {"acquire", "renew",   "repair", "commit", "mark",
                                  "unmark",  "release", "leave",  "inquire"};
  constexpr const char* kAnswers[] = {"granted",       "refused",  "renewed", "committed",
                                      "not committed", "released", "missing", "not mine",
                                      "no answer",     "done",     "marked"};
  std::string text = std::string(kOps[static_cast<int>(op)]) + ": " + kAnswers[answer.index()];
  if (const auto* granted = std::get_if<lock::Granted>(&answer)) {
    text += granted->may_be_new ? ", may be new" : "";
    text += granted->run_id.empty() ? ", no run_id" : "";
    text += granted->fence == 0 ? ", no fence" : "";
    text += granted->clock.count() == 0 ? ", no clock" : "";
  } else if (const auto* refused = std::get_if<lock::Refused>(&answer)) {
    text += " by " + refused->blocker + (refused->ttl_left ? "" : " for ever");
    text += refused->slots.empty() ? "" : ", slots " + refused->slots;
  } else if (const auto* released = std::get_if<lock::Released>(&answer)) {
    text += released->cooling ? ", cooling" : "";
    text += released->kept ? ", kept" : "";
  } else if (const auto* other = std::get_if<lock::NotMine>(&answer)) {
    if (op != lock::Op::unmark) text += " but " + other->blocker;
  } else if (const auto* no = std::get_if<lock::NotCommitted>(&answer)) {
    text += ", " + std::to_string(no->last);
  } else if (const auto* none = std::get_if<lock::Unreachable>(&answer)) {
    const bool no_holds = none->why == redis::error_reply("HOLDS").why;
    const std::string why = no_holds ? "no list of holds" : none->why;
    text += none->maybe_applied || none->permanent ? ", " + why : ", nothing written";
  }
  return text;
}

/// Lengths of time and numbers from the clock: about the same. Other numbers: the same.
bool LockCheck::close(const lock::Answer& real, const lock::Answer& model) {
  const auto near = [](std::int64_t a, std::int64_t b) {
    return a - b < kLoadedMachineMs && b - a < kLoadedMachineMs;
  };
  if (const auto* refused = std::get_if<lock::Refused>(&real)) {
    const auto& other = std::get<lock::Refused>(model);
    return !refused->ttl_left || near(refused->ttl_left->count(), other.ttl_left->count());
  }
  if (const auto* done = std::get_if<lock::Done>(&real)) {
    const auto& other = std::get<lock::Done>(model);
    return near(done->age.count(), other.age.count()) &&
           near(done->left.count(), other.left.count());
  }
  if (const auto* granted = std::get_if<lock::Granted>(&real)) {
    const auto& other = std::get<lock::Granted>(model);
    const auto a = static_cast<std::int64_t>(granted->fence);
    const auto b = static_cast<std::int64_t>(other.fence);
    story_ += "  fence " + std::to_string(a) + ", the model's " + std::to_string(b) + "\n";
    const bool from_clock = a > 1'000'000'000'000;
    return near(granted->distrusted_for.count() * 1000, other.distrusted_for.count() * 1000) &&
           near(granted->clock.count(), other.clock.count()) && (from_clock ? near(a, b) : a == b);
  }
  return true;
}

/// Where the clock made the number, goes on with the real server's, so that the next are equal.
void LockCheck::adopt(const lock::Answer& real, const lock::Answer& model) {
  const auto* granted = std::get_if<lock::Granted>(&real);
  if (granted == nullptr) return;
  const std::uint64_t ours = std::get<lock::Granted>(model).fence;
  Server::Data& data = model_.data();
  if (data.fence.value == ours) data.fence.value = granted->fence;
  for (HolderHash::Numbered& numbered : data.holder.numbers) {
    if (numbered.fence == ours && ours != 0) numbered.fence = granted->fence;
  }
}

/// What happens to keys besides our requests.
bool LockCheck::interfere() {
  Server::Data& data = model_.data();
  const auto now = std::chrono::milliseconds(redis_.time_ms());
  switch (random_.below(13)) {
    case 0:
      story_ += "the lock expires\n";
      redis_.command({"PEXPIRE", kKey, "1"});
      ::usleep(3'000);
      data.lock = {};
      return true;
    case 1:
      story_ += "another program sets the key\n";
      redis_.command({"SET", kKey, token_text(make_token(kForeigner, 1, 1)), "NX", "PX", "30000"});
      model_.set_foreign(make_token(kForeigner, 1, 1), 30'000, now);
      return true;
    case 2:
      story_ += "the key becomes a list that stays\n";
      redis_.command({"DEL", kKey});
      redis_.command({"RPUSH", kKey, "x"});
      data.lock = {kForeignType, 0};
      return true;
    case 3:
      story_ += "the key is deleted\n";
      redis_.command({"DEL", kKey});
      data.lock = {};
      return true;
    case 4:
      story_ += "the fence is from an earlier life\n";
      if (!data.fence.exists) return true;
      redis_.command({"HSET", kFence, "run_id", "0000"});
      data.fence.run_id = 0;
      return true;
    case 5:
      story_ += "the fence is gone\n";
      redis_.command({"DEL", kFence});
      data.fence = {};
      data.notes.clear();
      return true;
    case 6:
      story_ += "the fence is set to 41 in this life\n";
      redis_.command({"HSET", kFence, "value", "41", "run_id", run_id_});
      data.fence = {true, 41, model_.run_id()};
      return true;
    case 7:
    case 8:
      return revoke(force_target(), now);
    case 9:
      return remove(force_target(), now);
    case 10:
      story_ += "the list of readers is gone\n";
      redis_.command({"DEL", kReaders});
      data.readers = {};
      return true;
    case 11:
      return reader_dies();
    default:
      story_ += "the lock of A1.2 has lost its end\n";
      redis_.command({"SET", kKey, token_text(make_token(0, 1, 2))});
      data.lock = {make_token(0, 1, 2), 0};
      return true;
  }
}

/// A token, or the generation of the readers.
Token LockCheck::force_target() {
  const Token value = plain(model_.data().lock.value);
  if (is_shared(value) && random_.percent(70)) return value;
  return make_token(0, 1, 1 + random_.below(3));
}

/// It is over for one of the readers; the lock lives on.
bool LockCheck::reader_dies() {
  std::vector<Server::Reader>& list = model_.data().readers.list;
  if (list.empty()) return true;
  Server::Reader& dead = list[random_.below(static_cast<std::uint32_t>(list.size()))];
  dead.ends_ms = 1;
  story_ += token_text(dead.token) + " is over\n";
  redis_.command({"ZADD", kReaders, "1", token_text(dead.token)});
  return true;
}

bool LockCheck::revoke(Token token, Time now) {
  const std::string text = token_text(token);
  const redis::Value reply = is_shared(token)
                                 ? redis_.command({"EVAL", redis::scripts::revoke, "2", kKey,
                                                   kReaders, text, "revoked:" + text, "told"})
                                 : redis_.command({"EVAL", redis::scripts::revoke, "1", kKey, text,
                                                   "revoked:" + text, "told"});
  const bool before = model_.owner(now) == revoked(token);
  const bool model = model_.revoke(token, now) || before;
  story_ += text + " is revoked: " + reply.elements.at(0).text + "\n";
  return model == (reply.elements.at(0).text == "revoked");
}

/// As it would be shown: whatever of the token's is there.
bool LockCheck::remove(Token token, Time now) {
  const std::string text = token_text(token);
  if (is_shared(token)) {
    redis_.command({"EVAL", redis::scripts::remove, "3", kKey, kDead, kReaders, "string", text,
                    text, "", token_text(token_of(4))});
    redis_.command({"HDEL", kHolder, token_text(token_of(4)), "fence:" + token_text(token_of(4)),
                    "holds:" + token_text(token_of(4))});
    model_.remove_shared(token, {token_of(4)}, now);
    story_ += text + " is deleted by force\n";
    return true;
  }
  redis_.send({redis::encode_command(
                   {"EVAL", redis::scripts::remove, "2", kKey, kDead, "string", text, text, ""}) +
                   redis::encode_command(
                       {"HDEL", kHolder, text, "fence:" + text, "holds:" + text, "keep:" + text}),
               2});
  model_.remove(token, now);
  story_ += text + " is deleted by force\n";
  return true;
}

}  // namespace redlock::sim

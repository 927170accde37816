// SPDX-License-Identifier: MIT
//
// redlock_model_check SOCKET [COUNT [SEED]]: is the simulated server (server.h) the real one? Sends
// random sequences of requests to the Redis server on a Unix socket, the way redis/ sends them, and
// to the model; in between it does by hand what happens to keys: they expire, others set them, the
// server gets another life. Every answer and every key left must be the same on both sides. Then
// the same for the line of waiters (line_check.h). The database is flushed.
//
// Exit status: 0 no difference, 1 a difference, 64 usage, 69 no server.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "line_check.h"
#include "random.h"
#include "real_server.h"
#include "redis/request.h"
#include "redis/scripts.h"
#include "server.h"

namespace {

using namespace redlock;
using sim::kForeignType;
using sim::kNoToken;
using sim::Random;
using sim::Server;
using sim::Token;

constexpr std::int64_t kTtlMs = 60'000;
constexpr std::int64_t kLoadedMachineMs = 5'000;  // clocks of both sides may be apart that much
const char* const kKey = "model";
const char* const kHolder = "redlock:{model}:holder";
const char* const kFence = "redlock:{model}:fence";
const char* const kDead = "redlock:{model}:dead";
const char* const kDone = "redlock:{model}:done";
const char* const kReaders = "redlock:{model}:readers";

class ModelCheck {
 public:
  ModelCheck(const std::string& socket, std::uint64_t seed,
             sim::Mutation mutation = sim::Mutation::none)
      : redis_(socket), random_(seed), mutation_(mutation) {
    const redis::Value info = redis_.command({"INFO", "server"});
    run_id_ = field(info.text, "run_id:");
    uptime_ = std::stoll(field(info.text, "uptime_in_seconds:"));
  }

  /// Three writers and three readers.
  static constexpr std::uint32_t kTokens = 6;
  static Token token_of(std::uint32_t number) {
    return sim::for_mode(sim::make_token(0, 1, number), number > 3);
  }

  /// A sequence of its own: empty keys, a new restart grace.
  bool sequence(std::uint64_t number) {
    story_ = "sequence " + std::to_string(number) + "\n";
    redis_.command({"FLUSHALL"});
    settings_ = {random_.one_of<std::int64_t>(0, 100'000), kTtlMs};
    context_.restart_grace = std::chrono::seconds(settings_.restart_grace_s);
    const std::int64_t now = redis_.time_ms();
    model_.reset(0, sim::Clock(0, std::chrono::milliseconds(0)), now - uptime_ * 1000, settings_,
                 mutation_);
    for (int step = 0; step < 30; ++step) {
      const bool same = random_.percent(75) ? ask() : interfere();
      if (!same || !same_keys()) return false;
    }
    return true;
  }

  [[nodiscard]] const std::string& story() const { return story_; }

 private:
  static std::string field(const std::string& info, const std::string& name) {
    const std::size_t at = info.find(name);
    if (at == std::string::npos) throw std::runtime_error("INFO has no " + name);
    const std::size_t begin = at + name.size();
    return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
  }

  bool ask() {
    lock::Ask ask;
    ask.op = random_.one_of(lock::Op::acquire, lock::Op::acquire, lock::Op::commit, lock::Op::renew,
                            lock::Op::repair, lock::Op::mark, lock::Op::unmark, lock::Op::release,
                            lock::Op::leave, lock::Op::leave, lock::Op::inquire);
    ask.attempt = 1 + random_.below(kTokens);
    const Token token = token_of(ask.attempt);
    // Its own hold, or one of two that join.
    const std::uint32_t joins = random_.one_of(0U, 0U, 1U, 2U);
    const sim::By by = joins == 0 ? random_.one_of(sim::By::holder, sim::By::owner, sim::By::keeper)
                                  : sim::By::holder;
    ask.for_owner = by == sim::By::keeper;
    const Token hold = joins == 0 ? token : sim::make_token(0, 2, joins);
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
    const lock::Answer real =
        redis::read_answer(ask.op, context_,
                           redis_.send(redis::encode_request(ask, context_,
                                                             {.token = sim::token_text(token),
                                                              .hold = sim::token_text(hold),
                                                              .adopted = by == sim::By::owner})));
    const std::int64_t now = redis_.time_ms();
    uptime_ = std::stoll(field(redis_.command({"INFO", "server"}).text, "uptime_in_seconds:"));
    const lock::Answer model = sim::read_answer(
        model_.execute({ask.op, token, ask.fence, hold, life_ms, once_ms, ask.began.count(), by},
                       std::chrono::milliseconds(now)),
        settings_, sim::Mutation::none);
    const std::string told = words(ask.op, real);
    story_ += sim::token_text(token) + " " + told + "\n";
    if (told == words(ask.op, model) && close(real, model)) {
      adopt(real, model);
      return true;
    }
    story_ += "the model: " + words(ask.op, model) + "\n";
    return false;
  }

  /// What has to be equal, as text. What depends on the moment is left to close().
  std::string words(lock::Op op, const lock::Answer& answer) const {
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
    } else if (const auto* released = std::get_if<lock::Released>(&answer)) {
      text += released->cooling ? ", cooling" : "";
      text += released->kept ? ", kept" : "";
    } else if (const auto* other = std::get_if<lock::NotMine>(&answer)) {
      if (op != lock::Op::unmark) text += " but " + other->blocker;
    } else if (const auto* no = std::get_if<lock::NotCommitted>(&answer)) {
      text += ", " + std::to_string(no->last);
    } else if (const auto* none = std::get_if<lock::Unreachable>(&answer)) {
      text += none->maybe_applied || none->permanent ? ", " + none->why : ", nothing written";
    }
    return text;
  }

  /// Lengths of time and numbers from the clock: about the same. Other numbers: the same.
  bool close(const lock::Answer& real, const lock::Answer& model) {
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
             near(granted->clock.count(), other.clock.count()) &&
             (from_clock ? near(a, b) : a == b);
    }
    return true;
  }

  /// Where the clock made the number, goes on with the real server's, so that the next are equal.
  void adopt(const lock::Answer& real, const lock::Answer& model) {
    const auto* granted = std::get_if<lock::Granted>(&real);
    if (granted == nullptr) return;
    const std::uint64_t ours = std::get<lock::Granted>(model).fence;
    Server::Data& data = model_.data();
    if (data.fence.value == ours) data.fence.value = granted->fence;
    for (sim::HolderHash::Numbered& numbered : data.holder.numbers) {
      if (numbered.fence == ours && ours != 0) numbered.fence = granted->fence;
    }
  }

  /// What happens to keys besides our requests.
  bool interfere() {
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
        redis_.command({"SET", kKey, sim::token_text(sim::make_token(sim::kForeigner, 1, 1)), "NX",
                        "PX", "30000"});
        model_.set_foreign(sim::make_token(sim::kForeigner, 1, 1), 30'000, now);
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
        redis_.command({"SET", kKey, sim::token_text(sim::make_token(0, 1, 2))});
        data.lock = {sim::make_token(0, 1, 2), 0};
        return true;
    }
  }

  /// A token, or the generation of the readers.
  Token force_target() {
    const Token value = sim::plain(model_.data().lock.value);
    if (sim::is_shared(value) && random_.percent(70)) return value;
    return sim::make_token(0, 1, 1 + random_.below(3));
  }

  /// It is over for one of the readers; the lock lives on.
  bool reader_dies() {
    std::vector<Server::Reader>& list = model_.data().readers.list;
    if (list.empty()) return true;
    Server::Reader& dead = list[random_.below(static_cast<std::uint32_t>(list.size()))];
    dead.ends_ms = 1;
    story_ += sim::token_text(dead.token) + " is over\n";
    redis_.command({"ZADD", kReaders, "1", sim::token_text(dead.token)});
    return true;
  }

  bool revoke(Token token, sim::Time now) {
    const std::string text = sim::token_text(token);
    const redis::Value reply = sim::is_shared(token)
                                   ? redis_.command({"EVAL", redis::scripts::revoke, "2", kKey,
                                                     kReaders, text, "revoked:" + text, "told"})
                                   : redis_.command({"EVAL", redis::scripts::revoke, "1", kKey,
                                                     text, "revoked:" + text, "told"});
    const bool before = model_.owner(now) == sim::revoked(token);
    const bool model = model_.revoke(token, now) || before;
    story_ += text + " is revoked: " + reply.elements.at(0).text + "\n";
    return model == (reply.elements.at(0).text == "revoked");
  }

  /// As it would be shown: whatever of the token's is there.
  bool remove(Token token, sim::Time now) {
    const std::string text = sim::token_text(token);
    if (sim::is_shared(token)) {
      redis_.command({"EVAL", redis::scripts::remove, "3", kKey, kDead, kReaders, "string", text,
                      text, "", sim::token_text(token_of(4))});
      redis_.command({"HDEL", kHolder, sim::token_text(token_of(4)),
                      "fence:" + sim::token_text(token_of(4)),
                      "holds:" + sim::token_text(token_of(4))});
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

  bool same_keys() {
    const std::int64_t now = redis_.time_ms();
    const Token owner = model_.owner(std::chrono::milliseconds(now));
    const std::string type = redis_.command({"TYPE", kKey}).text;
    std::string real = type;
    if (type == "string") real = redis_.command({"GET", kKey}).text;
    const std::string model = owner == kNoToken       ? "none"
                              : owner == kForeignType ? "list"
                                                      : sim::token_text(owner);
    const std::int64_t pttl = redis_.command({"PTTL", kKey}).integer;
    const Server::Data& data = model_.data();
    const std::int64_t left = owner == kNoToken           ? -2
                              : data.lock.expires_ms == 0 ? -1
                                                          : data.lock.expires_ms - now;
    const redis::Value fence = redis_.command({"HMGET", kFence, "value", "run_id"});
    const std::string value = data.fence.exists ? std::to_string(data.fence.value) : "";
    const bool this_life = data.fence.exists && data.fence.run_id == model_.run_id();
    const bool same_ttl =
        (left < 0) == (pttl < 0) &&
        (left < 0 ? left == pttl
                  : pttl - left < kLoadedMachineMs && left - pttl < kLoadedMachineMs);
    if (real == model && same_ttl && same_holders() && same_readers(now) &&
        same_life_of_holders(now) && same_tombstone(now) && same_mark() && same_notes() &&
        fence.elements.at(0).text == value && (fence.elements.at(1).text == run_id_) == this_life) {
      return true;
    }
    story_ += "the key: " + real + " for " + std::to_string(pttl) + " ms, the model's: " + model +
              " for " + std::to_string(left) + " ms; fence " + fence.elements.at(0).text +
              ", the model's: " + value + "\n";
    return false;
  }

  /// The list as far as it counts: what an earlier lock has left behind may be there or not.
  bool same_readers(std::int64_t now) {
    const Server::Data& data = model_.data();
    if (!sim::is_shared(data.lock.value)) return true;
    std::string model;
    for (std::uint32_t number = 4; number <= kTokens; ++number) {
      for (const Server::Reader& each : data.readers.list) {
        if (each.token == token_of(number)) model += listed(number, each.ends_ms - now);
      }
    }
    std::string real;
    for (std::uint32_t number = 4; number <= kTokens; ++number) {
      const std::string ends =
          redis_.command({"ZSCORE", kReaders, sim::token_text(token_of(number))}).text;
      if (!ends.empty()) real += listed(number, std::stoll(ends) - now);
    }
    const bool counts =
        redis_.command({"ZSCORE", kReaders, sim::token_text(sim::plain(data.lock.value))}).text ==
        "inf";
    if (counts == (data.readers.value == sim::plain(data.lock.value)) && (!counts || real == model))
      return true;
    story_ +=
        "the readers: " + real + (counts ? "" : "(none counts)") + "; the model's: " + model + "\n";
    return false;
  }
  static std::string listed(std::uint32_t number, std::int64_t left) {
    return std::to_string(number) + " for " +
           std::to_string(left < 0 ? -1 : (left + kTtlMs / 4) / (kTtlMs / 2)) + ", ";
  }

  bool same_tombstone(std::int64_t now) {
    const std::string real = redis_.command({"GET", kDead}).text;
    const Server::Key& dead = model_.data().dead;
    std::string model = dead.value == kNoToken ? "" : sim::token_text(dead.value);
    const std::int64_t left = redis_.command({"PTTL", kDead}).integer;
    if (sim::is_shared(dead.value)) {
      const std::vector<Token>& readers = model_.data().dead_readers;
      const bool all = std::ranges::all_of(readers, [&](Token each) {
        return real.find(sim::token_text(each)) != std::string::npos;
      });
      model = all ? real : "other readers";
    }
    const std::int64_t apart = model.empty() ? 0 : left - (dead.expires_ms - now);
    if (real == model && apart < kLoadedMachineMs && -apart < kLoadedMachineMs) return true;
    story_ += "the tombstone: '" + real + "' for " + std::to_string(left) + " ms, the model's: '" +
              model + "', " + std::to_string(apart) + " ms apart\n";
    return false;
  }

  /// Of the hash, if there is one: it never stays for ever.
  bool same_life_of_holders(std::int64_t now) {
    const std::int64_t left = redis_.command({"PTTL", kHolder}).integer;
    if (left == -2) return true;
    const std::int64_t apart = left - (model_.data().holder.expires_ms - now);
    if (left >= 0 && apart < kLoadedMachineMs && -apart < kLoadedMachineMs) return true;
    story_ += "the holder hash: for " + std::to_string(left) + " ms, " + std::to_string(apart) +
              " ms off the model's\n";
    return false;
  }

  bool same_mark() {
    const std::string real = redis_.command({"GET", kDone}).text;
    const std::int64_t began = model_.data().done.began_ms;
    if (real == (began == 0 ? "" : std::to_string(began) + " {}")) return true;
    story_ += "the mark: '" + real + "', the model's: " + std::to_string(began) + "\n";
    return false;
  }

  /// The tokens, without their times.
  bool same_notes() {
    std::string model;
    for (const Server::Note& note : model_.data().notes) {
      model += (note.keepers ? "~" : "") + sim::token_text(note.token) + " ";
    }
    std::istringstream notes(redis_.command({"HGET", kFence, "released"}).text);
    std::string real;
    for (std::string token, ends; notes >> token >> ends;) real += token + " ";
    if (real == model) return true;
    story_ += "the notes: " + real + "; the model's: " + model + "\n";
    return false;
  }

  /// The numbers by token; a token that was only repaired has none.
  bool same_holders() {
    for (std::uint32_t attempt = 1; attempt <= kTokens; ++attempt) {
      const Token token = token_of(attempt);
      const std::string text = sim::token_text(token);
      const redis::Value real = redis_.command({"HMGET", kHolder, text, "fence:" + text});
      bool known = false;
      std::string fence;
      for (const sim::HolderHash::Numbered& numbered : model_.data().holder.numbers) {
        if (numbered.token != token) continue;
        known = numbered.who;
        if (numbered.fence != 0) fence = std::to_string(numbered.fence);
      }
      if (known == !real.elements.at(0).text.empty() && fence == real.elements.at(1).text) continue;
      story_ += "holder " + text + ": '" + real.elements.at(0).text + "' " +
                real.elements.at(1).text + ", the model's: " + fence + "\n";
      return false;
    }
    return true;
  }

  sim::RealServer redis_;
  Random random_;
  sim::Mutation mutation_;
  Server model_;
  sim::LockSettings settings_;
  redis::LockContext context_{.lock_key = kKey,
                              .holder_key = kHolder,
                              .fence_key = kFence,
                              .dead_key = kDead,
                              .done_key = kDone,
                              .readers_key = kReaders,
                              .waiter = {},
                              .ttl = std::chrono::milliseconds(kTtlMs),
                              .holder_json = "{}"};
  std::string run_id_;
  std::int64_t uptime_ = 0;
  std::string story_;
};

/// The line of waiters; and that a mistake in the model would be seen.
bool check_line(const char* socket, std::uint64_t seed, std::uint64_t count) {
  sim::LineCheck line(socket, seed);
  for (std::uint64_t number = 0; number < count; ++number) {
    if (line.sequence(number)) continue;
    std::printf("%sthe model's line is not the server's (seed %llu)\n", line.story().c_str(),
                static_cast<unsigned long long>(seed));
    return false;
  }
  for (const auto& [mutation, name] : sim::kMutations) {
    if (!sim::is_of_line(mutation)) continue;
    sim::LineCheck wrong(socket, seed, mutation);
    std::uint64_t number = 0;
    while (number < 10 * count && wrong.sequence(number)) ++number;
    if (number < 10 * count) continue;
    std::printf("%s: a model with this mistake is taken for the server\n",
                std::string(name).c_str());
    return false;
  }
  return true;
}

/// That a mistake in the model of the readers would be seen.
bool check_readers(const char* socket, std::uint64_t seed, std::uint64_t count) {
  for (const auto& [mutation, name] : sim::kMutations) {
    if (!sim::is_of_readers(mutation)) continue;
    ModelCheck wrong(socket, seed, mutation);
    std::uint64_t number = 0;
    while (number < 10 * count && wrong.sequence(number)) ++number;
    if (number < 10 * count) continue;
    std::printf("%s: a model with this mistake is taken for the server\n",
                std::string(name).c_str());
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: redlock_model_check SOCKET [COUNT [SEED]]\n", stderr);
    return 64;
  }
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 300;
  const std::uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  try {
    ModelCheck check(argv[1], seed);
    for (std::uint64_t number = 0; number < count; ++number) {
      if (check.sequence(number)) continue;
      std::printf("%sthe model is not the server (seed %llu)\n", check.story().c_str(),
                  static_cast<unsigned long long>(seed));
      return 1;
    }
    if (!check_readers(argv[1], seed, count) || !check_line(argv[1], seed, count)) return 1;
    std::printf(
        "%llu sequences of 30 steps: the same answers, the same keys; and as "
        "many of waiters in line\n",
        static_cast<unsigned long long>(count));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "redlock_model_check: %s\n", error.what());
    return 69;
  }
}

// SPDX-License-Identifier: MIT
//
// Are the keys that the real server has those of the model?
#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "lock_check.h"

namespace redlock::sim {

LockCheck::RealKeys LockCheck::read_keys() {
  using redis::encode_command;
  std::vector<redis::Value> values =
      redis_.commands({encode_command({"TYPE", kKey}), encode_command({"GET", kKey}),
                       encode_command({"PTTL", kKey}),
                       encode_command({"HMGET", kFence, "value", "run_id", "released"}),
                       encode_command({"GET", kDead}), encode_command({"PTTL", kDead}),
                       encode_command({"PTTL", kHolder}), encode_command({"GET", kDone})});
  const bool string = values[0].text == "string";
  return {.lock = values[string ? 1 : 0].text,
          .lock_left = values[2].integer,
          .fence = std::move(values[3].elements),
          .dead = values[4].text,
          .dead_left = values[5].integer,
          .holder_left = values[6].integer,
          .done = values[7].text};
}

bool LockCheck::same_keys() {
  const std::int64_t now = redis_.time_ms();
  const Token owner = model_.owner(std::chrono::milliseconds(now));
  const RealKeys keys = read_keys();
  const std::string& real = keys.lock;
  const std::string model = owner == kNoToken       ? "none"
                            : owner == kForeignType ? "list"
                                                    : token_text(owner);
  const std::int64_t pttl = keys.lock_left;
  const Server::Data& data = model_.data();
  const std::int64_t left = owner == kNoToken           ? -2
                            : data.lock.expires_ms == 0 ? -1
                                                        : data.lock.expires_ms - now;
  const std::string value = data.fence.exists ? std::to_string(data.fence.value) : "";
  const bool this_life = data.fence.exists && data.fence.run_id == model_.run_id();
  const bool same_ttl =
      (left < 0) == (pttl < 0) &&
      (left < 0 ? left == pttl : pttl - left < kLoadedMachineMs && left - pttl < kLoadedMachineMs);
  if (real == model && same_ttl && same_holders() && same_readers(now) &&
      same_life_of_holders(keys, now) && same_tombstone(keys, now) && same_mark(keys) &&
      same_notes(keys) && keys.fence.at(0).text == value &&
      (keys.fence.at(1).text == run_id_) == this_life) {
    return true;
  }
  story_ += "the key: " + real + " for " + std::to_string(pttl) + " ms, the model's: " + model +
            " for " + std::to_string(left) + " ms; fence " + keys.fence.at(0).text +
            ", the model's: " + value + "\n";
  return false;
}

/// The list as far as it counts: what an earlier lock has left behind may be there or not.
bool LockCheck::same_readers(std::int64_t now) {
  const Server::Data& data = model_.data();
  if (!is_shared(data.lock.value)) return true;
  std::string model;
  for (std::uint32_t number = 4; number <= kTokens; ++number) {
    for (const Server::Reader& each : data.readers.list) {
      if (each.token == token_of(number)) model += listed(number, each.ends_ms - now);
    }
  }
  std::string real;
  for (std::uint32_t number = 4; number <= kTokens; ++number) {
    const std::string ends =
        redis_.command({"ZSCORE", kReaders, token_text(token_of(number))}).text;
    if (!ends.empty()) real += listed(number, std::stoll(ends) - now);
  }
  const bool counts =
      redis_.command({"ZSCORE", kReaders, token_text(plain(data.lock.value))}).text == "inf";
  if (counts == (data.readers.value == plain(data.lock.value)) && (!counts || real == model))
    return true;
  story_ +=
      "the readers: " + real + (counts ? "" : "(none counts)") + "; the model's: " + model + "\n";
  return false;
}

std::string LockCheck::listed(std::uint32_t number, std::int64_t left) {
  return std::to_string(number) + " for " +
         std::to_string(left < 0 ? -1 : (left + kTtlMs / 4) / (kTtlMs / 2)) + ", ";
}

bool LockCheck::same_tombstone(const RealKeys& keys, std::int64_t now) {
  const std::string& real = keys.dead;
  const Server::Key& dead = model_.data().dead;
  std::string model = dead.value == kNoToken ? "" : token_text(dead.value);
  const std::int64_t left = keys.dead_left;
  if (is_shared(dead.value)) {
    const std::vector<Token>& readers = model_.data().dead_readers;
    const bool all = std::ranges::all_of(
        readers, [&](Token each) { return real.find(token_text(each)) != std::string::npos; });
    model = all ? real : "other readers";
  }
  const std::int64_t apart = model.empty() ? 0 : left - (dead.expires_ms - now);
  if (real == model && apart < kLoadedMachineMs && -apart < kLoadedMachineMs) return true;
  story_ += "the tombstone: '" + real + "' for " + std::to_string(left) + " ms, the model's: '" +
            model + "', " + std::to_string(apart) + " ms apart\n";
  return false;
}

/// Of the hash, if there is one: it never stays for ever.
bool LockCheck::same_life_of_holders(const RealKeys& keys, std::int64_t now) {
  const std::int64_t left = keys.holder_left;
  if (left == -2) return true;
  const std::int64_t apart = left - (model_.data().holder.expires_ms - now);
  if (left >= 0 && apart < kLoadedMachineMs && -apart < kLoadedMachineMs) return true;
  story_ += "the holder hash: for " + std::to_string(left) + " ms, " + std::to_string(apart) +
            " ms off the model's\n";
  return false;
}

bool LockCheck::same_mark(const RealKeys& keys) {
  const std::string& real = keys.done;
  const std::int64_t began = model_.data().done.began_ms;
  if (real == (began == 0 ? "" : std::to_string(began) + " {}")) return true;
  story_ += "the mark: '" + real + "', the model's: " + std::to_string(began) + "\n";
  return false;
}

/// The tokens, without their times.
bool LockCheck::same_notes(const RealKeys& keys) {
  std::string model;
  for (const Server::Note& note : model_.data().notes) {
    model += (note.keepers ? "~" : "") + token_text(note.token) + " ";
  }
  std::istringstream notes(keys.fence.at(2).text);
  std::string real;
  for (std::string token, ends; notes >> token >> ends;) real += token + " ";
  if (real == model) return true;
  story_ += "the notes: " + real + "; the model's: " + model + "\n";
  return false;
}

/// The numbers by token; a token that was only repaired has none.
bool LockCheck::same_holders() {
  std::vector<std::string> ask;
  for (std::uint32_t attempt = 1; attempt <= kTokens; ++attempt) {
    const std::string text = token_text(token_of(attempt));
    ask.push_back(redis::encode_command({"HMGET", kHolder, text, "fence:" + text}));
  }
  const std::vector<redis::Value> replies = redis_.commands(ask);
  for (std::uint32_t attempt = 1; attempt <= kTokens; ++attempt) {
    const Token token = token_of(attempt);
    const std::string text = token_text(token);
    const redis::Value& real = replies[attempt - 1];
    bool known = false;
    std::string fence;
    for (const HolderHash::Numbered& numbered : model_.data().holder.numbers) {
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

}  // namespace redlock::sim

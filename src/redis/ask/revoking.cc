// SPDX-License-Identifier: MIT
#include "redis/ask/revoking.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "lock/value.h"
#include "redis/requests/answer.h"
#include "redis/requests/keys.h"
#include "redis/requests/request.h"
#include "redis/requests/scripts.h"
#include "redis/wire/trouble.h"

namespace redlock::redis {
namespace {

/// The generation, which stands in the list too, is no token.
std::vector<std::string> tokens_in(std::string_view text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (lock::is_token(word)) tokens.emplace_back(word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return tokens;
}

}  // namespace

Flight encode_revoke(const std::string& key, const std::string& token, const std::string& value) {
  if (lock::is_shared(token)) {
    return {encode_command({"EVAL", scripts::revoke, "2", key, helper_key(key, "readers"), token,
                            value, notice_channel(key, "")})};
  }
  return {encode_command(
      {"EVAL", scripts::revoke, "1", key, token, value, notice_channel(key, token)})};
}

Flight encode_remove(const std::string& key, const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers) {
  const bool is_string = seen.kind == lock::Sighting::Kind::value;
  const std::string_view type = is_string ? "string" : lock::type_of(seen.value).value_or("none");
  const std::string_view value = is_string ? std::string_view(seen.value) : std::string_view();
  if (token.empty()) {
    const std::string wire =
        encode_command({"EVAL", scripts::remove, "1", key, type, value, token, seen.owner});
    return {wire + encode_hand_on(key), 2};
  }
  std::string all;
  for (const std::string& reader : readers) all.append(all.empty() ? "" : " ").append(reader);
  const std::string dead = helper_key(key, "dead");
  std::string wire =
      lock::is_shared(token)
          ? encode_command({"EVAL", scripts::remove, "3", key, dead, helper_key(key, "readers"),
                            type, value, token, seen.owner, all})
          : encode_command(
                {"EVAL", scripts::remove, "2", key, dead, type, value, token, seen.owner});
  wire += encode_hand_on(key);
  unsigned replies = 2;
  const auto forget = [&](const std::string& holder) {
    wire += encode_command({"HDEL", helper_key(key, "holder"), holder, "fence:" + holder,
                            "holds:" + holder, "keep:" + holder});
    ++replies;
  };
  forget(token);
  for (const std::string& reader : readers) forget(reader);
  return {std::move(wire), replies};
}

Taken read_taken(const Value& reply) {
  const std::vector<Value>& part = reply.elements;
  if (part.empty()) return {unexpected_reply(reply)};
  const std::string& word = part[0].text;
  if (word == "released") return {lock::Released{}};
  if (word == "missing") return {lock::Missing{}};
  if (word == "revoked" && fits(reply, "sis")) {
    return {lock::Released{}, part[1].integer, tokens_in(part[2].text)};
  }
  if (word == "not_mine" && part.size() == 2) return {lock::NotMine{part[1].text}};
  return {unexpected_reply(reply)};
}

}  // namespace redlock::redis

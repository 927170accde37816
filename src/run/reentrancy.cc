// SPDX-License-Identifier: MIT
#include "run/reentrancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace redlock::run {

namespace {

constexpr std::size_t kTokenDigits = 40;

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// What a word on that lock ends with.
std::string ending(const driver::LockId& id) {
  std::string text = ":" + id.servers + ":";
  for (const char byte : id.key) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Cuts the next word off.
std::string_view next_word(std::string_view& words) {
  words.remove_prefix(std::min(words.find_first_not_of(' '), words.size()));
  const std::string_view word = words.substr(0, words.find(' '));
  words.remove_prefix(word.size());
  return word;
}

}  // namespace

std::optional<Held> find_held(std::string_view environment, const driver::LockId& id) {
  const std::string end = ending(id);
  std::optional<Held> found;
  for (std::string_view word; !(word = next_word(environment)).empty();) {
    if (!word.ends_with(end)) continue;
    word.remove_suffix(end.size());
    if (word.size() < kTokenDigits + 2 || word[kTokenDigits] != ':') continue;
    Held held{.token = std::string(word.substr(0, kTokenDigits))};
    const std::string_view number = word.substr(kTokenDigits + 1);
    const char* const stop = number.data() + number.size();
    const auto [last, error] = std::from_chars(number.data(), stop, held.fence);
    if (is_hex(held.token) && error == std::errc{} && last == stop) found = std::move(held);
  }
  return found;
}

std::string add_held(std::string_view environment, const driver::LockId& id, const Held& held) {
  const std::string end = ending(id);
  std::string words;
  for (std::string_view word; !(word = next_word(environment)).empty();) {
    if (!word.ends_with(end)) words.append(word).append(" ");
  }
  return words + fmt::format("{}:{}{}", held.token, held.fence, end);
}

}  // namespace redlock::run

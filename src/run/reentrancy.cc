// SPDX-License-Identifier: MIT
#include "run/reentrancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "lock/token.h"

namespace redlock::run {

namespace {

/// The end of an entry of that lock.
std::string ending(const driver::LockId& id) {
  std::string text = ":" + id.servers + ":";
  for (const char byte : id.key) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

/// Removes the next entry from `entries`, and returns it.
std::string_view next_entry(std::string_view& entries) {
  entries.remove_prefix(std::min(entries.find_first_not_of(' '), entries.size()));
  const std::string_view entry = entries.substr(0, entries.find(' '));
  entries.remove_prefix(entry.size());
  return entry;
}

}  // namespace

std::optional<Held> find_held(std::string_view environment, const driver::LockId& id) {
  const std::string end = ending(id);
  std::optional<Held> found;
  for (std::string_view entry; !(entry = next_entry(environment)).empty();) {
    if (!entry.ends_with(end)) continue;
    entry.remove_suffix(end.size());
    if (entry.size() < lock::kTokenDigits + 2 || entry[lock::kTokenDigits] != ':') continue;
    Held held{.token = std::string(entry.substr(0, lock::kTokenDigits))};
    const std::string_view number = entry.substr(lock::kTokenDigits + 1);
    const char* const stop = number.data() + number.size();
    const auto [last, error] = std::from_chars(number.data(), stop, held.fence);
    if (lock::is_token(held.token) && error == std::errc{} && last == stop) found = std::move(held);
  }
  return found;
}

std::string add_held(std::string_view environment, const driver::LockId& id, const Held& held) {
  const std::string end = ending(id);
  std::string entries;
  for (std::string_view entry; !(entry = next_entry(environment)).empty();) {
    if (!entry.ends_with(end)) entries.append(entry).append(" ");
  }
  return entries + fmt::format("{}:{}{}", held.token, held.fence, end);
}

}  // namespace redlock::run

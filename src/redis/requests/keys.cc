// SPDX-License-Identifier: MIT
#include "redis/requests/keys.h"

#include <algorithm>
#include <utility>

#include "error.h"
#include "os/printable.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMaxName = 255;

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  std::string message = "lock name \"";
  message += os::printable(name, 80) + "\": ";
  throw Error(ExitStatus::usage, message.append(why));
}

}  // namespace

void check_lock_name(std::string_view name) {
  if (name.empty()) throw Error(ExitStatus::usage, "the lock name is empty");
  if (name.find("://") != std::string_view::npos) {
    // A URI may hold a password, so the message does not repeat it.
    throw Error(ExitStatus::usage,
                "the lock name contains \"://\"; is it a server's URI? Give that with --server");
  }
  if (name.front() == '-') {
    refuse(name, "must not begin with \"-\"; if it is an option, put it before the name");
  }
  if (name.size() > kMaxName) refuse(name, "longer than 255 bytes (with the prefix)");
  if (std::ranges::any_of(name, is_control)) {
    refuse(name, "control bytes (newline, tab, escape…) are not allowed");
  }
  if (name.starts_with("redlock:{") || name.starts_with("redlock-tag:")) {
    refuse(name,
           "names that begin with \"redlock:{\" or \"redlock-tag:\" are for redlock's own keys");
  }
  const auto opening = std::ranges::count(name, '{');
  const auto closing = std::ranges::count(name, '}');
  const bool one_tag = opening == 1 && closing == 1 && name.find('}') > name.find('{') + 1;
  if (opening + closing > 0 && !one_tag) {
    refuse(name, "braces may only stand around one {tag} that is not empty");
  }
}

std::string lock_key(std::string_view prefix, std::string_view name) {
  std::string key(prefix);
  return key.append(name);
}

std::string helper_key(std::string_view key, std::string_view part) {
  const bool tagged = key.find('{') != std::string_view::npos;
  std::string helper(tagged ? "redlock-tag:" : "redlock:{");
  helper.append(key).append(tagged ? ":" : "}:").append(part);
  return helper;
}

std::string notice_channel(std::string_view key, std::string_view token) {
  return helper_key(key, std::string("told:").append(token));
}

std::optional<std::string> key_of_helper(std::string_view helper, std::string_view part) {
  for (const auto& [head, tail] :
       {std::pair<std::string_view, std::string_view>{"redlock:{", "}:"}, {"redlock-tag:", ":"}}) {
    const std::string end = std::string(tail).append(part);
    if (!helper.starts_with(head) || !helper.ends_with(end)) continue;
    if (helper.size() < head.size() + end.size()) continue;
    std::string key(helper.substr(head.size(), helper.size() - head.size() - end.size()));
    try {
      check_lock_name(key);
    } catch (const Error&) {
      continue;
    }
    if (helper_key(key, part) == helper) return key;
  }
  return std::nullopt;
}

std::string helper_pattern(std::string_view part) {
  return std::string("redlock[-:]*:").append(part);
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/requests/keys.h"

#include <algorithm>
#include <utility>

#include "error.h"
#include "os/printable.h"

namespace redlock::redis {
namespace {

constexpr std::size_t kMaxName = 255;

// Around the key in the names of its helper keys; the latter if it has a {tag} of its own.
constexpr std::string_view kHead = "redlock:{";
constexpr std::string_view kTaggedHead = "redlock-tag:";

[[noreturn]] void refuse(std::string_view name, std::string_view why) {
  std::string message = "lock name \"";
  message += os::printable(name, 80) + "\": ";
  throw Error(ExitStatus::usage, message.append(why));
}

std::string tagged(std::string_view key) {
  const bool has_tag = key.find('{') != std::string_view::npos;
  return has_tag ? std::string(key) : "{" + std::string(key) + "}";
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
  if (std::ranges::any_of(name, os::is_control)) {
    refuse(name, "control bytes (newline, tab, escape…) are not allowed");
  }
  if (name.starts_with(kHead) || name.starts_with(kTaggedHead)) {
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

std::string helper_key(std::string_view key, std::string_view part) {
  const bool tagged = key.find('{') != std::string_view::npos;
  std::string helper(tagged ? kTaggedHead : kHead);
  helper.append(key).append(tagged ? ":" : "}:").append(part);
  return helper;
}

std::string notice_channel(std::string_view key, std::string_view token) {
  return helper_key(key, std::string("told:").append(token));
}

std::string redisson_channel(std::string_view key) {
  return "redisson_lock__channel:" + tagged(key);
}

std::string redisson_queue(std::string_view key) {
  return "redisson_lock_queue:" + tagged(key);
}

std::optional<std::string> key_of_helper(std::string_view helper, std::string_view part) {
  const bool tagged = helper.starts_with(kTaggedHead);
  const std::size_t head = (tagged ? kTaggedHead : kHead).size();
  const std::size_t end = part.size() + (tagged ? 1 : 2);
  if (helper.size() < head + end) return std::nullopt;
  std::string key(helper.substr(head, helper.size() - head - end));
  try {
    check_lock_name(key);
  } catch (const Error&) {
    return std::nullopt;
  }
  return helper_key(key, part) == helper ? std::optional(std::move(key)) : std::nullopt;
}

std::string helper_pattern(std::string_view part) {
  return std::string("redlock[-:]*:").append(part);
}

}  // namespace redlock::redis

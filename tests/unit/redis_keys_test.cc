// SPDX-License-Identifier: MIT
#include "doctest.h"

#include "error.h"
#include "redis/requests/request.h"

using redlock::Error;
using redlock::ExitStatus;
using redlock::redis::check_lock_name;
using redlock::redis::helper_key;
using redlock::redis::key_of_helper;

namespace {

std::string refusal(const std::string& name) {
  try {
    check_lock_name(name);
  } catch (const Error& error) {
    CHECK(error.status() == ExitStatus::usage);
    return error.what();
  }
  return "";
}

TEST_CASE("keys: Redisson's channel and queue have the tag of the key, or get one") {
  CHECK(redlock::redis::redisson_channel("a") == "redisson_lock__channel:{a}");
  CHECK(redlock::redis::redisson_channel("x{t}y") == "redisson_lock__channel:x{t}y");
  CHECK(redlock::redis::redisson_queue("a") == "redisson_lock_queue:{a}");
}

TEST_CASE("keys: a helper key leads back to its lock, and nothing else does") {
  for (const std::string key : {"a", "p:a", "{a}", "x{a}y", "a b", "a:holder", "nightly}"}) {
    const bool valid = key != "nightly}";
    CHECK(key_of_helper(helper_key(key, "holder"), "holder") ==
          (valid ? std::optional(key) : std::nullopt));
  }
  for (const std::string other :
       {"", "a", "redlock:{a}:fence", "redlock:{a:holder", "redlock:{}:holder", "redlock:a:holder",
        "redlock-tag:a:holder", "redlock:{{a}}:holder", "redlock:{a\x1b}:holder",
        "redlock:{}:holde", "redlock-tag::holder", "redlock:holder"}) {
    CAPTURE(other);
    CHECK(key_of_helper(other, "holder") == std::nullopt);
  }
}

}  // namespace

TEST_CASE("keys: names that are allowed") {
  for (const std::string name :
       {"a", "backup", "jobs:nightly", "a b", "{tag}", "a{b}c", "ä", "redlock",
        "xredlock:", "redlock:a", "redlock:a{b}", "a-b", "a:/b", "[abc]", "[a,b]"}) {
    CAPTURE(name);
    CHECK(refusal(name).empty());
  }
  CHECK(refusal(std::string(255, 'x')).empty());
}

TEST_CASE("keys: names that are not, with the reason") {
  const auto holds = [](const std::string& name, const std::string& reason) {
    CAPTURE(name);
    const std::string why = refusal(name);
    CHECK_MESSAGE(why.find(reason) != std::string::npos, why);
  };
  holds("", "empty");
  holds("-n", "must not begin");
  holds("a\nb", "control bytes");
  holds(std::string("a\0b", 3), "control bytes");
  holds("a\x7f", "control bytes");
  holds("redis://:geheim@db1", "--server");
  holds("redlock:{x}", "redlock's own");
  holds("redlock:{x}:holder", "redlock's own");
  holds("redlock-tag:x", "redlock's own");
  for (const std::string name : {"{}", "{", "}", "a}b", "}a{", "{a}{b}", "{{a}}", "{a}}", "a{b"}) {
    holds(name, "braces");
  }
  holds(std::string(256, 'x'), "255");
  CHECK(refusal("redis://:geheim@db1").find("geheim") == std::string::npos);
  CHECK(refusal("a\x1b[31m").find('\x1b') == std::string::npos);
}

TEST_CASE("keys: the helper keys and channels are in the lock's slot and never shared") {
  CHECK(redlock::redis::wake_channel("a{b}", "me") == "redlock-tag:a{b}:wake:me");
  CHECK(helper_key("a", "holder") == "redlock:{a}:holder");
  CHECK(helper_key("{a}", "holder") == "redlock-tag:{a}:holder");
  CHECK(helper_key("x{a}y", "holder") == "redlock-tag:x{a}y:holder");
}

// SPDX-License-Identifier: MIT
//
// A lock in each of its states on its only server; what status, list and history, as whole
// commands, write about it; and what must stand in that.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "answering_servers.h"
#include "contains.h"
#include "lock/protocol.h"
#include "look/look.h"
#include "os/clock.h"

namespace redlock::tests {

enum class As { text, json, prometheus };

/// What such a command about these locks writes; `status`, if given, gets its exit status.
template <class Request>
Written said_about(const AnsweringServers& servers, std::vector<std::string> names,
                   As as = As::text, int* status = nullptr) {
  Request request{};
  request.settings = servers.settings();
  if constexpr (requires { request.names; }) request.names = std::move(names);
  request.json = as == As::json;
  request.prometheus = as == As::prometheus;
  return written_by([&] {
    const Exit result = look::carry_out(request);
    if (status != nullptr) *status = result.status;
  });
}

inline std::string scan_of(const std::vector<std::string>& keys) {
  return "*2\r\n$1\r\n0\r\n" + array_of(keys);
}

/// The runs of a host that gave up.
struct Refusals {
  std::string host;
  int count;
  std::string ago;  ///< ms
  std::string record;
};
inline std::string refusals_of(const std::vector<Refusals>& hosts) {
  std::string wire = "*" + std::to_string(hosts.size() + 1) + "\r\n" + bulk_of("refusals");
  for (const Refusals& each : hosts) {
    wire += "*4\r\n" + bulk_of(each.host) + ":" + std::to_string(each.count) + "\r\n" +
            bulk_of(each.ago) + bulk_of(each.record);
  }
  return wire;
}

const std::string kLockToken(40, 'a');
const std::string kReader = "s" + std::string(39, 'a');

/// When all holders got their locks: for half an hour, "3d 4h" ago.
const std::chrono::milliseconds kSince = std::chrono::floor<std::chrono::seconds>(
    os::unix_now() - std::chrono::hours(76) - std::chrono::minutes(30));

/// `more`: further members; the ttl is 30 s unless they have one.
inline std::string who(const std::string& more) {
  return R"({"host":"h","user":"u","pid":1,"command":"./job","message":"why","since":)" +
         std::to_string(kSince.count()) + R"(,"protocol":)" + std::to_string(lock::kProtocol) +
         (contains(more, "ttl") ? "" : R"(,"ttl":30000)") + more + "}";
}

struct StateFacts {
  std::string word = "held";                             ///< in JSON
  ExitStatus status = ExitStatus::ok;                    ///< of `status`
  std::string held = "1", holders = "1", overdue = "0";  ///< samples; empty: none
  bool since = true, expiry = true;                      ///< samples
  std::string outcome = "\"running\"";  ///< in JSON, of a run that the log has no end of
};

struct LockState {
  std::string name;
  std::optional<Shown> shown;       ///< none: the server is silent
  std::string block{};              ///< of status; WHEN stands for kSince
  std::string row{};                ///< of list, with one blank between two columns
  std::vector<std::string> json{};  ///< some members
  StateFacts also{};
};

inline std::vector<LockState> lock_states() {
  const std::string slot = "p0102" + std::string(35, 'a');
  const auto of = [](const std::string& value, std::int64_t left, const std::string& holder) {
    Shown shown = held_as(value, left, holder);
    shown.fence = 7;
    return shown;
  };
  const std::string note =
      R"( {"host":"b","user":"ops","pid":9,"since":)" + std::to_string(kSince.count()) + "}";
  Shown readers = of("shared:" + kReader, 29'000, who(""));
  readers.readers = {{kReader, who("")}, {"s" + std::string(39, 'b'), "?"}};
  Shown crowd = of("shared:" + kReader, 29'000, who(""));
  crowd.more_readers = 500;
  Shown some = readers;
  some.more_readers = 5;
  some.holder = R"({"host":"h","protocol":)" + std::to_string(lock::kProtocol) + "}";
  Shown revoked = readers;
  revoked.value = "revoked:" + readers.value;
  revoked.left = 5'000;
  Shown late_reader = readers;
  late_reader.left = 5'000;
  Shown slots = of("shared:" + slot, 29'000, who(""));
  slots.readers = {{slot, who("")}};
  Shown foreign = slots;
  foreign.readers.emplace_back("p0109" + std::string(35, 'b'), who(""));
  Shown twice = of(kLockToken, 29'000, who(""));
  twice.holds = 2;
  const Shown veiled = of("shared:" + kReader, 29'000, who(""));  // its list may not be read
  const Shown veiled_slots = of("shared:" + slot, 29'000, who(""));
  Shown redisson{.type = "hash", .left = 29'000, .member = "0123:1", .count = 1};
  const std::string person = "  holder    u@h, pid 1\n  command   ./job\n  message   why\n";
  const std::string begun = "  since     WHEN, for 3d 4h\n";
  const std::string only = "  mode      exclusive\n  fence     7\n";
  const std::string expires = "  expires   in 29 s, unless renewed\n";
  const std::string shared = "  mode      shared\n  fence     7\n";
  const std::string secret = "not known: their list may not be read\n";
  const std::string dead = "last renewed 25 s ago (every 10 s): the holder may be dead";
  const std::string first = "u@h (pid 1, ./job) for 3d 4h, fence 7\n";
  const std::string second =
      "            not known: its record beside the lock is missing, fence 7\n";
  const StateFacts foreign_key{.word = "foreign", .since = false, .outcome = "\"unknown\""};
  StateFacts foreign_for_ever = foreign_key;
  foreign_for_ever.expiry = false;
  return {
      {"held",
       of(kLockToken, 29'000, who("")),
       "held (1 of 1 server)\n" + person + begun + only + expires,
       "held held 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"renewed_s_ago\": 1.0", "\"holder_count\": 1", "\"mode\": \"exclusive\"", "\"for_s\": 27",
        "\"fingerprint\": null", "\"ttl_s\": 30.0"}},
      {"ever",
       of(kLockToken, -1, who("")),
       "held (1 of 1 server)\n" + person + begun + only + "  expires   never by itself\n",
       "ever held 1/1 u@h 1 3d 4h - 0 7 ./job (why)",
       {"\"least_left_s\": null"},
       {.expiry = false}},
      {"late",
       of(kLockToken, 5'000, who("")),
       "held (1 of 1 server)\n" + person + begun + only + "  expires   in 5 s; " + dead + "\n",
       "late overdue 1/1 u@h 1 3d 4h 5 s 0 7 ./job (why)",
       {"\"overdue\": true"},
       {.overdue = "1"}},
      {"twice",
       twice,
       "held (1 of 1 server)\n" + person + begun + only +
           "  holds     2: the command itself has taken it again\n" + expires,
       "twice held 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"holds\": 2"}},
      {"cool",
       of("cooling:" + kLockToken, 29'000, who("")),
       "cooling down: the job is over, its minimum hold is not (1 of 1 server)\n" + person +
           "  since     WHEN, 3d 4h ago\n" + only + "  free      in 29 s\n",
       "cool cooling 1/1 u@h 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"renewed_s_ago\": null"},
       {.word = "cooling", .held = "0", .holders = "0", .since = false, .outcome = "\"unknown\""}},
      {"told",
       of("revoked:" + kLockToken + note, 5'000, who("")),  // not late: it is being taken
       "held, and revoked from its holder (1 of 1 server)\n" + person + begun +
           "  revoked   by ops@b (pid 9), 3d 4h ago\n" + only + "  expires   in 5 s\n",
       "told revoked 1/1 u@h 1 3d 4h 5 s 0 7 ./job (why)",
       {"\"renewed_s_ago\": null", "\"pid\": 9", "\"user\": \"ops\""},
       {.word = "revoked"}},
      {"hold",
       of(kLockToken, 5'000, who(R"(,"maintenance":1)")),  // never late
       "held for maintenance (1 of 1 server)\n  holder    u@h\n  message   why\n" + begun + only +
           "  ends      in 5 s, at TIME; to end it now: redlock release --force hold\n",
       "hold held 1/1 u@h - 3d 4h 5 s 0 7 maintenance (why)",
       {"\"maintenance\": true"}},
      {"text",
       of("x", 29'000, ""),
       "held by another program (1 of 1 server)\n  holder    not known: the key says nothing about "
       "itself (a string)\n  expires   in 29 s\n",
       "text foreign 1/1 - - - 29 s 0 7 -",
       {"\"type\": \"string\"", "\"count\": null", "\"holder_count\": null", "\"mode\": null"},
       foreign_key},
      {"list",
       Shown{.type = "list", .left = -1},
       "held by another program (1 of 1 server)\n  holder    not known: the key is a Redis list, "
       "not a lock of redlock's\n  expires   never by itself\n",
       "list foreign 1/1 - - - - 0 - -",
       {"\"type\": \"list\"", "\"redisson\": null"},
       foreign_for_ever},
      {"rson",
       redisson,
       "held by another program (1 of 1 server)\n  holder    0123:1 of a Redisson lock, 1 time\n"
       "  expires   in 29 s\n  warning   the key is a lock of Redisson's, and this redlock runs "
       "without --as redisson: one name is for one kind of lock\n",
       "rson foreign 1/1 0123:1 - - 29 s 0 - -",
       {"\"redisson\": \"0123:1\"", "\"count\": 1"},
       foreign_key},
      {"both",
       readers,
       "held (1 of 1 server)\n  readers   " + first + second + shared + expires,
       "both held 1/1 2 readers - 3d 4h 29 s 0 7 -",
       {"\"holder_count\": 2", "\"slot\": null", "\"left_s\": 29.0", "\"renewed_s_ago\": null"},
       {.holders = "2"}},
      {"late reader",
       late_reader,
       "held (1 of 1 server)\n  readers   u@h (pid 1, ./job) for 3d 4h; " + dead + ", fence 7\n" +
           second + shared + "  expires   in 5 s, unless renewed\n",
       "late reader held 1/1 2 readers - 3d 4h 5 s 0 7 -",
       {},
       {.holders = "2"}},
      {"told readers",
       revoked,
       "held, and revoked from its holder (1 of 1 server)\n  readers   " + first + second + shared +
           "  expires   in 5 s\n",
       "told readers revoked 1/1 2 readers - 3d 4h 5 s 0 7 -",
       {},
       {.word = "revoked", .holders = "2"}},
      {"some",
       some,
       "held (1 of 1 server)\n  readers   " + first + second +
           "            and 5 more, 7 in all\n" + shared + expires,
       "some held 1/1 7 readers - 3d 4h 29 s 0 7 -",
       {"\"holder_count\": 7"},
       {.holders = "7"}},
      {"crowd",
       crowd,
       "held (1 of 1 server)\n  readers   500: their list is too large to read\n" + shared +
           expires,
       "crowd held 1/1 500 readers - - 29 s 0 7 -",
       {"\"holder_count\": 500"},
       {.holders = "500", .since = false, .outcome = "null"}},
      {"veil",
       veiled,
       "held (1 of 1 server)\n  readers   " + secret + shared + expires,
       "veil held 1/1 - - - 29 s 0 7 -",
       {"\"holder_count\": null"},
       {.holders = "", .since = false, .outcome = "null"}},
      {"veils",
       veiled_slots,
       "held (1 of 1 server)\n  readers   " + secret +
           "  mode      at least 1 of 2 slots taken\n  fence     7\n" + expires,
       "veils held 1/1 at least 1 of 2 slots taken - - 29 s 0 7 -",
       {"\"holder_count\": null"},
       {.holders = "", .since = false, .outcome = "null"}},
      {"slot",
       slots,
       "held (1 of 1 server)\n  slot 1    " + first +
           "  mode      1 of 2 slots taken\n  fence     7\n" + expires,
       "slot held 1/1 u@h (1 of 2) 1 3d 4h 29 s 0 7 ./job (why)",
       {"\"slots\": 2", "\"slot\": 1", "\"mode\": \"slots\""}},
      {"alien",
       foreign,
       "held (1 of 1 server)\n  slot 1    " + first + "  foreign   " + first +
           "  mode      1 of 2 slots taken\n  fence     7\n" + expires,
       "alien held 1/1 1 of 2 slots taken - 3d 4h 29 s 0 7 -",
       {"\"slot\": 1", "\"slot\": null"},
       {.holders = "2"}},
  };
}

/// What a server says that has all these locks. All have one line in the log.
inline std::optional<std::string> reply_of(const std::vector<LockState>& all, const Asked& asked) {
  if (asked.name == "SCAN") {
    std::vector<std::string> keys;
    for (const LockState& each : all) keys.push_back("redlock:{" + each.name + "}:holder");
    return scan_of(keys);
  }
  const auto about = std::ranges::find_if(all, [&](const LockState& each) {
    return asked.words.front() == each.name || contains(asked.words.front(), "{" + each.name + "}");
  });
  if (about == all.end()) return usual_reply(asked.name);
  if (!about->shown) return std::nullopt;
  if (asked.name == "look") return about->shown->wire();
  if (asked.name != "history") return usual_reply(asked.name);
  const std::string time = std::to_string(kSince.count());
  return "*2\r\n" + bulk_of("log") + array_of({time + "-0", "acquired", "run", who(""), "1", time});
}

}  // namespace redlock::tests

// SPDX-License-Identifier: MIT
#include "driver/setup.h"

#include <fcntl.h>

#include <algorithm>

#include "driver/output.h"
#include "forked.h"
#include "os/clock.h"

namespace redlock::driver {
namespace {

std::string list_of(const std::vector<std::string>& uris) {
  config::Settings settings;
  for (const std::string& uri : uris) settings.servers.push_back(redis::parse_uri(uri));
  return server_list(settings).record();
}

TEST_CASE("server list: a server has one hash, whatever else its URI says") {
  // These hashes are in the records of other hosts: they must not change.
  CHECK(list_of({"redis://db1"}) == "622a2b");
  for (const char* const uri :
       {"redis://user:secret@db1:6379/0", "valkey://db1", "rediss://db1:6379"}) {
    CHECK_MESSAGE(list_of({uri}) == list_of({"redis://db1"}), uri);
  }
  CHECK(list_of({"redis+sentinel://s1,s2:26379/main"}) ==
        list_of({"redis+sentinel://s2,s1/main/0"}));
  CHECK(list_of({"redis+cluster://c1,c2"}) == list_of({"redis+cluster://c2,c1"}));
}

TEST_CASE("server list: other servers have other hashes") {
  std::set<std::string> hashes;
  const std::vector<std::string> uris = {"redis://db1",
                                         "redis://db2",
                                         "redis://db1:6380",
                                         "redis://db1/1",
                                         "unix:///db1",
                                         "unix:///db1?db=1",
                                         "redis+sentinel://s1,s2/main",
                                         "redis+sentinel://s1,s2/other",
                                         "redis+sentinel://s1,s2,s3/main",
                                         "redis+cluster://s1,s2"};
  for (const std::string& uri : uris) hashes.insert(list_of({uri}));
  CHECK(hashes.size() == uris.size());
  // Servers that differ by a digit only.
  for (int port = 1024; port < 4024; ++port) {
    hashes.insert(list_of({"redis://db1:" + std::to_string(port)}));
  }
  CHECK(hashes.size() >= uris.size() + 2999);
}

TEST_CASE("fingerprint: the same servers in another order have the same one, and no others have") {
  const auto of = [](const std::vector<std::string>& uris) {
    config::Settings settings;
    for (const std::string& uri : uris) settings.servers.push_back(redis::parse_uri(uri));
    return server_set_fingerprint(settings.servers);
  };
  std::vector<std::string> uris = {"redis://db1", "redis://db2", "redis://db3"};
  const std::string expected = of(uris);
  while (std::ranges::next_permutation(uris).found) CHECK(of(uris) == expected);
  for (const std::vector<std::string>& others :
       {std::vector<std::string>{"redis://db1", "redis://db2"},
        {"redis://db1", "redis://db2", "redis://db4"},
        {"redis://db1", "redis://db2", "redis://db3/1"},
        {"redis://db1", "redis://db2", "redis://db3", "redis://db3"}}) {
    CHECK_MESSAGE(of(others) != expected, others.back());
  }
}

TEST_CASE("our record: whoever reads or has a slot need not be alone") {
  for (const bool shared : {false, true}) {
    for (const std::size_t slots : {0U, 1U, 3U}) {
      config::Settings settings;
      settings.shared = shared;
      settings.slots = slots;
      CHECK(describe_ourselves(settings, {}).shared == (shared || slots > 0));
    }
  }
}

TEST_CASE("our record: the user's name by the first variable that has one, or else the number") {
  constexpr uid_t kNobody = 65534;
  for (const char* const logname : {static_cast<const char*>(nullptr), "", "one"}) {
    for (const char* const user : {static_cast<const char*>(nullptr), "", "two"}) {
      for (const uid_t uid : {::geteuid(), kNobody}) {
        const auto set = [](const char* value) { return value != nullptr && *value != '\0'; };
        const std::string number = uid == 0 ? "root" : "uid " + std::to_string(uid);
        const std::string expected = set(logname) ? logname : set(user) ? user : number;
        CAPTURE(expected);
        CHECK(tests::forked([&] {
                const auto put = [](const char* name, const char* value) {
                  value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
                };
                put("LOGNAME", logname);
                put("USER", user);
                if (uid != ::geteuid() && ::seteuid(uid) != 0) return 0;  // only root may
                return describe_ourselves({}, {}).user == expected ? 0 : 1;
              }) == 0);
      }
    }
  }
}

TEST_CASE("a command's last message waits a moment for a reader that is behind") {
  CHECK(tests::forked([] {
          std::array<int, 2> ends{};
          const std::string chunk(4096, 'x');
          if (::pipe2(ends.data(), O_NONBLOCK) != 0) return 1;
          while (::write(ends[1], chunk.data(), chunk.size()) > 0) continue;
          ::dup2(ends[1], STDERR_FILENO);
          const auto before = os::boot_now();
          complain({"no lock"});
          return os::boot_now() - before > std::chrono::milliseconds(50) ? 0 : 2;
        }) == 0);
}

}  // namespace
}  // namespace redlock::driver

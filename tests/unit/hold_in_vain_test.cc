// SPDX-License-Identifier: MIT
//
// acquire --json that gives up: what it says of each state of the lock.
#include <algorithm>
#include <csignal>

#include "answering_servers.h"
#include "contains.h"
#include "forked.h"
#include "hold/hold.h"

namespace redlock::hold {
namespace {

using namespace std::chrono_literals;
using tests::Asked;
using tests::contains;

TEST_CASE("acquire --json in vain: the state, the holder, and what is left of its time by then") {
  struct Case {
    std::string value, holder;
    std::string state;
    int left;  ///< ms, as the server says each time; -1: it never expires
    std::chrono::milliseconds wait = 0ms;
  };
  const std::string token(40, 'a');
  const std::string who = R"({"host":"h","user":"u","pid":7})";
  for (const Case& each :
       {Case{token, who, "held", 9'000}, Case{token, who, "held", 9'000, 1s},
        Case{token, who, "held", -1}, Case{"cooling:" + token, who, "cooling", 9'000},
        Case{"revoked:" + token, who, "revoked", 9'000}, Case{"else", "", "foreign", 9'000},
        Case{"type:hash", "", "foreign", 9'000}}) {
    CAPTURE(each.value);
    CAPTURE(each.left);
    const auto reply = [&](const Asked& asked) -> std::optional<std::string> {
      if (asked.name != "acquire") return tests::usual_reply(asked.name);
      const auto text = [](const std::string& part) {
        return "$" + std::to_string(part.size()) + "\r\n" + part + "\r\n";
      };
      return "*8\r\n" + text("refused") + text(each.value) + ":" + std::to_string(each.left) +
             "\r\n" + text(each.holder) + text("0") + text("5") + ":0\r\n:0\r\n";
    };
    tests::AnsweringServers servers(1, reply, false);
    const os::Fd file = os::make_memory_file("");
    const pid_t child = tests::start_forked([&] {
      cli::Acquire request;
      request.name = "L";
      request.settings = servers.settings();
      request.settings.wait = each.wait;
      request.settings.quiet = true;
      request.json = true;
      int result = 0;
      const std::string out = tests::written_by([&] { result = carry_out(request).status; }).out;
      os::write_all(file.get(), out);
      return result;
    });
    servers.start();
    CHECK(WEXITSTATUS(tests::status_of(child)) == 1);
    std::string json;
    ::lseek(file.get(), 0, SEEK_SET);
    os::read_all(file.get(), json);
    CAPTURE(json);
    CHECK(contains(json, "\"state\": \"" + each.state + '"'));
    CHECK(contains(json, each.holder.empty() ? "\"holder\": null" : "\"host\": \"h\""));
    CHECK(contains(json, "\"left_s\": null") == (each.left < 0));
    // Some time has passed since the last answer.
    if (each.wait > 0ms) CHECK_FALSE(contains(json, "\"left_s\": 9.0"));
  }
}

/// The record of the holder that the command sends with its request.
template <class Request>
std::string record_of(Request request) {
  std::string record;
  tests::AnsweringServers servers(
      1,
      [&](const Asked& asked) -> std::optional<std::string> {
        for (const std::string& word : asked.words) {
          if (asked.name == "acquire" && word.starts_with("{")) record = word;
        }
        return std::nullopt;
      },
      false);
  const pid_t child = tests::start_forked([&] {
    request.name = "L";
    request.settings = servers.settings();
    request.settings.server_wait = 0ms;
    request.settings.quiet = true;
    int result = 0;
    tests::written_by([&] { result = carry_out(request).status; });
    return result;
  });
  servers.start();
  CHECK(WEXITSTATUS(tests::status_of(child)) == 69);
  servers.stop();
  return record;
}

TEST_CASE("acquire, hold: the record says for which process, and whether any is warned or renews") {
  const std::string pid = std::to_string(::getpid());
  const std::string of_caller = "\"pid\":" + pid;  // redlock itself does not stay
  for (const int signal : {-1, 0, SIGTERM}) {
    CAPTURE(signal);
    cli::Acquire request;
    if (signal >= 0) request.keep_for = ::getpid();
    request.on_lost_signal = std::max(signal, 0);
    const std::string record = record_of(request);
    CAPTURE(record);
    CHECK(contains(record, of_caller));
    CHECK(contains(record, "\"command\":\"redlock acquire " +
                               (signal < 0 ? "" : "--keep-for " + pid + " ") + "L\""));
    CHECK(contains(record, "\"ttl\":3600000"));
    CHECK(contains(record, "\"unattended\":1") == (signal < 0));
    CHECK(contains(record, "\"unwarned\":1") == (signal == 0));
    CHECK_FALSE(contains(record, "maintenance"));
  }
  cli::Hold request;
  request.length = 2h;
  const std::string record = record_of(request);
  CAPTURE(record);
  for (const std::string& part :
       {of_caller, std::string(R"("command":"redlock hold L")"), std::string(R"("maintenance":1)"),
        std::string(R"("ttl":7200000)")}) {
    CHECK(contains(record, part));
  }
  CHECK_FALSE(contains(record, "unattended"));
}

}  // namespace
}  // namespace redlock::hold

// SPDX-License-Identifier: MIT
//
// What a shell is offered for the word under the cursor: each command, after each number of names.
#include <algorithm>

#include "cli_parse.h"

namespace redlock::cli {
namespace {

using tests::Words;

Complete completed(Words words) {
  return std::get<Complete>(completions(
      [&] {
        words.insert(words.begin(), "for");
        return words;
      }(),
      tests::environment({{"REDLOCK_SERVERS", "redis://one"}})));
}

bool offers(const Complete& line, const std::string& word) {
  return std::ranges::count(line.candidates, word, &Candidate::word) == 1;
}

TEST_CASE("completion: names of locks, as many as the command takes; then the job, or nothing") {
  constexpr std::size_t kAny = 9;
  struct Takes {
    const char* command;
    std::size_t names;
    bool job = false;
  };
  for (const Takes& takes :
       {Takes{"run", 1, true}, Takes{"acquire", 1}, Takes{"hold", 1}, Takes{"renew", 1},
        Takes{"release", 1}, Takes{"status", kAny}, Takes{"history", kAny}, Takes{"list", 1},
        Takes{"check", 1}, Takes{"config", 0}, Takes{"sandbox", 0, true}}) {
    for (const bool option : {false, true}) {
      Words words{takes.command};
      if (option) words.emplace_back("-q");
      for (std::size_t given = 0; given < 3; ++given) {
        CAPTURE(takes.command);
        CAPTURE(given);
        CAPTURE(option);
        words.emplace_back("");
        const Complete line = completed(words);
        CHECK(line.settings.has_value() == (given < takes.names));
        CHECK((line.also == "job") == (takes.job && given >= takes.names));
        words.back() = "name" + std::to_string(given);
      }
    }
  }
}

TEST_CASE("completion: each option once, but servers and locks as often as one likes") {
  for (const bool given : {false, true}) {
    CAPTURE(given);
    Words words{"run"};
    if (given) words.insert(words.end(), {"--ttl", "9s", "-S", "redis://a", "--also", "b", "-q"});
    words.emplace_back("--");
    const Complete line = completed(words);
    CHECK(offers(line, "--server"));
    CHECK(offers(line, "--also"));
    CHECK(offers(line, "--ttl") != given);
    CHECK(offers(line, "--quiet") != given);
  }
}

}  // namespace
}  // namespace redlock::cli

// SPDX-License-Identifier: MIT
//
// What a shell is offered for the word under the cursor: each command, after each number of names.
#include <algorithm>

#include "cli/help.h"
#include "cli_parse.h"

namespace redlock::cli {
namespace {

using tests::Words;

Complete completed(Words words) {
  words.insert(words.begin(), "for");
  return std::get<Complete>(completions(words, tests::environment(tests::kOne)));
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
      if (option) words.insert(words.end(), {"-q", "--ttl=junk"});  // which servers need no ttl
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

TEST_CASE("completion: the values of an option, after a blank and after its =") {
  struct Row {
    const char* command;
    std::string option;
    std::string begun;
    Words values;
    std::string_view also = "nothing";
  };
  for (const Row& row : {Row{"run", "--signal", "TE", {"TERM"}},
                         {"acquire", "--on-lost-signal", "US", {"USR1", "USR2"}},
                         {"run", "--progress", "", {"auto", "always", "never"}},
                         {"config", "--record-command", "n", {"name", "none"}},
                         {"run", "--server", "r", {"redis://", "rediss://"}, "the-rest"},
                         {"run", "--config", "/e", {}, "files"},
                         {"list", "--tls-ca-dir", "", {}, "directories"},
                         {"run", "--ttl", "", {}}}) {
    for (const bool joined : {false, true}) {
      CAPTURE(row.option);
      CAPTURE(joined);
      const std::string before = joined ? row.option + "=" : "";
      const Complete line = completed(joined ? Words{row.command, before + row.begun}
                                             : Words{row.command, row.option, row.begun});
      CHECK(line.also == row.also);
      CHECK(line.candidates.size() == row.values.size());
      for (const std::string& value : row.values) CHECK(offers(line, before + value));
      CHECK_FALSE(line.settings);
    }
  }
}

TEST_CASE("completion: commands and options, each with a line of help, and options only for a -") {
  const std::size_t commands = pages().size();
  for (const Words& words :
       {Words{""}, Words{"help", ""}, Words{"-"}, Words{"run", "-"}, Words{"config", ""}}) {
    CAPTURE(words.back());
    const Complete line = completed(words);
    CHECK_FALSE(line.candidates.empty());
    for (const Candidate& each : line.candidates) {
      CAPTURE(each.word);
      CHECK(each.word.starts_with('-') == (words.back() == "-" || words.front() == "config"));
      CHECK_FALSE(each.help.empty());
      CHECK(each.help.find_first_of("\n\t") == std::string::npos);
      CHECK(tests::contains(to_text(line), each.word + "\t" + each.help + "\n"));
    }
  }
  CHECK(completed({""}).candidates.size() == commands + 2);
  CHECK(completed({"help", ""}).candidates.size() == commands);
  CHECK(completed({"-"}).candidates.size() == 3);
  CHECK(completed({"completions", ""}).candidates.size() == 3);
  CHECK(completed({"help", "run", ""}).candidates.empty());
  const Complete one = completed({"run", "--nonb"});  // not --nonblocking, too
  CHECK((one.candidates.size() == 1 && offers(one, "--nonblock")));
  CHECK(completed({"acquire", "--max-r"}).candidates.empty());
}

}  // namespace
}  // namespace redlock::cli

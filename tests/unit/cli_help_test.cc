// SPDX-License-Identifier: MIT
//
// What --help shows, and that the table of options fits it.
#include "cli_parse.h"

namespace redlock::tests {
namespace {

TEST_CASE("help: the options for servers and TLS have a page of their own") {
  CHECK(printed({"--help-servers"}) == printed({"run", "--help-servers"}));
  CHECK(printed({"run", "L", "--help-servers", "x"}) == printed({"run", "--help-servers"}));
  for (const char* command :
       {"run", "acquire", "renew", "release", "status", "list", "history", "check", "config"}) {
    CAPTURE(command);
    const std::string help = printed({command, "--help"});
    const std::string servers = printed({command, "--help-servers"});
    CHECK(contains(help, "  --help-servers "));
    CHECK(contains(help, "  -S, --server URI "));
    CHECK(contains(servers, "  -S, --server URI "));
    for (const char* flag : {"--server-timeout", "--prefix", "--password-file", "--tls-ca "}) {
      CHECK_FALSE(contains(help, std::string("  ") + flag));
      CHECK(contains(servers, std::string("  ") + flag));
    }
    CHECK_FALSE(contains(servers, "--verbose"));
  }
  check_usage({"sandbox", "--help-servers"}, "unknown option");
}

TEST_CASE("help: each command has one example, and what all commands share comes last") {
  for (const char* command : {"run", "acquire", "hold", "renew", "release", "status", "list",
                              "history", "check", "config", "sandbox"}) {
    CAPTURE(command);
    const std::string help = printed({command, "--help"});
    const std::size_t example = help.find("\nExample:\n  ");
    CHECK(example < help.find("\nUsage:\n"));
    CHECK(contains(help, "\nThe manual: man redlock-" + std::string(command) + "\n"));
    const std::size_t last = help.find("\nOther:\n");
    CHECK(last != std::string::npos);
    CHECK(help.find(":\n  -", last + 8) == std::string::npos);
  }
}

TEST_CASE("help: of config and check, the options of run have a heading of their own") {
  for (const config::Row& row : config::table()) {
    const bool of_run = (row.commands & config::kRun) != 0 && !row.group.empty() &&
                        !row.flags.empty() && !of_servers(row) && row.type != config::Type::request;
    if (!of_run) continue;
    const std::string entry = "\n  " + std::string(row.flags.substr(0, row.flags.find(',')));
    for (const auto& [command, of] :
         {std::pair{"config", config::kConfig}, {"check", config::kCheck}}) {
      if (!takes(of, row)) continue;
      CAPTURE(row.name);
      const std::string help = printed({command, "--help"});
      const std::size_t end = help.find(entry);
      const std::size_t heading = help.rfind("\n\n", end) + 2;
      const bool own = (row.commands & of) != 0;
      const std::string_view expected = !own                   ? "Settings"
                                        : of == config::kCheck ? config::kPermissions
                                                               : row.group;
      CHECK(help.substr(heading, help.find('\n', heading) - heading) ==
            std::string(expected) + ":");
    }
  }
}

TEST_CASE("help: all of the table, within 80 columns") {
  std::string all;
  for (const char* command :
       {"run", "acquire", "renew", "release", "list", "history", "check", "config", "sandbox"}) {
    all += printed({command, "--help"});
    if (command != std::string_view("sandbox")) all += printed({command, "--help-servers"});
  }
  for (const config::Row& row : config::table()) {
    if (row.group.empty()) continue;
    CAPTURE(row.name);
    for (std::string flags(row.flags); !flags.empty();) {
      const std::size_t comma = std::min(flags.find(','), flags.size());
      CHECK(contains(all, flags.substr(0, comma)));
      flags.erase(0, comma + 1);
    }
    if (row.environment != nullptr) CHECK(contains(all, row.environment));
    if (!row.default_text.empty())
      CHECK(contains(all, "[" + std::string(row.default_text).substr(0, 2)));
  }
  const std::string everything = all + printed({"--help"});
  CHECK(everything.ends_with('\n'));
  for (std::size_t at = 0; at < everything.size();) {
    const std::size_t end = everything.find('\n', at);
    CHECK(end - at < 80);
    at = end + 1;
  }
}

}  // namespace

}  // namespace redlock::tests

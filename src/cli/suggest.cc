// SPDX-License-Identifier: MIT
#include "cli/suggest.h"

#include <algorithm>

#include "config/nearest.h"

namespace redlock::cli {
namespace {

struct Name {
  config::Command command;
  std::string_view text;
};
constexpr Name kNames[] = {
    {config::kRun, "run"},         {config::kAcquire, "acquire"}, {config::kRenew, "renew"},
    {config::kRelease, "release"}, {config::kStatus, "status"},   {config::kList, "list"},
    {config::kHistory, "history"}, {config::kCheck, "check"},     {config::kConfig, "config"},
    {config::kSandbox, "sandbox"}, {config::kHold, "hold"},
};

/// Words that users of other programs type (consul lock, git, docker, systemctl).
struct Habit {
  std::string_view word;
  std::string_view meant;
};
constexpr std::string_view kTake = "run NAME -- COMMAND, or: redlock acquire NAME";
constexpr std::string_view kGiveBack = "release NAME TOKEN, or: redlock release --force NAME";
constexpr std::string_view kTakeAway = "release --force NAME";
constexpr Habit kHabits[] = {
    {"lock", kTake},      {"get", kTake},         {"exec", "run"},          {"unlock", kGiveBack},
    {"kill", kTakeAway},  {"delete", kTakeAway},  {"rm", kTakeAway},        {"extend", "renew"},
    {"refresh", "renew"}, {"ls", "list"},         {"ps", "list"},           {"show", "status"},
    {"info", "status"},   {"log", "history"},     {"doctor", "check"},      {"ping", "check"},
    {"test", "check"},    {"settings", "config"}, {"version", "--version"},
};

}  // namespace

std::string_view command_name(config::Command command) {
  return std::find_if(std::begin(kNames), std::end(kNames),
                      [command](const Name& name) { return name.command == command; })
      ->text;
}

std::optional<config::Command> find_command(std::string_view word) {
  for (const Name& name : kNames) {
    if (name.text == word) return name.command;
  }
  return std::nullopt;
}

std::vector<config::Command> commands() {
  std::vector<config::Command> all;
  for (const Name& name : kNames) all.push_back(name.command);
  return all;
}

std::string meant_command(std::string_view word) {
  for (const Habit& habit : kHabits) {
    if (habit.word == word) return std::string(habit.meant);
  }
  config::Nearest nearest(word);
  for (const Name& name : kNames) nearest.offer(name.text);
  nearest.offer("help");
  nearest.offer("completions");
  return nearest.best();
}

std::string nearest_flag(config::Command command, std::string_view flag) {
  if (!flag.starts_with("--")) return {};
  flag.remove_prefix(2);
  config::Nearest nearest(flag);
  for (const config::Row& row : config::table()) {
    if (!takes(command, row) || row.group.empty()) continue;
    for (std::string_view flags = row.flags; !flags.empty();) {
      const std::size_t comma = std::min(flags.find(','), flags.size());
      std::string_view other = flags.substr(0, comma);
      flags.remove_prefix(std::min(comma + 1, flags.size()));
      if (!other.starts_with("--")) continue;
      other.remove_prefix(2);
      nearest.offer(other);
    }
  }
  return nearest.best().empty() ? std::string{} : "--" + nearest.best();
}

}  // namespace redlock::cli

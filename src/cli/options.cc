// SPDX-License-Identifier: MIT
//
// The only file that includes CLI11, which takes seconds to compile. CLI11's objects are slow to
// build, too (0.1 to 0.2 ms for all options): only the help defines all options; a command line
// defines the options that it contains.
#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <utility>

#include "cli/help.h"

namespace redlock::cli {
namespace {

using config::Draft;
using config::Key;
using config::Origin;
using config::Row;

/// trigger_on_parse stores values in the order of argv, across options (the last of -s and -x
/// wins). allow_extra_args(false) also keeps CLI11 from splitting `[a,b]`.
CLI::Option* define(CLI::App& app, const Row& row, Draft& draft) {
  const auto take = [&row, &draft](const CLI::results_t& values) {
    store(row, draft, values.back(), {Origin::flag});
    return true;
  };
  const auto note = [&row, &draft] { store(row, draft, {}, {Origin::flag}); };
  const std::string flags(row.flags);
  CLI::Option* option = row.metavar.empty()
                            ? app.add_flag_callback(flags, note)
                            : app.add_option(flags, take)->expected(1)->allow_extra_args(false);
  return option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->trigger_on_parse();
}

/// The headings in the order of the table, but those of kLastGroups at the end.
std::vector<std::string> headings(const CLI::App& app) {
  std::vector<std::string> groups = app.get_groups();
  const auto rank = [](const std::string& group) {
    const auto* const last = std::ranges::find(config::kLastGroups, group);
    return last == std::end(config::kLastGroups) ? 0 : last - std::begin(config::kLastGroups) + 1;
  };
  std::ranges::stable_sort(groups, {}, rank);
  return groups;
}

std::string two_columns(const CLI::App& app) {
  std::string out = app.get_description();
  for (const std::string& group : headings(app)) {
    if (group.empty()) continue;
    out += "\n" + group + ":\n";
    for (const CLI::Option* option : app.get_options()) {
      if (option->get_group() != group) continue;
      std::string left = option->get_name(false, true);
      for (std::size_t at = 0; (at = left.find(',', at)) != std::string::npos; at += 2) {
        left.replace(at, 1, ", ");
      }
      if (!option->get_type_name().empty()) left += " " + option->get_type_name();
      out += entry(left, option->get_description());
    }
  }
  return out + app.get_footer();
}

/// `config` and `check` run no job: there the rows of `run` are settings only.
std::string_view heading_of(config::Command command, const Row& row) {
  const bool of_run = (row.commands & command) == 0;
  return of_run && !of_servers(row) ? "Settings" : row.group;
}

/// The rows of `command` that `shown` chooses, between the two texts.
std::string page(config::Command command, std::string_view head, const std::string& foot,
                 bool (*shown)(const Row&)) {
  CLI::App app{std::string(head), "redlock"};
  app.set_help_flag();
  app.footer(foot);
  Draft draft;
  for (const Row& row : config::table()) {
    if (row.flags.empty() || row.group.empty() || !takes(command, row) || !shown(row)) continue;
    define(app, row, draft)
        ->description(describe(row))
        ->type_name(std::string(row.metavar))
        ->group(std::string(heading_of(command, row)));
  }
  return two_columns(app);
}

}  // namespace

Draft read_options(std::vector<Given> options) {
  Draft draft;
  if (options.empty()) return draft;
  CLI::App app;
  app.set_help_flag();  // the table has our own
  std::set<config::Key> defined;
  std::vector<std::string> words;
  for (Given& given : options) {
    const Row& row = *given.row;
    if (row.type == config::Type::shell_command) {
      store(row, draft, given.value, {Origin::flag});
      continue;
    }
    if (defined.insert(row.key).second) define(app, row, draft);
    words.push_back(std::move(given.flag));
    if (!row.metavar.empty()) words.push_back(std::move(given.value));
  }
  std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
  app.parse(std::move(words));
  return draft;
}

std::string help(config::Command command) {
  return page(command, help_head(command), help_foot(command), [](const Row& row) {
    return !of_servers(row) || row.key == Key::server || row.key == Key::help_servers;
  });
}

std::string servers_help(config::Command command) {
  return page(command, servers_head(command), servers_foot(command),
              [](const Row& row) { return of_servers(row) && row.key != Key::help_servers; });
}

}  // namespace redlock::cli

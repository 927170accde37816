// SPDX-License-Identifier: MIT
//
// Asks all servers once, at the same time; then prints one block per lock.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "diag/text.h"
#include "look/look.h"
#include "look/screen.h"
#include "observe/json.h"

namespace redlock::look {

namespace {

using config::Settings;
using lock::State;

ExitStatus status_of(const std::vector<observe::Observed>& locks) {
  const auto any = [&locks](State state) {
    return std::ranges::any_of(
        locks, [state](const observe::Observed& lock) { return lock.judgement.state == state; });
  };
  if (any(State::undecided)) return ExitStatus::unavailable;
  return any(State::free) ? ExitStatus::conflict : ExitStatus::ok;
}

/// The reasons for status 69.
std::vector<std::string> undecided_lines(const std::vector<observe::Observed>& locks) {
  std::vector<std::string> lines;
  for (const observe::Observed& lock : locks) {
    if (lock.judgement.state != State::undecided) continue;
    const std::string name = diag::lock_name(lock.id.name);
    const std::size_t servers = lock.seen.size();
    lines.push_back(
        lock.knows_enough()
            ? fmt::format("{} is undecided: no quorum ({} of {} servers) says the same; it may be "
                          "changing hands, ask again",
                          name, lock::quorum(servers), servers)
            : fmt::format("the state of {} is not known: {}", name,
                          observe::too_few(lock.judgement.answered, servers)));
  }
  return lines;
}

Frame look(const cli::Status& request, const diag::Screen& screen) {
  const Settings& settings = request.settings;
  observe::Query query(settings);
  const std::vector<observe::Observed> locks =
      query.look_until_settled(request.names, observe::Marks::asked);
  Frame frame{.status = status_of(locks)};
  if (!settings.quiet || frame.status == ExitStatus::unavailable) {
    frame.complaints = query.complaints();
  }
  std::ranges::move(undecided_lines(locks), std::back_inserter(frame.complaints));
  for (const observe::Observed& lock : locks) {
    if (settings.quiet || lock.judgement.state != State::free || !cli::is_pattern(lock.id.name)) {
      continue;
    }
    frame.complaints.push_back(fmt::format(
        "{} looks like a pattern, and status takes names: {}", diag::lock_name(lock.id.name),
        diag::command_about(lock.id.name, {"redlock", "list"}, settings.where)));
  }
  if (request.json) {
    frame.text = to_json(locks, settings, query.troubles(), frame.status);
    return frame;
  }
  for (const observe::Observed& lock : locks) {
    if (!frame.text.empty()) frame.text += '\n';
    frame.text += observe::as_block(lock, settings, screen);
  }
  return frame;
}

}  // namespace

Exit carry_out(const cli::Status& request) {
  std::vector<std::string> typed = {"redlock", "status"};
  typed.insert(typed.end(), request.names.begin(), request.names.end());
  return show(request, typed,
              [&request](const diag::Screen& screen) { return look(request, screen); });
}

}  // namespace redlock::look

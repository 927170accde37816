// SPDX-License-Identifier: MIT
//
// Asks all servers once, at the same time; then prints one block per lock.
#include "inspect/status.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "diag/lock_name.h"
#include "driver/output.h"
#include "inspect/observed.h"
#include "inspect/query.h"
#include "inspect/status_block.h"
#include "inspect/watch.h"
#include "lock/timing.h"
#include "records/holder.h"

namespace redlock::inspect {

namespace {

using config::Settings;
using lock::State;

bool has_state(const std::vector<Observed>& locks, State state) {
  return std::ranges::any_of(
      locks, [state](const Observed& lock) { return lock.judgement.state == state; });
}

ExitStatus status_of(const std::vector<Observed>& locks) {
  if (has_state(locks, State::undecided)) return ExitStatus::unavailable;
  return has_state(locks, State::free) ? ExitStatus::conflict : ExitStatus::ok;
}

/// The reasons for status 69.
std::vector<std::string> undecided_lines(const std::vector<Observed>& locks) {
  std::vector<std::string> lines;
  for (const Observed& lock : locks) {
    if (lock.judgement.state != State::undecided) continue;
    const std::size_t quorum = lock::quorum(lock.seen.size());
    lines.push_back(
        lock.judgement.answered >= quorum
            ? fmt::format("{} is undecided: no quorum ({} of {} servers) says the same; "
                          "it may just change hands, ask again",
                          diag::lock_name(lock.id.name), quorum, lock.seen.size())
            : fmt::format("the state of {} is not known: {} of {} servers could be "
                          "asked, and a quorum is {}",
                          diag::lock_name(lock.id.name), lock.judgement.answered, lock.seen.size(),
                          quorum));
  }
  return lines;
}

Frame look(const cli::Status& request, const diag::Screen& screen) {
  const Settings& settings = request.settings;
  Query query(settings);
  const std::vector<Observed> locks = query.look(request.names, redis::Observer::Marks::asked);
  Frame frame{.status = status_of(locks)};
  if (!settings.quiet || frame.status == ExitStatus::unavailable) {
    frame.complaints = query.complaints();
  }
  std::ranges::move(undecided_lines(locks), std::back_inserter(frame.complaints));
  if (request.json) {
    frame.text = to_json(locks, settings, query.troubles(), frame.status);
    return frame;
  }
  for (const Observed& lock : locks) {
    if (!frame.text.empty()) frame.text += '\n';
    frame.text += as_block(lock, settings, screen);
  }
  return frame;
}

}  // namespace

Exit status(const cli::Status& request) {
  if (request.watch) {
    std::vector<std::string> typed = {"redlock", "status"};
    typed.insert(typed.end(), request.names.begin(), request.names.end());
    return watch(request.settings, records::shell_like(typed), *request.watch,
                 [&request](const diag::Screen& screen) { return look(request, screen); });
  }
  const Frame frame = look(request, driver::output_screen(request.settings));
  driver::complain(frame.complaints);
  return driver::print(frame.text, frame.status);
}

}  // namespace redlock::inspect

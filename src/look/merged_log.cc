// SPDX-License-Identifier: MIT
//
// Servers log the same run at slightly different times, by clocks that differ, and some do not log
// it at all. A server that was stopped logs a line much later, when it goes on. Hence the median,
// and of two times the earlier.
#include <map>
#include <utility>

#include "look/history.h"

namespace redlock::look {

namespace {

using records::LogEntry;
using Ending = PastRun::Ending;
using std::chrono::milliseconds;

milliseconds lower_median(std::vector<milliseconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

/// The lines of all servers about one run.
struct Account {
  std::vector<milliseconds> begins;   ///< one per server
  std::vector<milliseconds> revoked;  ///< the times of the revocation; one per server that has it
  std::map<std::string, LogEntry, std::less<>> events;
  std::optional<milliseconds> hold_ends;  ///< of a maintenance hold, as it was taken or extended

  [[nodiscard]] const LogEntry* find(std::string_view event) const {
    const auto found = events.find(event);
    return found == events.end() ? nullptr : &found->second;
  }
};

/// A maintenance hold that a run left (--hold-on-failure) has the name of the run. Here it has one
/// of its own.
constexpr char kHold = '+';
std::string name_of(std::string run, bool maintenance) {
  if (maintenance && !run.empty()) run += kHold;
  return run;
}

/// The run before them, and their event: skipped or superseded.
using SkipsAfter = std::pair<std::string, std::string>;
struct Skips {
  unsigned count = 0;
  milliseconds latest{};
  LogEntry entry;
};

/// No process writes a line when a maintenance hold ends by its time or by force.
void end_hold(PastRun& past, const Account& account, milliseconds now) {
  constexpr milliseconds kClocksDiffer = std::chrono::seconds(10);
  if (!account.hold_ends || past.ended || past.goes_on) return;
  if (past.ending == Ending::forced) {
    past.ended = std::max(lower_median(account.revoked), past.began);
  } else if (*account.hold_ends <= now + kClocksDiffer) {
    past.ending = Ending::expired;
    past.ended = std::max(*account.hold_ends, past.began);
  }
}

PastRun past_run(const std::string& run, const Account& account, const Present& present) {
  const bool has_lock =
      std::ranges::find(present.holders, run, &Present::Holder::run) != present.holders.end();
  const LogEntry* const acquired = account.find("acquired");
  const LogEntry* const released = account.find("released");
  const LogEntry* const lost = account.find("lost");
  const LogEntry* const revoked = account.find("revoked");
  const LogEntry* const end = lost != nullptr ? lost : released;
  PastRun past{
      .run = run.substr(0, run.find(kHold)),
      .began = std::max(lower_median(account.begins.empty() ? account.revoked : account.begins),
                        milliseconds::zero())};
  if (acquired != nullptr) past.entry = *acquired;
  if (end != nullptr) {
    past.entry = *end;
    past.ended = past.began + end->held.value_or(milliseconds::zero());
    // A process that did not acquire the lock itself does not know how long the acquirer waited.
    if (acquired != nullptr && acquired->waited) past.entry.waited = acquired->waited;
  }
  past.goes_on = has_lock && !past.ended;
  if (has_lock && present.shared) past.entry.who.shared = true;
  if (revoked != nullptr) {
    past.forced_by = revoked->who;
    if (past.entry.fence == 0) past.entry.fence = revoked->fence;
  }
  if (released != nullptr && lost == nullptr) {
    past.ending = Ending::ended;  // before the revocation had stopped it
  } else if (revoked != nullptr) {
    past.ending = Ending::forced;
  } else if (lost != nullptr) {
    past.ending = Ending::lost;
  } else if (past.goes_on) {
    past.ending = Ending::running;
  }
  end_hold(past, account, present.now);
  // A plain acquire ends when its time is over, unless somebody releases it.
  const bool over = past.ending == Ending::unknown && past.entry.who.unattended && present.sure;
  if (over) past.ending = Ending::expired;
  return past;
}

/// A run that no log has, or not yet.
PastRun running(const Present::Holder& holder, bool shared) {
  PastRun run{.ending = Ending::running,
              .run = holder.run.substr(0, holder.run.find(kHold)),
              .goes_on = true};
  run.entry.who = holder.who.value_or(records::Holder{});
  run.entry.who.shared = run.entry.who.shared || shared;
  run.entry.fence = holder.fence;
  run.began = std::max(run.entry.who.since, milliseconds::zero());
  run.knows_beginning = run.began > milliseconds::zero();
  return run;
}

milliseconds end_of(const std::vector<PastRun>& runs) {
  milliseconds end{};
  for (const PastRun& run : runs) end = std::max(end, run.ended.value_or(run.began));
  return end;
}

/// Marks the runs that may still have the lock: the last one, and those that share the lock with
/// it. A run that takes the lock alone begins after all runs before it have ended.
void doubt(std::vector<PastRun>& runs) {
  bool last = true;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->ending == Ending::skipped) continue;
    const bool shared = run->entry.who.shared;
    if ((shared || last) && run->ending == Ending::unknown) run->ending = Ending::unclear;
    if (!shared) return;
    last = false;
  }
}

/// What all servers say.
struct Merged {
  std::map<std::string, Account> accounts;  ///< by name_of() the run
  /// By the run before them: servers may differ in which skipped run they logged last.
  std::map<SkipsAfter, Skips> skips;
};

void take(const std::vector<observe::LoggedLine>& latest_first, Merged& merged) {
  std::map<std::string, milliseconds> begins;
  std::map<std::string, milliseconds> hold_ends;
  std::map<SkipsAfter, Skips> skips;
  std::string previous;
  for (auto line = latest_first.rbegin(); line != latest_first.rend(); ++line) {
    auto entry = records::read_log_entry(line->data);
    if (!entry || line->run.empty()) continue;
    const std::string run = name_of(line->run, entry->who.maintenance);
    if (entry->who.maintenance && (line->event == "acquired" || line->event == "renewed")) {
      milliseconds& ends = hold_ends[run];
      ends = std::max(ends, line->time + entry->who.ttl);
    }
    if (line->event == "skipped" || line->event == "superseded") {
      Skips& here = skips[{previous, line->event}];
      here.count += line->count;
      here.latest = line->time;
      here.entry = std::move(*entry);
    } else if (line->event == "acquired" || line->event == "released" || line->event == "lost" ||
               line->event == "revoked") {
      previous = line->run;
      Account& account = merged.accounts[run];
      if (line->event == "revoked") {
        account.revoked.push_back(line->time);
      } else {
        const milliseconds began = line->time - entry->held.value_or(milliseconds::zero());
        milliseconds& earliest = begins.emplace(run, began).first->second;
        earliest = std::min(earliest, began);
      }
      // If an end was sent twice, the first line counts.
      account.events.emplace(line->event, std::move(*entry));
    }
  }
  for (const auto& [run, began] : begins) merged.accounts[run].begins.push_back(began);
  for (const auto& [run, ends] : hold_ends) {
    const auto account = merged.accounts.find(run);
    if (account == merged.accounts.end()) continue;
    account->second.hold_ends = std::max(account->second.hold_ends.value_or(ends), ends);
  }
  for (auto& [after, here] : skips) {
    Skips& most = merged.skips[after];
    if (here.count > most.count) most = std::move(here);
  }
}

/// Whoever revoked the lock ended the hold, if there was one: a run whose lock was lost, or revoked
/// before, leaves none, although it may have said so.
void part_holds(Merged& merged) {
  for (auto& [name, account] : merged.accounts) {
    const auto hold = merged.accounts.find(name_of(name, true));
    if (hold == merged.accounts.end()) continue;
    if (account.find("lost") != nullptr) {
      merged.accounts.erase(hold);
    } else if (auto revoked = account.events.extract("revoked")) {
      hold->second.events.insert(std::move(revoked));
      hold->second.revoked = std::exchange(account.revoked, {});
    }
  }
  std::erase_if(merged.accounts, [](const auto& each) { return each.second.events.empty(); });
}

}  // namespace

std::vector<PastRun> merge(const std::vector<std::vector<observe::LoggedLine>>& logs,
                           Present present) {
  Merged merged;
  for (const auto& lines : logs) take(lines, merged);
  part_holds(merged);
  for (Present::Holder& holder : present.holders) {
    const std::string hold = name_of(holder.run, true);
    const bool known = merged.accounts.contains(hold);
    if (holder.who ? holder.who->maintenance : known) holder.run = hold;
  }
  std::vector<PastRun> all;
  for (const auto& [run, account] : merged.accounts) all.push_back(past_run(run, account, present));
  for (const auto& [after, skips] : merged.skips) {
    all.push_back({.ending = Ending::skipped,
                   .began = skips.latest,
                   .ended = skips.latest,
                   .entry = skips.entry,
                   .skips = skips.count,
                   .superseded = after.second == "superseded"});
  }
  for (const Present::Holder& holder : present.holders) {
    if (holder.run.empty() || merged.accounts.contains(holder.run)) continue;
    PastRun run = running(holder, present.shared);
    if (!run.knows_beginning) run.began = end_of(all);
    all.push_back(std::move(run));
  }
  std::ranges::stable_sort(all, {}, &PastRun::began);
  if (!present.sure) doubt(all);
  return all;
}

}  // namespace redlock::look

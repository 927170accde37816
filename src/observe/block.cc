// SPDX-License-Identifier: MIT
//
// Everything about one lock in words, for `redlock status`, and for `redlock release --force`
// before it asks the user.
#include <fmt/format.h>

#include <algorithm>

#include "config/value.h"
#include "diag/blocker.h"
#include "diag/text.h"
#include "lock/value.h"
#include "observe/observed.h"
#include "os/clock.h"

namespace redlock::observe {

namespace {

using config::Settings;
using lock::State;

constexpr std::size_t kLabel = 10;
constexpr std::size_t kSetIn = 2;
constexpr std::size_t kMostWaiting = 5;
constexpr std::size_t kLeastCommand = 12;  // a command cut to fewer columns is of no use

/// One block, line by line, for a screen.
struct Block {
  const diag::Screen& screen;
  std::string text = {};

  void head(const std::string& name, const std::string& state, diag::Tint tint) {
    text += diag::for_screen(name, screen) + ": " + diag::paint(state, tint, screen) + "\n";
  }

  /// Further lines of an entry have no label, and are indented by `set_in`.
  void entry(std::string_view label, const std::string& words, std::size_t set_in = 0,
             diag::Tint tint = diag::Tint::none) {
    std::size_t indent = 0;
    for (const std::string& line : diag::wrap(diag::for_screen(words, screen), room() - set_in)) {
      text += "  " + diag::paint(std::string(label), tint, screen);
      text += fmt::format("{:{}}{}\n", "", kLabel - label.size() + indent, line);
      label = {};
      indent = set_in;
    }
  }

  /// The columns for the text of an entry.
  [[nodiscard]] std::size_t room() const {
    const std::size_t left = kLabel + 2;
    return std::max(screen.width, 2 * left) - left;
  }
};

bool is_hold(const Observed& lock) {
  return lock.holder && lock.holder->maintenance;
}

std::string headline(const Observed& lock) {
  const lock::Judgement& judgement = lock.judgement;
  const std::size_t servers = lock.seen.size();
  const std::string count =
      fmt::format("{} of {}", judgement.agreeing.size(), diag::counted(servers, "server"));
  switch (judgement.state) {
    case State::free:
      return fmt::format("free ({})", count);
    case State::held:
      return fmt::format("held{} ({})", is_hold(lock) ? " for maintenance" : "", count);
    case State::cooling:
      return fmt::format("cooling down: the job is over, its minimum hold is not ({})", count);
    case State::revoked:
      return fmt::format("held, and revoked from its holder ({})", count);
    case State::foreign:
      return fmt::format("held by another program ({})", count);
    case State::undecided:
      break;
  }
  if (lock.knows_enough()) {
    return fmt::format("undecided, no quorum ({} of {}) says the same", lock::quorum(servers),
                       servers);
  }
  return fmt::format("not known, {} of {} could be asked", judgement.answered,
                     diag::counted(servers, "server"));
}

/// In this host's time zone.
std::string since(const records::Holder& holder, bool over) {
  const auto length = diag::ago(holder.since);
  if (!length) return {};
  return config::format_moment(holder.since) + (over ? ", " : ", for ") +
         diag::for_people(*length) + (over ? " ago" : "");
}

std::string time_left(const Observed& lock, const Settings& settings) {
  const std::string_view unless = lock.judgement.state == State::held ? ", unless renewed" : "";
  if (!lock.least_left) return "never by itself";
  const std::string least = diag::for_people(*lock.least_left);
  const std::string most = diag::for_people(*lock.most_left);
  if (is_hold(lock) && lock.judgement.state == State::held) {
    // No process renews a maintenance hold, so its end is certain.
    return fmt::format("in {}, at {}; to end it now: {}", least,
                       config::format_moment(os::unix_now() + *lock.least_left),
                       release_command(lock.id.name, settings));
  }
  const std::string when = least == most ? least : least + " to " + most;
  if (const auto late = overdue(lock)) return fmt::format("in {}; {}", when, describe(*late));
  return fmt::format("in {}{}", when, unless);
}

void tell_foreign(Block& block, const lock::Sighting& sighting) {
  std::string holder = "not known: the key says nothing about itself (a string)";
  if (!sighting.owner.empty()) {
    holder = fmt::format("{} of a Redisson lock, {}", redisson_owner(sighting),
                         diag::counted(sighting.count, "time"));
  } else if (sighting.kind != lock::Sighting::Kind::value) {
    holder = fmt::format("not known: the key is a Redis {}, not a lock of redlock's",
                         diag::printable(lock::type_of(sighting.value).value_or(""), 20));
  }
  block.entry("holder", holder);
}

/// Each reader begins a new line.
void tell_readers(Block& block, const Observed& lock) {
  std::string label = lock.readers.size() == 1 ? "reader" : "readers";
  if (lock.readers.empty()) {
    return block.entry(label,
                       lock.reader_count == 0
                           ? "not known: their list may not be read"
                           : fmt::format("{}: their list is too large to read", lock.reader_count));
  }
  for (const Reader& reader : lock.readers) {
    const auto& who = reader.who;
    const auto length = who ? diag::ago(who->since) : std::nullopt;
    std::string text = who ? fmt::format("{} (pid {}{}{})", diag::person(*who), who->pid,
                                         who->command.empty() ? "" : ", ", diag::command_of(*who))
                           : "not known: its record beside the lock is missing";
    if (length) text += " for " + diag::for_people(*length);
    const auto late = who ? diag::overdue(*who, reader.left) : std::nullopt;
    if (late && lock.judgement.state == State::held) text += "; " + describe(*late);
    if (reader.fence > 0) text += fmt::format(", fence {}", reader.fence);
    if (lock.slots > 0) {
      const std::size_t slot = slot_in(lock, reader);
      label = slot == 0 ? "foreign" : fmt::format("slot {}", slot);
    }
    block.entry(std::exchange(label, {}), text, kSetIn);
  }
  const std::size_t more = lock.reader_count - lock.readers.size();
  if (more > 0) {
    block.entry(label, fmt::format("and {} more, {} in all", more, lock.reader_count), kSetIn);
  }
}

void tell_holder(Block& block, const Observed& lock) {
  const bool over = lock.judgement.state == State::cooling;
  if (lock.shared) {
    tell_readers(block, lock);
  } else if (!lock.holder) {
    block.entry("holder", "not known: its record beside the lock is missing, or may not be read");
  } else {
    const records::Holder& holder = *lock.holder;
    const std::string person = diag::person(holder);
    block.entry("holder",
                holder.maintenance ? person : fmt::format("{}, pid {}", person, holder.pid));
    if (!holder.command.empty() && !holder.maintenance) {
      block.entry("command", diag::command_of(holder));
    }
    if (!holder.message.empty()) block.entry("message", diag::message_of(holder));
    const std::string begun = since(holder, over);
    if (!begun.empty()) block.entry("since", begun);
  }
  if (lock.revocation) {
    const auto length = diag::ago(lock.revocation->since);
    block.entry("revoked", "by " + diag::process(*lock.revocation) +
                               (length ? ", " + diag::for_people(*length) + " ago" : ""));
  }
  block.entry("mode", lock.slots > 0 ? slots_taken(lock) : lock.shared ? "shared" : "exclusive");
  if (lock.judgement.fence > 0) block.entry("fence", std::to_string(lock.judgement.fence));
  if (lock.sighting->holds > 1) {
    block.entry("holds",
                fmt::format("{}: the command itself has taken it again", lock.sighting->holds));
  }
}

/// In one line if it fits, with as much of the command as fits.
std::string describe(const Waiting& waiter, std::size_t room, diag::Charset charset,
                     const diag::ServerList& ours) {
  std::string length = diag::for_people(waiter.waited);
  if (!waiter.who) return "unidentified, for " + length;
  const records::Holder& who = *waiter.who;
  const bool other = ours.relation(who.list) > diag::Relation::unknown;
  if (other)
    length += fmt::format(", with another list of servers ({})", ours.difference(who.list));
  const auto text = [&who, &length](std::string_view command) {
    const std::string message =
        who.message.empty() ? std::string() : ", \"" + diag::message_of(who) + '"';
    return fmt::format("{} (pid {}{}{}{}) for {}", diag::person(who), who.pid,
                       who.command.empty() ? "" : ", ", command, message, length);
  };
  const std::size_t left = room - std::min(room, diag::columns(text("")));
  return text(diag::cut(diag::command_of(who), std::max(left, kLeastCommand), charset));
}

/// The longest waiter comes first. Each waiter begins a new line.
void tell_waiting(Block& block, const WaitingQueue& queue, const Settings& settings) {
  const bool all = settings.verbose > 0;
  const diag::ServerList ours = driver::server_list(settings);
  const std::size_t shown = all ? queue.known.size() : std::min(kMostWaiting, queue.known.size());
  std::string_view label = "waiting";
  for (std::size_t at = 0; at < shown; ++at) {
    block.entry(std::exchange(label, {}),
                describe(queue.known[at], all ? diag::kNoLimit : block.room() - kSetIn,
                         block.screen.charset, ours),
                kSetIn);
  }
  const std::size_t more = queue.known.size() - shown + queue.others;
  if (more > 0) block.entry(label, fmt::format("{}{} more", shown > 0 ? "and " : "", more));
}

/// Who gave up, and where to see more.
std::string describe_refusals(const Observed& lock, const Settings& settings) {
  const Refusals& last = lock.refusals.front();
  const std::string held_by = diag::printable(last.who.held_by, records::kMostCommandBytes);
  const std::size_t others = lock.refusals.size() - 1;
  return fmt::format(
      "{}{}, {} ago{}; see {}", diag::printable(last.host, 64),
      others > 0 ? " and " + diag::counted(others, "other host") : "", diag::for_people(last.ago),
      held_by.empty() ? "" : ", held by " + held_by,
      diag::command_about(lock.id.name, {"redlock", "history", "--refused"}, settings.where));
}

/// What one server shows. Standard error says why a server could not be asked, unless it is quiet.
std::string describe_view(const Observed& lock, std::size_t server) {
  const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
  if (sighting == nullptr) return "could not be asked";
  const lock::State state = lock::state_of(*sighting);
  if (state == lock::State::free) return "free";
  const bool agrees =
      std::ranges::find(lock.judgement.agreeing, server) != lock.judgement.agreeing.end();
  if (!agrees) return diag::describe(as_refusal(*sighting));
  const std::string_view word = state == lock::State::foreign ? "held" : appearance_of(state).word;
  if (!sighting->ttl_left) return fmt::format("{}, never expires", word);
  return fmt::format("{}, {} left", word, diag::for_people(*sighting->ttl_left));
}

}  // namespace

std::string as_block(const Observed& lock, const Settings& settings, const diag::Screen& screen) {
  Block block{screen};
  const State state = lock.judgement.state;
  block.head(diag::bare_name(lock.id.name), headline(lock), appearance_of(state).tint);
  if (state == State::foreign) {
    tell_foreign(block, *lock.sighting);
  } else if (state != State::free && state != State::undecided) {
    tell_holder(block, lock);
  }
  if (state != State::free && state != State::undecided) {
    const bool ends = is_hold(lock) && state == State::held;
    block.entry(state == State::cooling ? "free"
                : ends                  ? "ends"
                                        : "expires",
                time_left(lock, settings));
  }
  if (lock.waiting) tell_waiting(block, *lock.waiting, settings);
  if (lock.last_run) block.entry("last run", diag::describe(*lock.last_run));
  if (lock.built) {
    block.entry("build", fmt::format("{} succeeded {} ago", lock.built->build,
                                     diag::for_people(lock.built->ago)));
  }
  if (!lock.refusals.empty()) block.entry("refused", describe_refusals(lock, settings));
  for (const std::string& text : warnings_about(lock, settings)) {
    block.entry("warning", text, 0, diag::Tint::notice);
  }
  if (settings.verbose || lock.judgement.agreeing.size() < lock.seen.size()) {
    for (std::size_t server = 0; server < lock.seen.size(); ++server) {
      block.entry(server == 0 ? "servers" : "",
                  settings.servers[server].brief() + ": " + describe_view(lock, server));
    }
  }
  return block.text;
}

}  // namespace redlock::observe

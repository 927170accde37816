// SPDX-License-Identifier: MIT
//
// `redlock list` collects the names from all servers first; then it asks all servers about each
// name. The shells' completion needs the names alone.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "diag/blocker.h"
#include "diag/text.h"
#include "driver/output.h"
#include "error.h"
#include "look/look.h"
#include "look/screen.h"
#include "observe/json.h"
#include "os/clock.h"
#include "redis/requests/keys.h"

namespace redlock::look {

namespace {

using lock::State;

enum ListColumn : std::size_t {
  kName,
  kState,
  kServers,
  kHolder,
  kPid,
  kSince,
  kLeft,
  kWaiting,
  kFence,
  kCommand,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kHeads = {
    "NAME", "STATE", "SERVERS", "HOLDER", "PID", "FOR", "LEFT", "WAITING", "FENCE", "COMMAND"};
/// These columns are left out if the terminal is too narrow, in this order.
constexpr std::array<std::size_t, 8> kLeftOut = {kFence,   kPid,     kServers, kLeft,
                                                 kWaiting, kCommand, kHolder,  kSince};
constexpr std::size_t kLeastHolder = 8;

/// When the holder got the lock, or the first of several did, in Unix time; 0: not known.
std::chrono::milliseconds held_since(const observe::Observed& lock) {
  const bool named = !lock.shared || !lock.readers.empty();
  std::chrono::milliseconds first{};
  if (lock.holder && named) first = lock.holder->since;
  for (const observe::Reader& reader : lock.readers) {
    const auto since = reader.who ? reader.who->since : first;
    if (since.count() > 0 && (first.count() <= 0 || since < first)) first = since;
  }
  return first;
}

Line line_of(const observe::Observed& lock) {
  Line line(kColumns, {"-"});
  line[kName].text = diag::bare_name(lock.id.name);
  const observe::Appearance state = observe::appearance_of(lock.judgement.state);
  line[kState] = {std::string(state.word), state.tint};
  if (observe::overdue(lock)) line[kState] = {"overdue", diag::Tint::notice};
  line[kServers].text = fmt::format("{}/{}", lock.judgement.agreeing.size(), lock.seen.size());
  std::optional<std::chrono::milliseconds> left = lock.least_left;
  if (const auto servers = observe::left_overs(lock);
      lock.judgement.state == State::free && !servers.empty()) {
    left = std::get<lock::Sighting>(lock.seen[servers.front()]).ttl_left;
    line[kState] = {"left over", diag::Tint::notice};
    line[kServers].text = fmt::format("{}/{}", servers.size(), lock.seen.size());
  }
  if (lock.slots > 0 && lock.reader_count != 1) {
    line[kHolder].text = observe::slots_taken(lock);
  } else if (lock.shared && lock.reader_count != 1) {
    if (lock.reader_count > 0) line[kHolder].text = fmt::format("{} readers", lock.reader_count);
  } else if (lock.holder) {
    line[kHolder].text = diag::person(*lock.holder);
    if (lock.slots > 0) line[kHolder].text += fmt::format(" (1 of {})", lock.slots);
    if (!lock.holder->maintenance) line[kPid].text = std::to_string(lock.holder->pid);
    if (auto work = diag::work_of(*lock.holder); !work.empty()) line[kCommand].text = work;
  }
  if (const auto length = diag::ago(held_since(lock))) {
    line[kSince].text = diag::for_people(*length);
  }
  if (lock.sighting && !lock.sighting->owner.empty()) {
    line[kHolder].text = observe::redisson_owner(*lock.sighting);
  }
  if (left) line[kLeft].text = diag::for_people(*left);
  if (lock.waiting) line[kWaiting].text = std::to_string(lock.waiting->size());
  if (lock.judgement.fence > 0) line[kFence].text = std::to_string(lock.judgement.fence);
  return line;
}

/// Cuts the names to a third of the screen, or to more if the other columns leave room; and the
/// holders before this column is left out.
/// `before`: the columns of the last table on the same screen, which do not get narrower.
std::string as_table(const std::vector<observe::Observed>& locks, const diag::Screen& screen,
                     Widths& before) {
  std::vector<Line> lines(1, heading(kHeads));
  for (const observe::Observed& lock : locks) lines.push_back(line_of(lock));
  fit_charset(lines, screen);
  std::vector<Line> short_names = lines;
  cut_cells(short_names, kName, screen.width / 3, screen.charset);
  std::size_t others = 0;
  for (const std::size_t column : {kName, kState, kSince}) {
    others += widest(short_names, column) + kGap;
  }
  const std::size_t most = std::max(screen.width - std::min(screen.width, others), kLeastHolder);
  cut_cells(short_names, kHolder, most, screen.charset);
  cut_cells(lines, kHolder, most, screen.charset);
  Widths widths = fit(short_names, kLeftOut, screen.width);
  const std::size_t left_over = screen.width - std::min(screen.width, sum(widths));
  widths[kName] = std::min(widest(lines, kName), widths[kName] + left_over);
  cut_cells(lines, kName, widths[kName], screen.charset);
  Widths kept = widths;
  before.resize(widths.size());
  for (std::size_t column = 0; column < widths.size(); ++column) {
    if (widths[column] > 0) kept[column] = std::max(widths[column], before[column]);
  }
  Widths least = kept;
  least.back() = std::min(least.back(), kLeastCommand);
  before = sum(least) <= screen.width ? kept : widths;
  return lay_out(lines, before, screen);
}

/// Of one lock; none if it has no such value.
using Sample = std::optional<std::string>;

struct Gauge {
  std::string_view name;
  std::string_view help;
  Sample (*sample)(const observe::Observed& lock);
};

std::string timestamp(std::chrono::milliseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// Whether the lock is taken.
bool is_taken(const observe::Observed& lock) {
  const State state = lock.judgement.state;
  return state == State::held || state == State::revoked || state == State::foreign;
}

constexpr Gauge kGauges[] = {
    {"redlock_lock_held", "1 if the lock is held, 0 if it is cooling or left over.",
     [](const observe::Observed& lock) {
       if (lock.judgement.state == State::undecided) return Sample();
       return Sample(is_taken(lock) ? "1" : "0");
     }},
    {"redlock_lock_holders", "How many jobs hold the lock.",
     [](const observe::Observed& lock) {
       if (lock.judgement.state == State::undecided) return Sample();
       if (!is_taken(lock)) return Sample("0");
       if (!lock.shared) return Sample("1");
       return lock.reader_count > 0 ? Sample(std::to_string(lock.reader_count)) : Sample();
     }},
    {"redlock_lock_since_timestamp_seconds", "When the holder got the lock; of several, the first.",
     [](const observe::Observed& lock) {
       const auto since = held_since(lock);
       return is_taken(lock) && since.count() > 0 ? Sample(timestamp(since)) : Sample();
     }},
    {"redlock_lock_expiry_timestamp_seconds", "When the lock expires, unless it is renewed.",
     [](const observe::Observed& lock) {
       if (!lock.most_left || lock.judgement.state == State::free) return Sample();
       return Sample(timestamp(os::unix_now() + *lock.most_left));
     }},
    {"redlock_lock_overdue", "1 if the holder has missed a renewal, and may be dead.",
     [](const observe::Observed& lock) { return Sample(observe::overdue(lock) ? "1" : "0"); }},
    {"redlock_lock_waiters", "How many processes wait for the lock.",
     [](const observe::Observed& lock) {
       return lock.waiting ? Sample(std::to_string(lock.waiting->size())) : Sample();
     }},
};

std::string heading_of(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

/// In the text format of Prometheus, see run/metrics.h. `usable`: servers that answered everything.
std::string to_prometheus(const std::vector<observe::Observed>& locks, std::size_t usable,
                          std::size_t servers) {
  std::string text = heading_of("redlock_servers", "Configured servers.");
  text += fmt::format("redlock_servers {}\n", servers);
  text += heading_of("redlock_servers_usable", "Servers that answered everything.");
  text += fmt::format("redlock_servers_usable {}\n", usable);
  for (const Gauge& gauge : kGauges) {
    text += heading_of(gauge.name, gauge.help);
    std::set<std::string> labels;  // of odd names, several may look alike
    for (const observe::Observed& lock : locks) {
      const Sample sample = gauge.sample(lock);
      const std::string label = diag::label_value(lock.id.key);
      if (!sample || !labels.insert(label).second) continue;
      text += fmt::format("{}{{lock={}}} {}\n", gauge.name, label, *sample);
    }
  }
  return text;
}

Frame look(const cli::List& request, const diag::Screen& screen, Widths& columns) {
  const config::Settings& settings = request.settings;
  observe::Query query(settings);
  std::vector<observe::Observed> locks =
      query.look_until_settled(query.names("holder", request.pattern));
  // The holder's record outlives its lock a little, and so the name of a free lock may be here.
  std::erase_if(locks, [](const observe::Observed& lock) {
    return lock.judgement.state == State::free && observe::left_overs(lock).empty();
  });
  const std::size_t quorum = lock::quorum(settings.servers.size());
  const bool blind =
      query.reached() < quorum || !std::ranges::all_of(locks, &observe::Observed::knows_enough);
  Frame frame{.status = blind ? ExitStatus::unavailable : ExitStatus::ok};
  if (!settings.quiet || blind) frame.complaints = query.complaints();
  if (blind) {
    frame.complaints.push_back(
        fmt::format("the list may be incomplete: {} of {} could be asked about everything, and a "
                    "quorum is {}",
                    query.reached(), diag::counted(settings.servers.size(), "server"), quorum));
  }
  if (request.json) {
    frame.text = to_json(locks, settings, query.troubles(), frame.status);
  } else if (request.prometheus) {
    frame.text = to_prometheus(locks, query.reached(), settings.servers.size());
  } else if (!locks.empty()) {
    frame.text = as_table(locks, screen, columns);
  } else if (!blind && screen.terminal) {  // a program reads an empty output
    const std::string pattern = diag::printable(request.pattern, 255);
    frame.text = pattern.empty()
                     ? "no locks\n"
                     : diag::for_screen(fmt::format("no locks match \"{}\"\n", pattern), screen);
  }
  return frame;
}

std::vector<std::string> lock_names(config::Settings settings) {
  using namespace std::chrono_literals;
  settings.server_timeout = std::min<std::chrono::milliseconds>(settings.server_timeout, 500ms);
  // A user waits for the shell: names that come later are useless. Without output, the shell offers
  // nothing.
  ::alarm(2);
  try {
    observe::Query query(settings);
    return query.names("holder");
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

Exit carry_out(const cli::List& request) {
  std::vector<std::string> typed = {"redlock", "list"};
  if (!request.pattern.empty()) typed.push_back(request.pattern);
  Widths columns;
  return show(request, typed,
              [&](const diag::Screen& screen) { return look(request, screen, columns); });
}

Exit carry_out(const cli::Complete& request) {
  cli::Complete line = request;
  if (request.settings) {
    for (std::string& name : lock_names(*request.settings)) {
      // A shell shows a candidate as it is.
      if (!name.starts_with(request.word) || diag::printable(name) != name) continue;
      try {
        redis::check_lock_name(name);
        line.candidates.push_back({std::move(name), ""});
      } catch (const Error&) {
        continue;  // no command takes it
      }
    }
  }
  return driver::print(to_text(line), ExitStatus::ok);
}

}  // namespace redlock::look

// SPDX-License-Identifier: MIT
//
// `redlock list --prometheus`: the text format of Prometheus, see run/metrics.h.
#include <fmt/format.h>

#include <set>
#include <string>

#include "look/observed.h"
#include "os/clock.h"

namespace redlock::look {

namespace {

using lock::State;

/// Of one lock; none if it has no such value.
using Sample = std::optional<std::string>;

struct Gauge {
  std::string_view name;
  std::string_view help;
  Sample (*sample)(const Observed& lock);
};

std::string timestamp(std::chrono::milliseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

/// Whether the lock is taken.
bool is_taken(const Observed& lock) {
  const State state = lock.judgement.state;
  return state == State::held || state == State::revoked || state == State::foreign;
}

constexpr Gauge kGauges[] = {
    {"redlock_lock_held", "1 if the lock is held, 0 if it is cooling or left over.",
     [](const Observed& lock) {
       if (lock.judgement.state == State::undecided) return Sample();
       return Sample(is_taken(lock) ? "1" : "0");
     }},
    {"redlock_lock_holders", "How many jobs hold the lock.",
     [](const Observed& lock) {
       if (lock.judgement.state == State::undecided) return Sample();
       return Sample(std::to_string(!is_taken(lock) ? 0 : lock.shared ? lock.reader_count : 1));
     }},
    {"redlock_lock_since_timestamp_seconds", "When the holder of an exclusive lock got it.",
     [](const Observed& lock) {
       const bool known = lock.holder && lock.holder->since.count() > 0;
       if (!is_taken(lock) || lock.shared || !known) return Sample();
       return Sample(timestamp(lock.holder->since));
     }},
    {"redlock_lock_expiry_timestamp_seconds", "When the lock expires, unless it is renewed.",
     [](const Observed& lock) {
       if (!lock.most_left) return Sample();
       return Sample(timestamp(os::unix_now() + *lock.most_left));
     }},
    {"redlock_lock_overdue", "1 if the holder has missed a renewal, and may be dead.",
     [](const Observed& lock) { return Sample(overdue(lock) ? "1" : "0"); }},
    {"redlock_lock_waiters", "How many processes wait for the lock.",
     [](const Observed& lock) {
       return lock.waiting ? Sample(std::to_string(lock.waiting->size())) : Sample();
     }},
};

std::string heading_of(std::string_view name, std::string_view help) {
  return fmt::format("# HELP {0} {1}\n# TYPE {0} gauge\n", name, help);
}

}  // namespace

std::string to_prometheus(const std::vector<Observed>& locks, std::size_t usable,
                          std::size_t servers) {
  std::string text = heading_of("redlock_servers", "Configured servers.");
  text += fmt::format("redlock_servers {}\n", servers);
  text += heading_of("redlock_servers_usable", "Servers that answered everything.");
  text += fmt::format("redlock_servers_usable {}\n", usable);
  for (const Gauge& gauge : kGauges) {
    text += heading_of(gauge.name, gauge.help);
    std::set<std::string> labels;  // of odd names, several may look alike
    for (const Observed& lock : locks) {
      const Sample sample = gauge.sample(lock);
      const std::string label = diag::label_value(lock.id.key);
      if (!sample || !labels.insert(label).second) continue;
      text += fmt::format("{}{{lock={}}} {}\n", gauge.name, label, *sample);
    }
  }
  return text;
}

}  // namespace redlock::look

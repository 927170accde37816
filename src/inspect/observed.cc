// SPDX-License-Identifier: MIT
#include "inspect/observed.h"
#include "diag/blocker.h"
#include "diag/duration.h"
#include "diag/text.h"
#include "lock/revoking.h"
#include "lock/timing.h"
#include "lock/token.h"
#include "lock/value.h"
#include "records/holder.h"
#include "records/revocation.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace redlock::inspect {

namespace {

void note_times(Observed& lock, const lock::Sighting& sighting) {
  if (!sighting.ttl_left) return;
  lock.least_left = std::min(lock.least_left.value_or(*sighting.ttl_left), *sighting.ttl_left);
  lock.most_left = std::max(lock.most_left.value_or(*sighting.ttl_left), *sighting.ttl_left);
}

/// A reader that only a minority names is about to enter or to leave.
std::vector<lock::Reader> readers_of(const Observed& lock) {
  std::map<std::string_view, std::vector<const lock::Reader*>> named;
  for (const lock::ServerIndex server : lock.judgement.agreeing) {
    for (const lock::Reader& reader : std::get<lock::Sighting>(lock.seen[server]).readers) {
      named[reader.token].push_back(&reader);
    }
  }
  std::vector<lock::Reader> readers;
  for (const auto& [token, views] : named) {
    if (views.size() < lock::quorum(lock.seen.size())) continue;
    readers.push_back(*views.front());
    std::map<std::uint64_t, std::size_t> fences;
    for (const lock::Reader* view : views) ++fences[view->fence];
    const auto most =
        std::ranges::max_element(fences, {}, [](const auto& each) { return each.second; });
    readers.back().fence = most->second >= lock::quorum(lock.seen.size()) ? most->first : 0;
  }
  std::ranges::sort(readers, {}, [](const lock::Reader& reader) {
    return std::tuple(lock::slot_of(reader.token).slot, reader.fence, reader.token);
  });
  return readers;
}

/// If all servers name all readers, the readers are those that a quorum names. Otherwise a quorum
/// counts at least so many.
std::size_t count_readers(const Observed& lock) {
  std::vector<std::size_t> counts;
  bool all_named = true;
  for (const lock::ServerIndex server : lock.judgement.agreeing) {
    const auto& sighting = std::get<lock::Sighting>(lock.seen[server]);
    counts.push_back(sighting.reader_count);
    all_named = all_named && sighting.reader_count == sighting.readers.size();
  }
  const std::size_t quorum = lock::quorum(lock.seen.size());
  if (all_named || counts.size() < quorum) return lock.readers.size();
  std::ranges::sort(counts, std::greater());
  return std::max(lock.readers.size(), counts[quorum - 1]);
}

}  // namespace

lock::Refused as_refusal(const lock::Sighting& sighting) {
  return {.blocker = sighting.value, .ttl_left = sighting.ttl_left, .holder = sighting.holder};
}

Observed observe(driver::LockId id, std::vector<redis::Observation> observations) {
  Observed lock;
  lock.id = std::move(id);
  std::vector<std::optional<redis::Queue>> queues;
  for (redis::Observation& observation : observations) {
    lock.seen.push_back(std::move(observation.seen));
    queues.push_back(std::move(observation.queue));
    const auto& done = observation.done;
    // Some servers may have got a mark late: the latest run counts.
    if (done && (!lock.last_run || done->age < lock.last_run->age)) lock.last_run = done;
  }
  lock.judgement = lock::judge(lock.seen);
  for (const lock::ServerIndex server : lock.judgement.agreeing) {
    const auto& sighting = std::get<lock::Sighting>(lock.seen[server]);
    note_times(lock, sighting);
    if (!lock.sighting) lock.sighting = sighting;
    if (!lock.revocation && lock.judgement.state == lock::State::revoked) {
      lock.revocation = records::read_revocation(sighting.value);
    }
    if (lock.holder || lock.judgement.state == lock::State::foreign) continue;
    lock.holder = records::read_holder(sighting.holder);
    if (lock.holder) lock.sighting = sighting;
  }
  lock.shared = lock.sighting && lock::is_shared(lock::owner_of(*lock.sighting));
  if (lock.shared) lock.readers = readers_of(lock);
  if (lock.shared) lock.reader_count = count_readers(lock);
  if (lock.shared) lock.slots = lock::slot_of(lock::owner_of(*lock.sighting)).slots;
  lock.waiting = merge(queues, lock.holder);
  return lock;
}

std::size_t slot_in(const Observed& lock, const lock::Reader& reader) {
  const auto [slot, slots] = lock::slot_of(reader.token);
  return slots == lock.slots && slot <= slots ? slot : 0;
}

std::string slots_taken(const Observed& lock) {
  const auto taken = std::ranges::count_if(
      lock.readers, [&lock](const lock::Reader& reader) { return slot_in(lock, reader) != 0; });
  return fmt::format("{} of {} slots taken", taken, lock.slots);
}

std::string_view word_for(lock::State state) {
  switch (state) {
    case lock::State::free:
      return "free";
    case lock::State::held:
      return "held";
    case lock::State::cooling:
      return "cooling";
    case lock::State::revoked:
      return "revoked";
    case lock::State::foreign:
      return "foreign";
    case lock::State::undecided:
      break;
  }
  return "undecided";
}

diag::Tint tint_of(lock::State state) {
  switch (state) {
    case lock::State::held:
      return diag::Tint::good;
    case lock::State::undecided:
      return diag::Tint::bad;
    case lock::State::cooling:
    case lock::State::revoked:
    case lock::State::foreign:
      return diag::Tint::notice;
    case lock::State::free:
      break;
  }
  return diag::Tint::none;
}

std::vector<std::string> warnings_about(const Observed& lock) {
  std::vector<std::string> warnings;
  if (!lock.holder) return warnings;
  if (lock.holder->protocol != lock::kProtocol) {
    warnings.push_back(fmt::format(
        "the holder speaks version {} of the protocol, and this redlock version {}: run the same "
        "redlock everywhere",
        lock.holder->protocol, lock::kProtocol));
  }
  if (lock.holder->servers != lock.id.servers) {
    warnings.push_back(fmt::format(
        "the holder uses other servers than this host (fingerprint {}, here {}), so that jobs of "
        "both may run at once: compare redlock config on both hosts",
        lock.holder->servers.empty() ? "none" : diag::printable(lock.holder->servers, 32),
        lock.id.servers));
  }
  return warnings;
}

std::string describe_view(const Observed& lock, std::size_t server) {
  const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
  if (sighting == nullptr) {
    return "could not be asked: " + std::get<lock::Unreachable>(lock.seen[server]).why;
  }
  const lock::State state = lock::state_of(*sighting);
  if (state == lock::State::free) return "free";
  const bool agrees =
      std::ranges::find(lock.judgement.agreeing, server) != lock.judgement.agreeing.end();
  if (!agrees) return diag::describe(as_refusal(*sighting));
  const std::string_view word = state == lock::State::foreign ? "held" : word_for(state);
  if (!sighting->ttl_left) return fmt::format("{}, never expires", word);
  return fmt::format("{}, {} left", word, diag::for_people(*sighting->ttl_left));
}

}  // namespace redlock::inspect

// SPDX-License-Identifier: MIT
#include "observe/observed.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "lock/value.h"
#include "os/clock.h"
#include "os/loop.h"

namespace redlock::observe {

namespace {

/// A reader that only a minority names is about to enter or to leave.
std::vector<Reader> readers_of(const Observed& lock) {
  std::map<std::string_view, std::vector<const lock::Reader*>> named;
  for (const lock::ServerIndex server : lock.judgement.agreeing) {
    for (const lock::Reader& reader : std::get<lock::Sighting>(lock.seen[server]).readers) {
      named[reader.token].push_back(&reader);
    }
  }
  std::vector<Reader> readers;
  for (const auto& [token, views] : named) {
    if (views.size() < lock::quorum(lock.seen.size())) continue;
    Reader& reader =
        readers.emplace_back(Reader{*views.front(), records::read_holder(views.front()->holder)});
    std::map<std::uint64_t, std::size_t> fences;
    for (const lock::Reader* view : views) ++fences[view->fence];
    const auto most =
        std::ranges::max_element(fences, {}, [](const auto& each) { return each.second; });
    reader.fence = most->second >= lock::quorum(lock.seen.size()) ? most->first : 0;
  }
  std::ranges::sort(readers, {}, [](const Reader& reader) {
    return std::tuple(lock::slot_of(reader.token).slot, reader.fence, reader.token);
  });
  return readers;
}

/// If all servers name all readers, the readers are those that a quorum names. Otherwise, the least
/// number that a quorum counts.
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

constexpr std::chrono::seconds kWorthTelling{30};
/// Within this, a request that was on its way to a distant server has arrived.
constexpr std::chrono::milliseconds kSettled{500};

/// Whether the waiter has got the lock and is about to leave the queue. A waiter that came after
/// the acquisition waits for a lock that its own process holds: users should see it.
bool has_it(const Waiting& waiter, const records::Holder& holder) {
  return waiter.who && waiter.who->host == holder.host && waiter.who->pid == holder.pid &&
         waiter.waited >= diag::ago(holder.since).value_or(std::chrono::milliseconds::zero());
}

/// Each server counts for itself, and may have missed some.
void add(const redis::GivenUp& refusal, std::vector<Refusals>& all) {
  const auto who = records::read_refused(refusal.who);
  if (!who) return;
  auto known = std::ranges::find(all, refusal.host, &Refusals::host);
  if (known == all.end()) {
    all.push_back({refusal.host, *who, refusal.count, refusal.ago});
    return;
  }
  known->count = std::max(known->count, refusal.count);
  if (refusal.ago >= known->ago) return;
  known->ago = refusal.ago;
  known->who = *who;
}

/// `observations`: one for each configured server.
Observed observe(driver::LockId id, std::vector<Observation> observations) {
  Observed lock;
  lock.id = std::move(id);
  std::vector<std::optional<redis::Queue>> queues;
  for (Observation& observation : observations) {
    lock.seen.push_back(std::move(observation.seen));
    queues.push_back(std::move(observation.queue));
    const auto& done = observation.done;
    for (const redis::GivenUp& refusal : observation.refusals) add(refusal, lock.refusals);
    // Some servers may have got a mark late: the latest run counts.
    if (done && (!lock.last_run || done->age < lock.last_run->age)) lock.last_run = done;
    const auto& built = observation.built;
    if (built && (!lock.built || built->build > lock.built->build)) lock.built = built;
  }
  std::ranges::stable_sort(lock.refusals, {}, &Refusals::ago);
  lock.judgement = lock::judge(lock.seen);
  for (const lock::ServerIndex server : lock.judgement.agreeing) {
    const auto& sighting = std::get<lock::Sighting>(lock.seen[server]);
    if (const auto left = sighting.ttl_left) {
      lock.least_left = std::min(lock.least_left.value_or(*left), *left);
      lock.most_left = std::max(lock.most_left.value_or(*left), *left);
      lock.lease_left =
          std::max(lock.lease_left.value_or(sighting.lease_left), sighting.lease_left);
    }
    if (!lock.sighting) lock.sighting = sighting;
    if (!lock.revocation && lock.judgement.state == lock::State::revoked) {
      lock.revocation = records::read_revocation(sighting.value);
    }
    if (lock.holder || lock.judgement.state == lock::State::foreign) continue;
    lock.holder = records::read_holder(sighting.holder);
    if (lock.holder) lock.sighting = sighting;
  }
  lock.shared = lock.sighting && lock::is_shared(lock::owner_of(*lock.sighting));
  if (lock.shared) {
    lock.readers = readers_of(lock);
    lock.reader_count = count_readers(lock);
    lock.slots = lock::slot_of(lock::owner_of(*lock.sighting)).slots;
  }
  lock.waiting = merge_queues(queues, lock.holder);
  return lock;
}

}  // namespace

std::optional<WaitingQueue> merge_queues(const std::vector<std::optional<redis::Queue>>& queues,
                                         const std::optional<records::Holder>& holder) {
  if (std::ranges::none_of(queues, [](const auto& queue) { return queue.has_value(); })) return {};
  WaitingQueue merged;
  std::map<std::string, Waiting> waiters;
  for (const auto& queue : queues) {
    if (!queue) continue;
    merged.others = std::max(merged.others, queue->length - queue->first.size());
    for (const redis::Waiter& seen : queue->first) {
      Waiting& waiter = waiters[seen.id];
      waiter.waited = std::max(waiter.waited, seen.waited);
      if (!waiter.who) waiter.who = records::read_holder(seen.who);
    }
  }
  for (auto& [id, waiter] : waiters) {
    if (!holder || !has_it(waiter, *holder)) merged.known.push_back(std::move(waiter));
  }
  std::ranges::stable_sort(merged.known, std::greater<>(), &Waiting::waited);
  return merged;
}

std::string too_few(std::size_t asked, std::size_t servers) {
  return fmt::format("{} of {} could be asked, and a quorum is {}", asked,
                     diag::counted(servers, "server"), lock::quorum(servers));
}

std::string release_command(const std::string& lock_name, const config::Settings& settings) {
  return diag::command_about(lock_name, {"redlock", "release", "--force"}, settings.where);
}

std::string redisson_owner(const lock::Sighting& sighting) {
  return diag::printable(sighting.owner, 80);
}

lock::Refused as_refusal(const lock::Sighting& sighting) {
  return {.blocker = sighting.owner.empty() ? sighting.value : lock::stand_in_for("redisson"),
          .ttl_left = sighting.ttl_left,
          .holder = sighting.holder};
}

Query::Query(const config::Settings& settings)
    : settings_(settings), interview_(settings), refusals_(settings.servers.size()) {
  for (std::size_t server = 0; server < interview_.servers(); ++server) {
    observers_.emplace_back(interview_.questions(), server);
  }
}

std::vector<std::string> Query::names(std::string_view helper, const std::string& pattern) {
  for (Observer& observer : observers_) observer.scan(helper, os::boot_now());
  interview_.finish();
  std::set<std::string> names;
  for (const Observer& observer : observers_) {
    for (const std::string& key : observer.found()) {
      const std::string& prefix = settings_.prefix;
      if (key.size() <= prefix.size() || !key.starts_with(prefix)) continue;
      std::string name = key.substr(prefix.size());
      const bool matches = pattern.empty() || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
      if (matches) names.insert(std::move(name));
    }
  }
  return {names.begin(), names.end()};
}

std::vector<Observed> Query::look_until_settled(const std::vector<std::string>& names,
                                                Marks marks) {
  std::vector<Observed> all = look(names, marks);
  std::vector<std::string> unsettled;
  std::vector<Observed*> places;  // a name may stand in the list twice
  for (Observed& lock : all) {
    if (left_overs(lock).empty()) continue;
    unsettled.push_back(lock.id.name);
    places.push_back(&lock);
  }
  if (unsettled.empty()) return all;
  os::Loop().wait({}, os::boot_now() + kSettled);
  std::vector<Observed> again = Query(settings_).look(unsettled, marks);
  for (std::size_t i = 0; i < places.size(); ++i) *places[i] = std::move(again[i]);
  return all;
}

std::vector<Observed> Query::look(const std::vector<std::string>& names, Marks marks,
                                  const std::string& reader) {
  std::vector<driver::LockId> ids;
  std::vector<std::string> keys;
  for (const std::string& name : names) {
    ids.push_back(driver::lock_id(settings_, name));
    keys.push_back(ids.back().key);
  }
  for (Observer& observer : observers_) observer.look(keys, marks, reader, os::boot_now());
  interview_.finish();
  std::vector<Observed> all;
  all.reserve(names.size());
  for (std::size_t index = 0; index < names.size(); ++index) {
    std::vector<Observation> observations;
    for (std::size_t server = 0; server < observers_.size(); ++server) {
      observations.push_back(observers_[server].take(index));
      const auto* none = std::get_if<lock::Unreachable>(&observations.back().seen);
      if (none != nullptr && !refusals_[server]) refusals_[server] = none->why;
    }
    all.push_back(observe(std::move(ids[index]), std::move(observations)));
  }
  return all;
}

Troubles Query::troubles() const {
  Troubles troubles = refusals_;
  for (std::size_t server = 0; server < observers_.size(); ++server) {
    if (const auto& why = observers_[server].cut()) troubles[server] = why;
    if (const auto why = observers_[server].trouble()) troubles[server] = why;
  }
  return troubles;
}

std::vector<std::string> Query::complaints() const {
  std::vector<std::string> lines;
  const Troubles why = troubles();
  for (std::size_t server = 0; server < observers_.size(); ++server) {
    if (!why[server]) continue;
    const std::string display = settings_.servers[server].brief();
    const bool cut = observers_[server].cut() && !observers_[server].trouble();
    lines.push_back(cut ? fmt::format("warning: {} {}", display, *why[server])
                        : fmt::format("{} could not be asked: {}", display, *why[server]));
  }
  return lines;
}

std::size_t Query::reached() const {
  return lock::how_many(troubles(), [](const auto& trouble) { return !trouble; });
}

Observed look_at(const std::string& name, const config::Settings& settings,
                 const std::string& reader) {
  return Query(settings).look({name}, Marks::ignored, reader).front();
}

std::size_t slot_in(const Observed& lock, const Reader& reader) {
  const auto [slot, slots] = lock::slot_of(reader.token);
  return slots == lock.slots && slot <= slots ? slot : 0;
}

std::string slots_taken(const Observed& lock) {
  const auto taken = std::ranges::count_if(
      lock.readers, [&lock](const Reader& reader) { return slot_in(lock, reader) != 0; });
  // Without a reader, their list may not be read: the lock is held.
  const bool all_named = lock.reader_count > 0 && lock.reader_count == lock.readers.size();
  if (all_named) return fmt::format("{} of {} slots taken", taken, lock.slots);
  return fmt::format("at least {} of {} slots taken", std::max<std::ptrdiff_t>(taken, 1),
                     lock.slots);
}

std::optional<diag::Overdue> overdue(const Observed& lock) {
  if (lock.judgement.state != lock::State::held || lock.shared || !lock.holder) return std::nullopt;
  return diag::overdue(*lock.holder, lock.lease_left);
}

Appearance appearance_of(lock::State state) {
  using diag::Tint;
  constexpr Appearance kInOrder[] = {// of lock::State
                                     {"free", Tint::none},      {"held", Tint::good},
                                     {"cooling", Tint::notice}, {"revoked", Tint::notice},
                                     {"foreign", Tint::notice}, {"undecided", Tint::bad}};
  static_assert(std::size(kInOrder) == static_cast<std::size_t>(lock::State::undecided) + 1);
  return kInOrder[static_cast<std::size_t>(state)];
}

std::vector<std::size_t> left_overs(const Observed& lock) {
  std::vector<std::size_t> servers;
  const std::vector<lock::ServerIndex>& agreeing = lock.judgement.agreeing;
  if (agreeing.empty()) return servers;
  for (std::size_t server = 0; server < lock.seen.size(); ++server) {
    const auto* sighting = std::get_if<lock::Sighting>(&lock.seen[server]);
    if (sighting == nullptr || lock::state_of(*sighting) == lock::State::free) continue;
    if (std::ranges::find(agreeing, server) != agreeing.end()) continue;
    if (!sighting->ttl_left || *sighting->ttl_left > kWorthTelling) servers.push_back(server);
  }
  return servers;
}

std::vector<std::string> may_keep(const std::vector<lock::Complaint>& silent,
                                  std::optional<std::chrono::milliseconds> left,
                                  const std::string& lock_name, const config::Settings& settings) {
  std::vector<std::string> lines;
  if (left && *left <= kWorthTelling) return lines;
  for (const lock::Complaint& each : silent) {
    const auto* none = std::get_if<lock::Unreachable>(&each.answer);
    if (none == nullptr) continue;
    lines.push_back(fmt::format(
        "warning: {} may keep {} {}, since it has not confirmed the release ({}); while "
        "the lock is free, {} removes it",
        settings.servers[each.server].brief(), diag::lock_name(lock_name),
        left ? "for another " + diag::for_people(*left) : std::string("indefinitely"),
        none->why.empty() ? "no answer" : none->why, release_command(lock_name, settings)));
  }
  return lines;
}

std::vector<std::string> warnings_about(const Observed& lock, const config::Settings& settings) {
  std::vector<std::string> warnings;
  for (const std::size_t server : left_overs(lock)) {
    const auto& left = std::get<lock::Sighting>(lock.seen[server]).ttl_left;
    warnings.push_back(fmt::format(
        "{} keeps a key that is left over{}, and no process has the lock by it: {}{} removes it",
        settings.servers[server].brief(),
        left ? ", for another " + diag::for_people(*left) : std::string(),
        lock.judgement.state == lock::State::free ? "" : "once the lock is free, ",
        release_command(lock.id.name, settings)));
  }
  if (lock.sighting) {
    const bool redisson = settings.as == config::As::redisson;
    const bool theirs =
        !lock.sighting->owner.empty() || lock::is_of_redisson(lock::owner_of(*lock.sighting));
    const bool odd = redisson ? !theirs : !lock.sighting->owner.empty();
    if (odd && lock.judgement.state != lock::State::free) {
      warnings.push_back(
          fmt::format("the key is {} of Redisson's, and this redlock runs with{} "
                      "--as redisson: one name is for one kind of lock",
                      theirs ? "a lock" : "no lock", theirs ? "out" : ""));
    }
  }
  if (!lock.holder) return warnings;
  if (lock.holder->protocol != lock::kProtocol) {
    warnings.push_back(fmt::format(
        "the holder speaks version {} of the protocol, and this redlock version {}: run the same "
        "redlock everywhere",
        lock.holder->protocol, lock::kProtocol));
  }
  const diag::ServerList ours = driver::server_list(settings);
  if (ours.relation(lock.holder->list) == diag::Relation::apart) {
    warnings.push_back(
        fmt::format("the holder uses other servers than this host ({}), so that jobs of both may "
                    "run at the same time: compare redlock config on both hosts",
                    ours.names(lock.holder->list)));
  }
  return warnings;
}

}  // namespace redlock::observe

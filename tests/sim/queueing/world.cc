// SPDX-License-Identifier: MIT
#include "queueing/world.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "story.h"

namespace redlock::sim::queueing {

using namespace std::chrono_literals;

namespace {

/// Servers have been up for a while.
constexpr Time kStart = 1'700'000'000s;
constexpr Time kUpFor = 10'000s;

constexpr Time kSlow = 400ms;
constexpr Time kLook = 5ms;  // how often the world looks whether the lock has expired

constexpr Time kLookForProgress = 50ms;
constexpr Time kTroubleFor = 3s;   // as long as a process may take to notice it
constexpr Time kWorthAWord = 30s;  // what a server keeps for longer is said

/// Until then a process is new, and its requests are the cost of its coming.
constexpr Time kNew = 2s;

}  // namespace

World::World(const Settings& settings)
    : settings_(settings),
      lock_settings_{0, settings.ttl / 1ms},
      random_(settings.seed),
      network_(timeline_, random_, *this) {
  network_.reset(settings.ttl, 0);
  for (std::uint8_t i = 0; i < settings.servers; ++i) {
    Server& server = hosts_.emplace_back(i, network_).server();
    server.reset(i, Clock(0, kStart), (kStart - kUpFor) / 1ms, lock_name(0), lock_settings_,
                 interpreter_);
    // The lock was used before, so the servers agree on the next number.
    server.set_fence(41, true);
    server.set_wake([this, i](Waiter waiter, lock::Duration in) {
      const auto process = std::ranges::find(waiting_, waiter, &Process::waiter);
      return process != waiting_.end() && (*process)->publish(i, (*process)->run(), in);
    });
  }
}

Process& World::start(const ProcessPlan& plan) {
  const auto number = static_cast<std::uint32_t>(processes_.size());
  Process& process = *processes_.emplace_back(std::make_unique<Process>(*this, plan, number));
  lists_.insert(process.list());
  count_waiting();
  waiting_.push_back(&process);
  process.start();
  watch();
  watch_progress();
  return process;
}

void World::start_at(Time when, const ProcessPlan& plan) {
  ++coming_;
  timeline_.at(when, [this, plan] {
    --coming_;
    start(plan);
  });
}

void World::run_until_all_served(Time end) {
  const auto unserved = [this] {
    return !running_.empty() || coming_ > 0 ||
           std::ranges::any_of(waiting_, [](const Process* each) { return !each->frozen(); });
  };
  while (now() < end && unserved()) timeline_.run_until(std::min(end, now() + 100ms));
}

std::vector<Process*> World::queue() {
  std::vector<Process*> queue;
  for (const Server::Queued& entry : hosts_.front().server().queue(now())) {
    for (Process* each : waiting_) {
      if (each->waiter() == entry.waiter && can_be_served(*each)) queue.push_back(each);
    }
  }
  return queue;
}

bool World::can_be_served(const Process& process) const {
  return process.waits() && now() >= process.notes.hindered_until;
}

Process* World::owner_of(Token token) {
  const std::size_t number = client_of(token) << 10U | session_of(token);
  return number < processes_.size() ? processes_[number].get() : nullptr;
}

/// It holds it for nobody, except for waiters that take each other's votes; of slots, not all.
bool World::is_free_on(const Host& host) {
  const auto is_held = [this](Token owner) {
    const Process* process = owner_of(owner);
    return process == nullptr || !process->waits() || process->frozen();
  };
  const Token owner = host.owner();
  if (owner == kNoToken || slots_of(owner) == 0) return owner == kNoToken || !is_held(owner);
  const auto held = std::ranges::count_if(host.holders(), is_held);
  return held == 0 || (!running_.empty() && static_cast<std::size_t>(held) < slots_of(owner));
}

bool World::is_free(const ServerList& list) {
  const auto free = std::ranges::count_if(hosts_, [&](const Host& host) {
    return list.contains(host.index()) && host.working() && is_free_on(host);
  });
  return static_cast<std::size_t>(free) >= list.quorum();
}

/// For somebody who waits.
bool World::is_free() {
  return std::ranges::any_of(lists_, [&](const ServerList& list) {
    const auto waits = [&](const Process* each) {
      return each->list() == list && can_be_served(*each);
    };
    return is_free(list) && (lists_.size() == 1 || std::ranges::any_of(waiting_, waits));
  });
}

/// Nobody has it, or others have slots and the first one in the queue wants one, too.
bool World::has_room() {
  if (running_.empty()) return true;
  const std::size_t slots = running_.front()->plan().mode.slots;
  if (running_.size() >= slots) return false;
  const std::vector<Process*> queue = this->queue();
  return !queue.empty() && queue.front()->plan().mode.slots == slots;
}

void World::look_whether_free() {
  const bool free = has_room() && is_free();
  if (free && !free_since_) free_since_ = now();
  if (!free) free_since_.reset();
}

/// While somebody waits: keys expire without a word.
void World::watch() {
  if (watching_) return;
  watching_ = true;
  timeline_.after(kLook, [this] {
    watching_ = false;
    look_whether_free();
    const bool one = running_.empty() || running_.front()->plan().mode.slots > running_.size();
    if (one && !waiting_.empty()) watch();
  });
}

/// So that it would win if nobody stood before it: the lock is free there, or shared with its kind.
bool World::can_enter(const Process& process, const Host& host) {
  const Time grace = process.plan().restart_grace_s * 1s;
  const bool trusts = grace == 0s || now() > host.trouble() + grace + 1s;
  if (!host.working() || !process.reaches(host.index()) || !trusts) return false;
  if (is_free_on(host)) return true;
  if (running_.empty() || !same_kind(running_.front()->token(), process.waiter())) return false;
  return process.plan().mode.reads && is_reader(host.owner()) && !is_revoked(host.owner());
}

/// Whether someone who waits could have the lock now: the first in the queue, of those that can win
/// at all. (One that reaches a quorum of servers, but not a quorum that would let it in now, keeps
/// those after it waiting if a job is what it waits for.)
bool World::somebody_could_win() {
  std::vector<const Process*> able;
  for (const Process* each : waiting_) {
    if (can_be_served(*each)) able.push_back(each);
  }
  const auto place = [](const Process* each) { return each->notes.queued_at.value_or(kForever); };
  std::ranges::stable_sort(able, {}, place);
  for (const Process* each : able) {
    const std::size_t quorum = each->list().quorum();
    std::size_t enters = 0;
    std::size_t blocked = 0;
    for (const Host& host : hosts_) {
      const bool enters_here = can_enter(*each, host);
      enters += enters_here ? 1 : 0;
      const bool job = std::ranges::any_of(running_, [&](const Process* runs) {
        return plain(host.owner()) == runs->token() || is_listed(runs->token());
      });
      blocked += !enters_here && job && host.working() && each->reaches(host.index()) ? 1 : 0;
    }
    if (enters >= quorum) return true;
    if (enters + blocked >= quorum) return false;
  }
  return false;
}

/// Somebody has the lock within a few seconds, whoever else waits.
void World::watch_progress() {
  if (watching_progress_) return;
  watching_progress_ = true;
  timeline_.after(kLookForProgress, [this] {
    watching_progress_ = false;
    if (somebody_could_win()) {
      if (!stuck_since_) stuck_since_ = now();
      numbers_.longest_stuck = std::max(numbers_.longest_stuck, now() - *stuck_since_);
    } else {
      stuck_since_.reset();
    }
    if (!waiting_.empty()) watch_progress();
  });
}

void World::serve(ConnectionId id, const Request& request) {
  Host& host = hosts_[network_.at(id).server];
  network_.respond(id, host.server().execute(request, now()));
  const std::size_t place =
      request.waiter == kNoWaiter ? 0 : host.server().place(request.waiter, now());
  const auto asker = std::ranges::find(waiting_, request.waiter, &Process::waiter);
  bool idle = false;
  if (place != 0 && asker != waiting_.end()) {
    Process& process = **asker;
    process.notes.in_queue |= 1U << host.index();
    const auto servers = static_cast<std::size_t>(std::popcount(process.notes.in_queue));
    if (servers >= process.list().quorum() && !process.notes.queued_at) {
      process.notes.queued_at = now();
    }
    idle = place > 2 && now() - process.began() > kNew;
  }
  const std::size_t scripts = request.op == lock::Op::leave && !request.joins_queue ? 2 : 1;
  (idle ? numbers_.idle_evals : numbers_.evals) += scripts;
  host.evals += scripts;
  look_whether_free();
}

void World::job_started(Process& process) {
  count_waiting();
  ++numbers_.jobs;
  const auto excludes = [&](const Process* each) {
    return !may_be_together(each->token(), process.token());
  };
  if (std::ranges::any_of(running_, excludes)) ++numbers_.two_at_once;
  note_hand_over(process);
  note_inversions(process);
  if (!process.plan().loops) {
    numbers_.longest_wait = std::max(numbers_.longest_wait, now() - process.began());
  }
  running_.push_back(&process);
  free_since_.reset();
  stuck_since_.reset();
  std::erase(waiting_, &process);
  look_whether_free();
}

Time World::can_win_since(const Process& process) {
  return std::max(process.began(), process.notes.hindered_until - kComesBack);
}

/// How long the lock was free while somebody waited that could have been served.
void World::note_hand_over(const Process& process) {
  if (!free_since_) return;
  Time began = can_win_since(process);
  for (const Process* each : waiting_) {
    if (can_be_served(*each) && !each->plan().tries_once) {
      began = std::min(began, can_win_since(*each));
    }
  }
  const Time stall = now() - std::max(*free_since_, began);
  numbers_.longest_stall = std::max(numbers_.longest_stall, stall);
  if (stall > kSlow) ++numbers_.slow;
}

/// A process asked only when the other one was in the queue already, and is served first.
void World::note_inversions(const Process& process) {
  for (Process* each : waiting_) {
    if (each == &process || !each->notes.queued_at || !can_be_served(*each)) continue;
    if (each->plan().mode.reads && process.plan().mode.reads) continue;  // they enter together
    if (now() > *each->notes.queued_at) ++each->notes.overtaken;
    if (*each->notes.queued_at < process.began()) ++numbers_.inversions;
  }
  numbers_.most_overtaken = std::max<std::size_t>(numbers_.most_overtaken, process.notes.overtaken);
}

void World::job_ended(Process& process) {
  if (std::erase(running_, &process) == 0) return;
  look_whether_free();
  watch();
}

/// A quorum of servers holds its lock, and has answered it for a ttl.
void World::job_stopped(Process& process) {
  const auto holds = std::ranges::count_if(hosts_, [&](Host& host) {
    return host.working() && host.trouble() + settings_.ttl <= now() &&
           process.reaches(host.index()) && host.server().lasts(process.token(), now());
  });
  if (static_cast<std::size_t>(holds) >= process.list().quorum()) ++numbers_.needless_losses;
}

/// 1 is for a lock that another has, 69 for servers that do not answer.
void World::judge_end(const Process& process) {
  const auto answered = static_cast<std::size_t>(std::ranges::count_if(hosts_, [&](Host& host) {
    return host.working() && host.trouble() + kTroubleFor <= now() && process.reaches(host.index());
  }));
  const bool quorum = answered >= process.list().quorum();
  const bool troubled =
      std::ranges::any_of(hosts_, [&](Host& host) { return host.trouble() + kTroubleFor > now(); });
  const auto end = process.outcome();
  if (end == lock::Outcome::Kind::unavailable && quorum) ++numbers_.lies;
  if (end == lock::Outcome::Kind::conflict && !quorum && !troubled) ++numbers_.lies;
}

void World::ended(Process& process) {
  count_waiting();
  judge_end(process);
  std::erase(waiting_, &process);
  if (loops_ && process.plan().loops && process.state() == Process::State::served) {
    start_at(now(), process.plan());
  }
}

/// What outlives the processes.
void World::count_left() {
  numbers_.unsaid = numbers_.for_ever = 0;
  for (Host& host : hosts_) {
    for (const Keyspace::Key& key : host.server().keyspace().keys()) {
      if (key.type != Keyspace::Type::none && key.expires_ms == 0) ++numbers_.for_ever;
    }
    const Token owner = host.owner();
    std::vector<Token> owners = host.holders();
    if (!is_listed(owner) && owner != kNoToken && !is_cooling(owner)) owners.push_back(owner);
    for (const Token each : owners) {
      const Process* process = owner_of(each);
      if (process == nullptr || process->alive() || process->state() == Process::State::killed)
        continue;
      const Time left = host.server().left(each, now()) * 1ms;
      if (left > kWorthAWord && process->keeps_until(host.index()) + 1s < now() + left) {
        ++numbers_.unsaid;
      }
    }
  }
}

void World::count_waiting() {
  numbers_.waited += (now() - counted_until_) * static_cast<std::int64_t>(waiting_.size());
  counted_until_ = now();
}

void World::measure_afresh() {
  count_waiting();
  numbers_ = {};
  for (Host& host : hosts_) host.evals = 0;
}

const Numbers& World::numbers() {
  count_waiting();
  count_left();
  numbers_.never_served = numbers_.left_behind = 0;
  for (const auto& each : processes_) {
    numbers_.most_asked = std::max(numbers_.most_asked, each->most_asked());
  }
  for (const Process* each : waiting_) {
    if (!each->frozen() && !each->plan().loops) ++numbers_.never_served;
  }
  for (Host& host : hosts_) {
    for (const Server::Queued& entry : host.server().queue(now())) {
      if (entry.counts_until <= host.server().now_ms(now())) continue;
      const auto is_it = [&](const auto& each) { return each->waiter() == entry.waiter; };
      const auto process = std::ranges::find_if(processes_, is_it);
      if (process != processes_.end() && !(*process)->alive()) ++numbers_.left_behind;
    }
  }
  return numbers_;
}

}  // namespace redlock::sim::queueing

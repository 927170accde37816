// SPDX-License-Identifier: MIT
//
// A run with several locks (`--also`): a host with one redlock for each lock. The job of each
// redlock is the next one, and the job of the last one is the command.
#include <algorithm>
#include <csignal>

#include "client.h"
#include "lock/stages.h"

namespace redlock::sim {

using namespace std::chrono_literals;

Client* Client::next_stage() const {
  const auto next = scene_->schedule->next_stage(index_);
  return next ? &(*scene_->clients)[*next] : nullptr;
}

Client& Client::first_stage() const {
  return (*scene_->clients)[scene_->schedule->first_stage(index_)];
}

bool Client::has_stages() const {
  return host().before || next_stage() != nullptr;
}

/// As run/stage.h: all stages together wait as long as the user said, and only the last one knows
/// the longest runtime.
void Client::plan_stage(lock::Plan& plan) {
  const lock::Instant local = clock_.now(now());
  Client& first = first_stage();
  began_ = local;
  if (&first == this) {
    if (!scene_->calm && plan.patience.wait != lock::Duration::zero() && random().percent(40)) {
      plan.patience.wait = random().between(20ms, scene_->schedule->timing.ttl * 2);
    }
    wait_ = plan.patience.wait;
    limit_ = lock::limit_of_waits(wait_, local);
  }
  plan.patience.wait = lock::wait_of_stage(first.wait_, first.limit_, local);
  if (next_stage() != nullptr) plan.max_runtime.reset();
}

/// A process that the suspended host starts when it goes on.
bool Client::host_is_frozen() const {
  for (std::size_t i = index_; scene_->schedule->client[i].before;) {
    i = *scene_->schedule->client[i].before;
    if ((*scene_->clients)[i].frozen_) return true;
  }
  return false;
}

void Client::start_next(Client& next) {
  next.starting_ = true;
  next.start_at(now() + random().between(100us, 40ms));
}

/// The command of a run begins only while the run has all its locks.
void Client::check_stages() {
  for (std::size_t i = index_; scene_->schedule->client[i].before;) {
    i = *scene_->schedule->client[i].before;
    const ClientHost& earlier = scene_->schedule->client[i];
    if (scene_->checks[earlier.lock].has_job(i)) continue;
    checks().fail("partial",
                  client_name(index_) + "'s job starts without lock " + lock_name(earlier.lock));
  }
}

/// It has waited as long as the user said, and for the last answers. A stage that begins when that
/// time is over waits for 1 ms.
void Client::check_patience() {
  const Schedule& schedule = *scene_->schedule;
  const Client& first = first_stage();
  if (!has_stages() || first.limit_ == lock::kNever) return;
  if (schedule.clients_stop || (job_.leader && schedule.troubled)) return;
  const lock::Instant limit = std::max(first.limit_, began_ + 1ms);
  if (clock_.now(now()) <= limit + schedule.server_timeout + 5ms) return;
  checks().fail("overslept", client_name(index_) + " waits for longer than its run may");
}

/// A redlock passes TERM on to its job; a redlock that waits for its lock gives up.
void Client::pass_on_term() {
  if ((!has_stages() && !scene_->schedule->jobs_leave) || !job_.leader) return;
  if (Client* const next = next_stage()) return next->signal();
  job_.told = true;
  Random& chance = has_stages() ? random() : *scene_->ends;
  if (!chance.percent(50)) return;
  const lock::Duration grace = scene_->schedule->timing.grace;
  end_job_at(now() + chance.between(100us, grace + 10ms));
}

/// The redlock of this stage has ended: the job of the stage before.
void Client::end_stage(int status) {
  Client& before = (*scene_->clients)[*host().before];
  if (!before.job_.leader) return;
  before.job_.status = status;
  before.end_job_at(now());
}

/// The signal comes to the process of a later stage before it has done anything.
void Client::end_before_start(int signal) {
  if (!host().before) return;
  starting_ = false;
  end_stage(128 + signal);
}

/// KILL reaches the whole tree.
void Client::kill_next() {
  if (Client* const next = next_stage()) next->kill();
}

/// No process of a later stage outlives the job of an earlier one.
void Client::check_tree() {
  const Client* const next = next_stage();
  if (next == nullptr || (!next->session_ && !next->starting_ && !next->job_.tree)) return;
  checks().fail("orphan", client_name(index_) + "'s job is over, but " + client_name(next->index_) +
                              " or its job lives");
}

}  // namespace redlock::sim

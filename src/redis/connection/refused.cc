// SPDX-License-Identifier: MIT
//
// What becomes of a request that a server has refused: it goes to the same server once more, in
// this form or another one, or to the node that has the key now.
#include "redis/connection/link.h"

namespace redlock::redis {

/// Puts aside a request that is to be sent again: one that the node refuses for the moment, after
/// an eighth of its time, if that is not over by then; one that has another form, immediately.
/// After any error, a script by its hash has another form.
Pipeline::Refusal Link::refusal_in(const Value& reply, bool has_form, lock::Instant now) {
  using Refusal = Pipeline::Refusal;
  if (endpoint_.kind == Endpoint::Kind::cluster && is_redirection(reply) &&
      pipeline_.awaits_answer()) {
    return Refusal::redirected;
  }
  const bool unknown = has_form && reply.type == Value::Type::error && !turns_away(reply);
  if (!unknown && !is_momentary(reply)) return Refusal::none;
  // The pipeline drops it: nothing was carried out, and the other form is not needed.
  const bool by_form = unknown && (is_about_hash(reply) || is_about_keys(reply));
  if (by_form && pipeline_.is_withdrawn()) return Refusal::in_this_form;
  const lock::Instant again = unknown ? lock::Instant::min() : now + timeouts_.request / 8;
  if (!pipeline_.may_repeat(again)) return Refusal::none;
  if (!pipeline_.has_refused()) redirection_.clear();  // of a request that was given up
  repeat_at_ = pipeline_.has_refused() ? std::max(repeat_at_, again) : again;
  return unknown ? Refusal::in_this_form : Refusal::for_the_moment;
}

/// Whoever gets the refused requests may not know their scripts. `undeclared`: without more_keys.
void Link::send_refused_in_full(bool undeclared) {
  for (Pipeline::Pending& pending : pipeline_.refused()) {
    pending.flight.by_hash = false;
    pending.flight.undeclared = pending.flight.undeclared || undeclared;
    pending.wire = rendered(pending.flight);
  }
}

/// Once all requests sent before are answered: does what the redirection says, or, without one,
/// repeats what the node refused for the moment. Errands go one after the other.
void Link::follow(lock::Instant now) {
  if (errand_ || !pipeline_.drained()) return;
  if (redirection_.empty()) {
    if (now < repeat_at_) return;
    pipeline_.expire(now, timeouts_.request);
    pipeline_.repeat_refused();
    flush(now);
  } else if (is_for_one_request(redirection_)) {
    run_errand(now);
  } else {
    move(now);
  }
}

/// While a Cluster moves a slot, some of its keys are on the other node already: only there the
/// refused requests can be carried out, each command after an ASKING. All others belong here, and
/// wait until it is done.
void Link::run_errand(lock::Instant now) {
  const std::optional<Endpoint> node = locator_.named_by(std::exchange(redirection_, {}));
  if (!node) return disconnect(locator_.at_place(not_redis(Fate::never_sent)));
  errand_ = std::make_unique<Link>(*node, tls_, timeouts_, "");
  for (Pipeline::Pending& pending : pipeline_.take_refused()) {
    if (pending.reported == Pipeline::Reported::answered) continue;
    pending.flight.asking = true;
    errand_->ask(pending.ask, std::move(pending.flight), now);
  }
}

std::vector<Link::Arrival> Link::turn_errand(lock::Instant now) {
  std::vector<Arrival> arrivals = errand_->turn(now);
  for (Arrival& arrival : arrivals) {
    // The slot has moved on, or back. The request was carried out nowhere.
    const Value* const reply = std::get_if<Value>(&arrival.content);
    if (reply != nullptr && is_redirection(*reply)) arrival.content = slot_is_moving();
  }
  if (errand_->requests().all_reported()) errand_.reset();
  return arrivals;
}

/// Another node has the key now: goes there, with all requests that this one has refused.
void Link::move(lock::Instant now) {
  hang_up();
  pipeline_.restore_refused();
  pipeline_.set_deadlines(lock::kNever);  // until become_ready()
  locator_.redirect(std::exchange(redirection_, {}), now);
  approach(now);
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "lock/attempt.h"

#include <map>

#include "lock/value.h"

namespace redlock::lock {

namespace {

/// Every eighth round asks all servers: what they hold may have changed.
constexpr unsigned kProbes = 8;

constexpr std::string_view kSilent = " silent";
constexpr std::string_view kDistrusted = " distrusted";

bool is_value(std::string_view answer) {
  return !answer.empty() && answer != kSilent && answer != kDistrusted;
}

/// The holder that a refusal's value stands for. A revoked or cooling lock still belongs to its
/// holder, and all shared readers count as one holder; so do those with slots of the same number.
std::string_view holder_of(std::string_view value) {
  const std::string_view token = read_value(value).token;
  if (!is_shared(token)) return token;
  // Readers, and those of each number of slots, exclude one another.
  return slot_of(token).slots == 0 ? "shared" : token.substr(sizeof "shared:pNN" - 1, 2);
}

/// Whose value stands in the way on that server, or what else. Empty: nothing, or only a turn.
std::string answer_of(const Attempt::Vote& vote) {
  using State = Attempt::VoteState;
  if (vote.state == State::granted) {
    return std::string(vote.grant.distrusted_for > std::chrono::seconds::zero() ? kDistrusted : "");
  }
  if (vote.state == State::refused) {
    // Another slot may be free there.
    if (vote.refusal.turn || !vote.refusal.slots.empty()) return {};
    return std::string(holder_of(vote.refusal.blocker));
  }
  return std::string(vote.state == State::done ? "" : kSilent);
}

/// What the servers say of one slot.
struct SlotView {
  std::size_t free = 0;                               ///< how many servers would grant it
  std::map<std::string_view, std::size_t> holders{};  ///< how many servers name each
};

void add(std::string_view text, std::vector<SlotView>& reports) {
  for (SlotView& report : reports) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view holder = text.substr(0, end);
    if (holder.empty()) {
      ++report.free;
    } else {
      ++report.holders[holder];
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

std::vector<Ask> Attempt::begin_round(std::uint32_t round, Ticket ticket, const Timing& timing,
                                      const std::vector<bool>& to_ask) {
  std::vector<Ask> asks;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    Vote& vote = votes_[server];
    vote.reported = vote.state != VoteState::asked;
    if (vote.state != VoteState::absent && vote.state != VoteState::refused) continue;
    if (!to_ask.at(server)) continue;
    vote.state = VoteState::asked;
    vote.reported = false;
    asks.push_back(
        {.server = server,
         .attempt = id_,
         .round = round,
         .operation = op::Acquire{
             .life = timing.life(), .once = timing.once, .ticket = ticket, .slot = slot_}});
  }
  return asks;
}

void Attempt::record(const Reply& reply, const Timing& timing) {
  Vote& vote = votes_.at(reply.ask.server);
  vote.reported = true;
  vote.permanent = false;
  if (const auto* grant = std::get_if<Granted>(&reply.answer)) {
    vote.state = VoteState::granted;
    vote.grant = *grant;
    vote.expires = vote_expiry(reply.sent, timing);
  } else if (const auto* refusal = std::get_if<Refused>(&reply.answer)) {
    vote.state = VoteState::refused;
    vote.refusal = *refusal;
  } else if (std::holds_alternative<Done>(reply.answer) ||
             std::holds_alternative<Superseded>(reply.answer)) {
    vote.state = VoteState::done;
  } else if (const auto* unreachable = std::get_if<Unreachable>(&reply.answer)) {
    vote.state = unreachable->maybe_applied ? VoteState::uncertain : VoteState::absent;
    vote.permanent = unreachable->permanent;
  }
}

Verdict Attempt::verdict(Instant now, const Timing& timing) const {
  const std::size_t needed = quorum(votes_.size());
  std::size_t granted = 0;
  std::size_t pending = 0;
  std::size_t answered = 0;
  std::size_t same_blocker = 0;
  std::map<std::string_view, std::size_t> blockers;
  for (const Vote& vote : votes_) {
    const bool refused = vote.state == VoteState::refused;
    granted += counts(vote, now) ? 1 : 0;
    pending += vote.reported ? 0 : 1;
    answered += refused || vote.state == VoteState::granted ? 1 : 0;
    if (refused && !vote.refusal.turn) {
      same_blocker = std::max(same_blocker, ++blockers[holder_of(vote.refusal.blocker)]);
    }
  }

  if (same_server()) return Verdict::same_server;
  // One server that knows of a successful run is enough, even if a quorum has forgotten it. So we
  // wait for all servers; DoneMarks then copies the mark to the servers that lack it.
  if (pending > 0 && (done() || (granted >= needed && timing.once > Duration::zero()))) {
    return Verdict::pending;
  }
  if (done()) return Verdict::done;
  if (join_refused()) return Verdict::split;
  if (granted >= needed) {
    if (valid_until() - now < timing.needed_to_start()) return Verdict::split;
    if (trustworthy(now)) return Verdict::won;
    return pending > 0 ? Verdict::pending : Verdict::distrusted;
  }
  if (same_blocker >= needed) return Verdict::conflict;
  // Wait for missing answers if they can still change the outcome, or the name for it.
  if (pending > 0 && (granted + pending >= needed || same_blocker + pending >= needed ||
                      (answered < needed && answered + pending >= needed))) {
    return Verdict::pending;
  }
  return answered >= needed ? Verdict::split : Verdict::unavailable;
}

/// The previous holder may have had a list with one server more or less. Its quorum shares a server
/// with each quorum of ours, so a quorum must have been running since then. A new installation has
/// nothing to remember: every server answers, grants, and knows of no earlier life. One of two may
/// have forgotten a holder that had the other vote from a third server.
bool Attempt::trustworthy(Instant now) const {
  if (is_join(id_)) return true;  // the lock exists, so the servers have forgotten nothing
  std::size_t trusted = 0;
  std::size_t maybe_new = 0;
  for (const Vote& vote : votes_) {
    if (!counts(vote, now)) continue;
    trusted += vote.grant.distrusted_for == std::chrono::seconds::zero() ? 1 : 0;
    maybe_new += vote.grant.may_be_new ? 1 : 0;
  }
  const std::size_t servers = votes_.size();
  return trusted >= quorum(servers) || (servers != 2 && maybe_new == servers);
}

std::optional<std::pair<ServerIndex, ServerIndex>> Attempt::same_server() const {
  std::map<std::string_view, ServerIndex> seen;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    const Vote& vote = votes_[server];
    if (vote.state != VoteState::granted || vote.grant.run_id.empty()) continue;
    const auto [first, added] = seen.emplace(vote.grant.run_id, server);
    if (!added) return std::pair(first->second, server);
  }
  return std::nullopt;
}

Instant Attempt::valid_until() const {
  return quorum_expiry(votes_, [](const Vote& vote) {
    return vote.state == VoteState::granted ? vote.expires : Instant{};
  });
}

std::vector<ServerIndex> Attempt::entered() const {
  std::vector<ServerIndex> servers;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    const VoteState state = votes_[server].state;
    if (state == VoteState::absent || state == VoteState::refused) continue;
    if (state != VoteState::done) servers.push_back(server);
  }
  return servers;
}

std::optional<Duration> Attempt::turns_left() const {
  std::optional<Duration> left;
  for (const Vote& vote : votes_) {
    if (vote.state != VoteState::refused) continue;
    if (!vote.refusal.turn) return std::nullopt;
    const Duration length = vote.refusal.ttl_left.value_or(std::chrono::milliseconds::zero());
    left = std::max(left.value_or(length), length);
  }
  return left;
}

const Refused* Attempt::main_refusal() const {
  std::map<std::string_view, std::size_t> named;
  const Refused* main = nullptr;
  std::size_t most = 0;
  for (const Vote& vote : votes_) {
    if (vote.state != VoteState::refused || vote.refusal.turn) continue;
    const std::size_t count = ++named[holder_of(vote.refusal.blocker)];
    if (count > most) {
      most = count;
      main = &vote.refusal;
    }
  }
  if (main == nullptr) return main;
  // A server may have missed the holder's revocation, or its renewals: then the longest time to
  // live counts.
  const std::string_view holder = holder_of(main->blocker);
  for (const Vote& vote : votes_) {
    const Refused& other = vote.refusal;
    const bool names_another = other.turn || holder_of(other.blocker) != holder;
    if (vote.state != VoteState::refused || names_another) continue;
    if (read_value(other.blocker).kind == Value::Kind::revoked) return &other;
    const bool longer = main->ttl_left && (!other.ttl_left || *other.ttl_left > *main->ttl_left);
    if (other.blocker == main->blocker && longer) main = &other;
  }
  return main;
}

/// Where we are not in the queue yet, all waiters stand before us.
std::size_t Attempt::waiters_before() const {
  std::vector<std::size_t> before(votes_.size());
  std::ranges::transform(votes_, before.begin(), [](const Vote& vote) {
    const Refused& refusal = vote.refusal;
    if (vote.state != VoteState::refused) return std::size_t{0};
    return refusal.place > 0 ? refusal.place - 1 : refusal.waiters;
  });
  std::ranges::sort(before, std::greater());
  return before[quorum(before.size()) - 1];
}

std::vector<std::pair<ServerIndex, Refused>> Attempt::revocable() const {
  const Refused* const main = main_refusal();
  const Value value = read_value(main == nullptr ? std::string_view() : main->blocker);
  if (main == nullptr || value.kind != Value::Kind::token) return {};
  // A server that has not answered yet may have the same token; of readers, each has its own.
  const bool shared = is_shared(value.token);
  bool known = shared;
  std::vector<std::pair<ServerIndex, Refused>> refusals;
  for (ServerIndex server = 0; server < votes_.size(); ++server) {
    const Vote& vote = votes_[server];
    const bool same = vote.state == VoteState::refused && !vote.refusal.turn &&
                      holder_of(vote.refusal.blocker) == holder_of(main->blocker);
    known = known || (same && !vote.refusal.holder.empty());
    if (same || !shared) refusals.emplace_back(server, same ? vote.refusal : *main);
  }
  if (!known) refusals.clear();
  return refusals;
}

void Obstacles::note_round(const Attempt& ended, bool unavailable) {
  bool free_somewhere = false;  // in two rounds running
  for (ServerIndex server = 0; server < answers_.size(); ++server) {
    std::string answer = answer_of(ended.votes()[server]);
    stand_[server] = !answer.empty() && (unavailable || answer == answers_[server]);
    free_somewhere = free_somewhere || (answer.empty() && answers_[server].empty());
    answers_[server] = std::move(answer);
  }
  spare_holder(free_somewhere ? blocking_minority(answers_.size()) : 1);
  judge();
}

/// The value that most servers hold, `at_least` that many, may be the holder's: those servers are
/// free after its release. If other servers are free already, it must keep us from a quorum to be
/// that: a holder whose list has one server less may have no more of ours.
void Obstacles::spare_holder(std::size_t at_least) {
  std::map<std::string_view, std::size_t> values;
  std::string_view holder;
  for (ServerIndex server = 0; server < answers_.size(); ++server) {
    if (!stand_[server] || !is_value(answers_[server])) continue;
    if (++values[answers_[server]] > values[holder]) holder = answers_[server];
  }
  if (values[holder] < at_least) return;
  for (ServerIndex server = 0; server < answers_.size(); ++server) {
    if (answers_[server] == holder) stand_[server] = false;
  }
}

void Obstacles::note_probe(const Attempt& attempt) {
  for (ServerIndex server = 0; server < answers_.size(); ++server) {
    const Attempt::Vote& vote = attempt.votes()[server];
    if (!contains(server) || !vote.reported) continue;
    std::string answer = answer_of(vote);
    stand_[server] = answer == answers_[server];
    answers_[server] = std::move(answer);
  }
  judge();
}

std::vector<bool> Obstacles::to_ask() {
  if (prevail_ && ++probes_ % kProbes == 0) prevail_ = false;
  return prevail_ ? stand_ : std::vector<bool>(stand_.size(), true);
}

SlotChoice::Next SlotChoice::choose(const Attempt& ended) {
  if (slots_ == 0) return Next::as_judged;
  std::vector<SlotView> reports(slots_);
  const std::size_t needed = quorum(ended.votes().size());
  std::size_t told = 0;
  std::size_t not_ours = 0;  // refused, and not for a slot: the lock is held in another way
  bool turn = false;
  for (const Attempt::Vote& vote : ended.votes()) {
    if (vote.state == Attempt::VoteState::granted) ++reports[slot_ - 1].free;
    if (vote.state != Attempt::VoteState::refused) continue;
    if (vote.refusal.slots.empty()) {
      not_ours += vote.refusal.turn ? 0 : 1;
      continue;
    }
    add(vote.refusal.slots, reports);
    turn = turn || vote.refusal.turn;
    ++told;
  }
  if (told == 0 || not_ours >= needed) return Next::as_judged;

  const bool all_held = std::ranges::all_of(reports, [needed](const SlotView& report) {
    return std::ranges::any_of(report.holders,
                               [needed](const auto& each) { return each.second >= needed; });
  });
  const std::size_t before = slot_;
  std::size_t most = 0;
  for (std::size_t step = 1; step <= slots_; ++step) {  // from the next one round to our own
    const std::size_t slot = (before - 1 + step) % slots_ + 1;
    if (reports[slot - 1].free <= most) continue;
    most = reports[slot - 1].free;
    slot_ = slot;
  }
  if (all_held || turn) {
    moves_ = 0;
    return Next::as_judged;
  }
  // Others may take each free slot just before us: then the pause of a split follows.
  if (slot_ != before && most >= needed && ++moves_ < slots_) return Next::elsewhere;
  moves_ = 0;
  return Next::split;
}

}  // namespace redlock::lock

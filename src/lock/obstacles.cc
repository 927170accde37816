// SPDX-License-Identifier: MIT
#include "lock/obstacles.h"

#include <map>
#include <string_view>

namespace redlock::lock {

namespace {

/// Every eighth round asks all servers: what they hold may have changed.
constexpr unsigned kProbes = 8;

constexpr std::string_view kSilent = " silent";
constexpr std::string_view kDistrusted = " distrusted";

bool is_value(std::string_view answer) {
  return !answer.empty() && answer != kSilent && answer != kDistrusted;
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

}  // namespace

void Obstacles::note_round(const Attempt& ended, bool unavailable) {
  bool free_somewhere = false;  // in two rounds running
  for (ServerIndex server = 0; server < answers_.size(); ++server) {
    std::string answer = answer_of(ended.votes()[server]);
    stand_[server] = !answer.empty() && (unavailable || answer == answers_[server]);
    free_somewhere = free_somewhere || (answer.empty() && answers_[server].empty());
    answers_[server] = std::move(answer);
  }
  spare_holder(free_somewhere ? quorum(answers_.size()) : 1);
  judge();
}

/// The value that most servers hold, `at_least` that many, may be the holder's: those servers are
/// free after its release. If other servers are free already, it must have a quorum to be that.
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

}  // namespace redlock::lock

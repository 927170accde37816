// SPDX-License-Identifier: MIT
#include "lock/replacement.h"

#include "lock/value.h"

namespace redlock::lock {

void Replacement::begin(const Attempt& attempt, Effects& effects) {
  if (!wanted_) return;
  const Refused* const main = attempt.main_refusal();
  const bool revoked = main != nullptr && read_value(main->blocker).kind == Value::Kind::revoked;
  Replace order{attempt.revocable()};
  wanted_ = !revoked && order.refusals.empty();
  if (!order.refusals.empty()) effects.emplace_back(std::move(order));
}

void Replacement::record(const Reply& reply, AttemptId attempt, Effects& effects) {
  const auto* revoked = std::get_if<Revoked>(&reply.answer);
  if (revoked == nullptr) return;
  ++revocations_;
  revokes_ = revokes_ || !revoked->before;
  if (revocations_ < blocking_minority(servers_) || !revokes_) return;
  if (std::exchange(logged_, true)) return;
  std::vector<std::string> others = revoked->readers;
  if (others.empty()) {
    others.emplace_back(read_value(std::get<op::Revoke>(reply.ask.operation).value).token);
  }
  for (std::string& other : others) {
    effects.emplace_back(
        Log{.event = Log::Event::revoked, .attempt = attempt, .other = std::move(other)});
  }
}

}  // namespace redlock::lock

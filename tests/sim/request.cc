// SPDX-License-Identifier: MIT
#include "request.h"

namespace redlock::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

redis::LockContext lock_context(const std::string& lock_key, Waiter waiter,
                                const LockSettings& settings) {
  return {.lock_key = lock_key,
          .ttl = milliseconds(settings.ttl_ms),
          .restart_grace = seconds(settings.restart_grace_s),
          .waiter = waiter == kNoWaiter ? "" : waiter_text(waiter),
          .holder_json = "{" + (waiter == kNoWaiter ? "" : waiter_text(waiter)) + "}",
          .hold_json = R"({"maintenance":1})"};
}

redis::Flight encode(const lock::Ask& ask, const redis::LockContext& context,
                     const AttemptTokens& tokens) {
  if (ask.op() == lock::Op::leave_queue) return redis::encode_request(ask.operation, context, {});
  const redis::Secrets secrets{.token = token_text(tokens.lock(ask.attempt)),
                               .hold = token_text(tokens.own(ask.attempt))};
  return redis::encode_request(ask.operation, context, secrets);
}

Request describe(const lock::Ask& ask, const redis::LockContext& context,
                 const AttemptTokens& tokens) {
  Request request{.op = ask.op(), .restart_grace = context.restart_grace};
  const bool leaves = ask.op() == lock::Op::leave_queue;
  request.joins_queue = ask.attempt == lock::kNoAttempt && ask.op() == lock::Op::acquire;
  const auto* renew = ask.as<lock::op::Renew>();
  request.cuts = renew != nullptr && renew->cuts;
  const auto* acquire = ask.as<lock::op::Acquire>();
  const bool queues = acquire != nullptr && acquire->ticket != 0;
  if (leaves || queues || request.joins_queue) request.waiter = waiter_of(context.waiter);
  if (ask.attempt == lock::kNoAttempt) return request;
  request.token = tokens.lock(ask.attempt);
  request.hold = tokens.own(ask.attempt);
  return request;
}

Request encode_owners_release(Token token, const redis::LockContext& context) {
  const std::string text = token_text(token);
  return {.op = lock::Op::leave,
          .token = token,
          .hold = token,
          .commands = redis::encode_request(lock::op::Leave{}, context,
                                            {.token = text, .hold = text, .adopted = true})
                          .commands};
}

bool is_released(const lock::Answer& answer) {
  const auto* released = std::get_if<lock::Released>(&answer);
  return released != nullptr && !released->cooling && !released->kept;
}

}  // namespace redlock::sim

// SPDX-License-Identifier: MIT
#include "request.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

namespace redlock::sim {

namespace {

using Word = Response::Word;

std::string value_text(Token value) {
  if (value == kNoToken) return {};  // nothing to join
  return value == kForeignType ? std::string("type:list") : token_text(value);
}

/// The server's run_id, as text that fits into a string without an allocation.
std::string run_id_text(std::uint32_t run_id) {
  return run_id == 0 ? std::string() : "run" + std::to_string(run_id);
}

lock::Granted read_granted(const Response& response, const LockSettings& settings,
                           Mutation mutation) {
  lock::Granted granted{.run_id = run_id_text(response.run_id),
                        .fence = response.fence,
                        .clock = std::chrono::milliseconds(response.clock)};
  if (response.run_id == 0) return granted;
  const std::int64_t grace = settings.restart_grace_s;
  if (grace > 0 && mutation != Mutation::uptime_untold) {
    granted.distrusted_for =
        std::chrono::seconds(std::max<std::int64_t>(grace + 1 - response.uptime, 0));
  }
  granted.may_be_new = response.trace == Trace::none ||
                       (response.trace == Trace::present && response.uptime < 2 * grace);
  return granted;
}

lock::Refused read_refused(const Response& response) {
  const bool turn = response.turn != kNoWaiter;
  lock::Refused refused{.blocker = turn ? waiter_text(response.turn) : value_text(response.value),
                        .ttl_left = std::nullopt,
                        .holder = {},
                        .clock = std::chrono::milliseconds(response.clock),
                        .turn = turn,
                        .ticket = response.ticket,
                        .place = response.place,
                        .waiters = response.waiters};
  if (response.pttl != -1) refused.ttl_left = std::chrono::milliseconds(response.pttl);
  for (std::size_t i = 0; i < response.slots; ++i) {
    if (i > 0) refused.slots += ',';
    refused.slots += slot_holder_text(response.taken[i]);
  }
  return refused;
}

}  // namespace

std::string waiter_text(Waiter waiter) {
  char mode[8] = "";
  if (is_reader(waiter)) std::snprintf(mode, sizeof mode, "s");
  if (slots_of(waiter) != 0) {
    std::snprintf(mode, sizeof mode, "p00%02x", static_cast<unsigned>(slots_of(waiter)));
  }
  char text[16];
  std::snprintf(text, sizeof text, "%s%08x", mode, static_cast<unsigned>(waiter & 0xffffffffU));
  return text;
}

bool waits_for_replicas(lock::Op op, Mutation mutation) {
  if (op == lock::Op::renew) return mutation != Mutation::renewals_unwaited;
  return op == lock::Op::acquire || op == lock::Op::repair || op == lock::Op::commit;
}

Response without_replicas(const Response& response, Mutation mutation) {
  const bool counts = response.word == Word::granted || response.word == Word::renewed ||
                      response.word == Word::committed;
  if (!counts || mutation == Mutation::unreplicated_counts) return response;
  return {.word = Word::too_few};
}

lock::Answer read_answer(const Response& response, const LockSettings& settings,
                         Mutation mutation) {
  switch (response.word) {
    case Word::granted:
      return read_granted(response, settings, mutation);
    case Word::refused:
      return read_refused(response);
    case Word::fresh:
      return lock::Unreachable{.maybe_applied = false, .why = "fresh"};
    case Word::committed:
      return lock::Committed{};
    case Word::not_committed:
      return lock::NotCommitted{response.fence};
    case Word::renewed:
      return lock::Renewed{};
    case Word::released:
      return lock::Released{};
    case Word::cooling:
      return lock::Released{.cooling = true};
    case Word::kept:
      return lock::Released{.kept = true};
    case Word::missing:
      return lock::Missing{};
    case Word::done:
      return lock::Done{
          std::chrono::milliseconds(response.age), std::chrono::milliseconds(response.pttl), {}};
    case Word::marked:
      return lock::Marked{};
    case Word::too_few:
      return lock::Unreachable{.maybe_applied = mutation != Mutation::unreplicated_is_unsent,
                               .why = "replicas"};
    case Word::no_holds:
      return lock::Unreachable{.maybe_applied = true, .why = "no list of holds"};
    case Word::joined:  // is no answer to an Ask
    case Word::not_mine:
      break;
  }
  return lock::NotMine{value_text(response.value), response.revoked};
}

}  // namespace redlock::sim

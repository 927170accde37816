// SPDX-License-Identifier: MIT
#include "diag/blocker.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "diag/duration.h"
#include "diag/person.h"
#include "diag/text.h"
#include "lock/token.h"
#include "lock/value.h"
#include "records/holder.h"

namespace redlock::diag {

namespace {

/// `root@web1 (pid 4711, ./backup.sh, "every hour")`, or, as no process stands behind a maintenance
/// hold, `ops@bastion ("schema migration")`.
std::string run_of(const records::Holder& holder) {
  std::string more;
  const auto add = [&more](const std::string& text) { more += (more.empty() ? "" : ", ") + text; };
  if (!holder.maintenance) {
    add(fmt::format("pid {}", holder.pid));
    const std::string command = printable(holder.command, records::kMostCommandBytes);
    if (!command.empty()) add(command);
  }
  if (!holder.message.empty()) add('"' + message_of(holder) + '"');
  return person(holder.user, holder.host) + (more.empty() ? "" : " (" + more + ")");
}

/// Whether one server says that a slot is free: see lock/slot_choice.h.
bool has_free_slot(std::string_view slots) {
  return slots.starts_with(',') || slots.ends_with(',') || slots.find(",,") != slots.npos;
}

bool for_maintenance(const std::optional<records::Holder>& holder) {
  return holder && holder->maintenance;
}

}  // namespace

std::string message_of(const records::Holder& holder) {
  return printable(holder.message, records::kMostMessageBytes);
}

std::string work_of(const records::Holder& holder) {
  std::string work =
      holder.maintenance ? "maintenance" : printable(holder.command, records::kMostCommandBytes);
  if (!holder.message.empty()) work += (work.empty() ? "(" : " (") + message_of(holder) + ")";
  return work;
}

std::string name_blocker(const lock::Refused& refusal, std::size_t our_slots) {
  using Kind = lock::Value::Kind;
  const lock::Value value = lock::read_value(refusal.blocker);
  const Kind kind = value.kind;
  const bool cooling = kind == Kind::cooling;
  const bool revoked = kind == Kind::revoked;
  const bool shared = lock::is_shared(value.token);
  const auto [slot, slots] = lock::slot_of(value.token);
  const auto by = records::read_revocation(refusal.blocker);
  const auto holder = records::read_holder(refusal.holder);
  std::string verb = cooling                   ? "cooling down after "
                     : by                      ? "revoked by " + describe(*by) + " from "
                     : revoked                 ? "revoked from "
                     : for_maintenance(holder) ? "held for maintenance by "
                     : shared                  ? "held shared by "
                                               : "held by ";
  if (slots > 0 && !revoked) {
    // Our slot was free: see acquire_slot.lua.
    const bool behind = shared && slots == our_slots && refusal.slots.empty();
    verb = behind ? fmt::format(
                        "kept for an earlier waiter, which needs all {} slots to be free; one of "
                        "them is held by ",
                        slots)
           : shared ? fmt::format("held with {} slots by ", slots)
           : has_free_slot(refusal.slots)
               ? fmt::format("slot {} of {} held by ", slot, slots)
               : fmt::format("held in all {} slots, one of them by ", slots);
  }
  if (holder) return verb + run_of(*holder);
  if (const auto type = lock::type_of(refusal.blocker)) {
    return verb + fmt::format("another program (its key is a Redis {}, not a lock of redlock's)",
                              printable(*type, 20));
  }
  return verb + (cooling   ? "a run (which says nothing about itself)"
                 : revoked ? "its holder (who says nothing about itself)"
                           : "another program (its key says nothing about itself)");
}

std::string describe(const lock::Refused& refusal, std::size_t our_slots) {
  using Kind = lock::Value::Kind;
  const lock::Value value = lock::read_value(refusal.blocker);
  const bool cooling = value.kind == Kind::cooling;
  const bool revoked = value.kind == Kind::revoked;
  std::string who = name_blocker(refusal, our_slots);
  const auto holder = records::read_holder(refusal.holder);
  const bool maintenance = for_maintenance(holder);
  if (holder && !maintenance) {
    if (revoked && holder->unattended && !lock::is_shared(value.token)) {
      who += "; redlock stops no process";
    } else if (revoked) {
      who += ", whose job is being stopped";
    } else if (const auto length = ago(holder->since)) {
      who += (cooling ? ", begun " : " for ") + for_people(*length);
      who += cooling ? " ago" : "";
    }
  }
  if (!refusal.ttl_left) {
    who += "; it never expires by itself";
  } else {
    who += cooling       ? "; free in "
           : revoked     ? "; free at the latest in "
           : maintenance ? "; the hold ends in "
                         : "; unless renewed it expires in ";
    who += for_people(*refusal.ttl_left);
  }
  return who;
}

std::string describe(const lock::Done& done) {
  const auto holder = records::read_holder(done.who);
  return fmt::format("done by {}, begun {} ago", holder ? run_of(*holder) : std::string("somebody"),
                     for_people(done.age));
}

std::string describe(const records::Revocation& revocation) {
  return fmt::format("{} (pid {})", person(revocation.user, revocation.host), revocation.pid);
}

std::optional<std::string> revoked_by(const std::vector<lock::Complaint>& complaints,
                                      std::string_view notice) {
  std::optional<std::string> by;
  const bool gone = std::ranges::any_of(complaints, [](const lock::Complaint& complaint) {
    return std::holds_alternative<lock::Missing>(complaint.answer) ||
           std::holds_alternative<lock::NotMine>(complaint.answer);
  });
  const auto noticed = records::revocation_in_notice(notice);
  if (gone && noticed) by = " by " + describe(*noticed);
  for (const lock::Complaint& complaint : complaints) {
    const auto* not_mine = std::get_if<lock::NotMine>(&complaint.answer);
    if (not_mine == nullptr) continue;
    if (const auto revocation = records::read_revocation(not_mine->blocker)) {
      return " by " + describe(*revocation);
    }
    const bool revoked = lock::read_value(not_mine->blocker).kind == lock::Value::Kind::revoked;
    if (revoked && !by) by = "";
  }
  return by;
}

}  // namespace redlock::diag

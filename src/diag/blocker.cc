// SPDX-License-Identifier: MIT
#include "diag/blocker.h"

#include <fmt/format.h>

#include <variant>

#include "diag/text.h"

namespace redlock::diag {

namespace {

using Kind = lock::Value::Kind;
using std::chrono::milliseconds;

/// `root@web1 (pid 4711, ./backup.sh, "every hour")`; a maintenance hold has no process:
/// `ops@bastion ("schema migration")`.
std::string run_of(const records::Holder& holder) {
  std::string more;
  const auto add = [&more](const std::string& text) { more += (more.empty() ? "" : ", ") + text; };
  if (!holder.maintenance) {
    add(fmt::format("pid {}", holder.pid));
    if (!holder.command.empty()) add(command_of(holder));
  }
  if (!holder.message.empty()) add('"' + message_of(holder) + '"');
  return person(holder) + (more.empty() ? "" : " (" + more + ")");
}

/// Whether one server says that a slot is free: see SlotChoice in lock/attempt.h.
bool has_free_slot(std::string_view slots) {
  return slots.starts_with(',') || slots.ends_with(',') || slots.find(",,") != slots.npos;
}

/// "kept for root@web1 (pid 4711, ./backup.sh), which "
std::string kept_for(const std::string& waiter) {
  const auto who = records::read_holder(waiter);
  return "kept for " + (who ? run_of(*who) : "an earlier waiter") + ", which ";
}

/// What a run says of the process that revoked its lock.
std::string taken_by(const records::Holder& who) {
  return (who.replaces ? ": replaced by " : " was revoked by ") + process(who);
}

/// How the lock is held, in more words than Blocker::verb.
std::string verb_of(const Blocker& blocker, const lock::Refused& refusal) {
  const bool shared = blocker.shared;
  const auto [slot, slots] = lock::slot_of(lock::read_value(refusal.blocker).token);
  if (slots > 0 && blocker.kind != Kind::revoked) {
    return refusal.waits_before
               ? kept_for(*refusal.waits_before) +
                     fmt::format("needs all {} slots to be free; one of them is held by ", slots)
           : shared ? fmt::format("held with {} slots by ", slots)
           : has_free_slot(refusal.slots)
               ? fmt::format("slot {} of {} held by ", slot, slots)
               : fmt::format("held in all {} slots, one of them by ", slots);
  }
  if (const auto by = records::read_revocation(refusal.blocker)) {
    return "revoked by " + process(*by) + " from ";
  }
  const bool readers = shared && blocker.kind == Kind::token && !blocker.maintenance;
  if (!readers) return std::string(blocker.verb);
  if (!refusal.waits_before) return "held shared by ";
  return kept_for(*refusal.waits_before) + "needs it exclusively; it is held shared by ";
}

}  // namespace

std::string person(const records::Holder& who) {
  constexpr std::size_t kMost = 64;  // bytes of each
  return printable(who.user, kMost) + '@' + printable(who.host, kMost);
}

std::string process(const records::Holder& who) {
  return fmt::format("{} (pid {}{})", person(who), who.pid, who.replaces ? ", --replace" : "");
}

std::string command_of(const records::Holder& holder) {
  return printable(holder.command, records::kMostCommandBytes + 3);  // with the dots of a cut one
}

std::string message_of(const records::Holder& holder) {
  return printable(holder.message, records::kMostMessageBytes);
}

std::string work_of(const records::Holder& holder) {
  std::string work = holder.maintenance ? "maintenance" : command_of(holder);
  if (!holder.message.empty()) work += (work.empty() ? "(" : " (") + message_of(holder) + ")";
  return work;
}

std::optional<milliseconds> renewed_ago(const records::Holder& holder,
                                        std::optional<milliseconds> left) {
  const bool renewed = !holder.maintenance && !holder.unattended;
  if (!renewed || !left || *left > holder.ttl) return std::nullopt;
  return holder.ttl - *left;
}

std::optional<Overdue> overdue(const records::Holder& holder, std::optional<milliseconds> left) {
  const auto ago = renewed_ago(holder, left);
  if (!ago || *ago <= holder.ttl / 2) return std::nullopt;
  return Overdue{*ago, holder.ttl / 3};
}

std::string describe(const Overdue& overdue) {
  return fmt::format("last renewed {} ago (every {}): the holder may be dead",
                     for_people(overdue.renewed_ago), for_people(overdue.period));
}

Blocker::Blocker(const lock::Refused& refusal)
    : kind(lock::read_value(refusal.blocker).kind),
      holder(records::read_holder(refusal.holder)),
      maintenance(holder && holder->maintenance),
      shared(lock::is_shared(lock::read_value(refusal.blocker).token)) {
  switch (kind) {
    case Kind::cooling:
      verb = "cooling down after ";
      nobody = "a run";
      says_why = " (which says nothing about itself)";
      return;
    case Kind::revoked:
      verb = "revoked from ";
      nobody = "its holder";
      says_why = " (who says nothing about itself)";
      if (maintenance) return;
      job = holder && (holder->unattended || holder->unwarned) && !shared
                ? "; redlock stops no process"
                : ", whose job is being stopped";
      return;
    case Kind::token: {
      const std::string_view text = refusal.blocker;
      const bool run = lock::is_token(text.substr(shared ? sizeof "shared:" - 1 : 0));
      if (holder && !shared) late = overdue(*holder, refusal.ttl_left);
      verb = maintenance ? "held for maintenance by "
             : !refusal.slots.empty() && !has_free_slot(refusal.slots)
                 ? "held in all slots, one by "
                 : "held by ";
      nobody = run ? "another run" : "another program";
      says_why =
          run ? " (which says nothing about itself)" : " (its key says nothing about itself)";
    }
  }
}

std::string name_blocker(const lock::Refused& refusal) {
  const Blocker blocker(refusal);
  const std::string verb = verb_of(blocker, refusal);
  if (blocker.holder) return verb + run_of(*blocker.holder);
  const auto type = lock::type_of(refusal.blocker);
  if (!type) return fmt::format("{}{}{}", verb, blocker.nobody, blocker.says_why);
  if (*type == "crowd") {  // see slots.lua
    return verb +
           "more jobs than can be counted: somebody has added entries to the list of its readers, "
           "so all slots count as taken";
  }
  if (*type == "redisson") return verb + "a process that uses Redisson (its key says nothing more)";
  if (*type == "redisson mode") {
    return verb +
           "a read-write lock of Redisson's, which does not respect other locks: use another name";
  }
  if (*type == "plain string") {
    return verb + "a redlock without --as redisson, or another program (its key is a string)";
  }
  return verb + fmt::format("another program (its key is a Redis {}, not a lock of redlock's{})",
                            printable(*type, 20),
                            *type == "hash" ? "; for one of Redisson's, use --as redisson" : "");
}

std::string describe(const lock::Refused& refusal) {
  const Blocker blocker(refusal);
  const bool cooling = blocker.kind == Kind::cooling;
  const bool revoked = blocker.kind == Kind::revoked;
  std::string who = name_blocker(refusal);
  if (blocker.holder && !blocker.maintenance) {
    if (revoked) {
      who += blocker.job;
    } else if (const auto length = ago(blocker.holder->since)) {
      who += (cooling ? ", begun " : " for ") + for_people(*length);
      who += cooling ? " ago" : "";
    }
  }
  if (!refusal.ttl_left) return who + "; it never expires by itself";
  if (blocker.late) who += "; " + describe(*blocker.late);
  who += cooling || blocker.late ? "; free in "
         : revoked               ? "; free at the latest in "
         : blocker.maintenance   ? "; the hold ends in "
                                 : "; unless renewed it expires in ";
  return who + for_people(*refusal.ttl_left);
}

std::string describe(const lock::Done& done) {
  const auto holder = records::read_holder(done.who);
  return fmt::format("done by {}, begun {} ago", holder ? run_of(*holder) : std::string("somebody"),
                     for_people(done.age));
}

std::optional<std::string> revoked_by(const std::vector<lock::Complaint>& complaints,
                                      std::string_view notice) {
  bool gone = false;
  bool revoked = false;
  for (const lock::Complaint& complaint : complaints) {
    const auto* not_mine = std::get_if<lock::NotMine>(&complaint.answer);
    gone = gone || not_mine != nullptr || std::holds_alternative<lock::Missing>(complaint.answer);
    if (not_mine == nullptr) continue;
    if (const auto by = records::read_revocation(not_mine->blocker)) return taken_by(*by);
    revoked = revoked || lock::read_value(not_mine->blocker).kind == Kind::revoked;
  }
  const auto noticed = records::revocation_in_notice(notice);
  if (gone && noticed) return taken_by(*noticed);
  return revoked ? std::optional<std::string>(" was revoked") : std::nullopt;
}

}  // namespace redlock::diag

// SPDX-License-Identifier: MIT
#include "redis/requests/request.h"

#include <utility>

#include "lock/value.h"
#include "redis/requests/scripts.h"

namespace redlock::redis {
namespace {

using Words = std::vector<std::string>;

// The holder hash outlives the lock a little, so that the last holder can still be named.
constexpr std::chrono::milliseconds kHolderExtra{10'000};

// Rounded up: a key that lives longer than we assume does no harm.
std::string in_milliseconds(lock::Duration life) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(life).count());
}

/// The keys of queue.lua.
Words queue_keys(std::string_view lock_key) {
  return {helper_key(lock_key, "queue"), helper_key(lock_key, "alive"),
          helper_key(lock_key, "waiters"), helper_key(lock_key, "turn")};
}

/// A reader has scripts of its own, with one key more. The list of readers and the lock's key go
/// together: a server that renewed only one of them would let a writer in.
Words with_readers(Words keys, const LockContext& context, const Secrets& secrets) {
  if (lock::is_of_reader(secrets.token)) keys.emplace_back(context.readers_key);
  return keys;
}

Command encode(const lock::op::Acquire& acquire, const LockContext& context,
               const Secrets& secrets) {
  const bool shared = lock::is_of_reader(secrets.token);
  const bool waits = acquire.ticket != 0;
  Words keys =
      with_readers({context.lock_key, context.holder_key, context.fence_key, context.dead_key},
                   context, secrets);
  Words words{secrets.token,
              in_milliseconds(acquire.life),
              context.holder_json,
              std::to_string(context.restart_grace.count()),
              std::to_string(context.ttl.count()),
              secrets.hold,
              waits ? context.waiter : "",
              waits ? std::to_string(acquire.ticket) : "",
              helper_key(context.lock_key, ""),
              context.list};
  const bool once = acquire.once > lock::Duration::zero();
  const bool newer = (context.build || context.newest) && !shared;
  if ((once || newer) && !shared) {
    if (once || context.build) keys.push_back(once ? context.done_key : context.build_key);
    words.push_back(in_milliseconds(acquire.once));
  }
  if (newer) {
    words.push_back(context.build ? std::to_string(*context.build) : "");
    words.emplace_back(context.newest ? "1" : "");
  }
  Words more = queue_keys(context.lock_key);
  if (newer && context.newest) more.push_back(helper_key(context.lock_key, "newest"));
  return {lock::is_of_slot(secrets.token) ? &scripts::acquire_slot
          : shared                        ? &scripts::acquire_shared
          : newer                         ? &scripts::acquire_newest
                                          : &scripts::acquire,
          std::move(keys), std::move(words), std::move(more)};
}

/// The hold of a lock counts for as long as the lock lives now: goes with a renewal and a repair.
Command encode_hold(const LockContext& context, const Secrets& secrets, lock::Duration life) {
  // With a minimum hold, its end does not show when the holder renewed the lock last.
  Words words{secrets.token, secrets.hold, in_milliseconds(life),
              in_milliseconds(life + kHolderExtra),
              life > context.ttl ? in_milliseconds(context.ttl) : ""};
  if (secrets.hold != secrets.token) words.push_back(context.holder_json);
  Words keys{context.holder_key};
  if (lock::is_of_reader(secrets.token)) keys.push_back(context.lock_key);
  return {&scripts::hold, std::move(keys), std::move(words)};
}

Flight encode(const lock::op::Renew& renew, const LockContext& context, const Secrets& secrets) {
  const bool shared = lock::is_of_reader(secrets.token);
  const std::string life = in_milliseconds(renew.life);
  // The hold first: otherwise another process's cut could come in between, and undo the renewal.
  Flight flight{{encode_hold(context, secrets, renew.life),
                 {shared ? &scripts::renew_shared : &scripts::renew,
                  with_readers({context.lock_key}, context, secrets),
                  {secrets.token, life}}},
                1};
  // Redisson's own holders may have asked for more.
  if (renew.cuts && !lock::is_of_redisson(secrets.token)) {
    flight.commands.push_back(
        {&scripts::cut,
         with_readers({context.lock_key, context.holder_key}, context, secrets),
         {secrets.token, secrets.hold, life}});
  }
  return flight;
}

Flight encode_release(const LockContext& context, const Secrets& secrets) {
  const std::string& token = secrets.token;
  if (lock::is_of_reader(token)) {
    return {{{&scripts::release_shared,
              {context.lock_key, context.readers_key, context.holder_key},
              {token}}}};
  }
  return {{{&scripts::release, {context.lock_key}, {token}},
           {.words = {"HDEL", context.holder_key, token, "fence:" + token, "holds:" + token,
                      "lease:" + token}}}};
}

Flight encode(const lock::op::Leave& leave, const LockContext& context, const Secrets& secrets) {
  const bool shared = lock::is_of_reader(secrets.token);
  const bool two_processes = secrets.adopted || leave.for_owner;
  Words keys{context.lock_key, context.holder_key};
  if (two_processes || shared) keys.emplace_back(context.fence_key);
  Words words{secrets.token, secrets.hold, shared ? "0" : in_milliseconds(leave.cools)};
  if (two_processes) {
    words.emplace_back(secrets.adopted ? "owner" : "keeper");
    words.push_back(std::to_string(context.ttl.count()));
  } else if (leave.holds) {
    words.push_back(context.hold_json);
  }
  Flight flight{{{shared        ? &scripts::leave_shared
                  : leave.holds ? &scripts::leave_held
                                : &scripts::leave,
                  with_readers(std::move(keys), context, secrets), std::move(words)},
                 encode_hand_on(context.lock_key, {}, context.is_shared())}};
  if (secrets.adopted) {  // a process that renews the lock learns of its release by the owner
    flight.commands.push_back({.keys = {context.lock_key},
                               .words = {"PUBLISH", notice_channel(context.lock_key, secrets.token),
                                         std::string(kReleasedNotice)}});
  }
  return flight;
}

Command encode(const lock::op::Mark& mark, const LockContext& context) {
  const bool known = mark.began > std::chrono::milliseconds::zero();
  const auto age = std::chrono::floor<std::chrono::milliseconds>(mark.age);
  Words words{known ? std::to_string(mark.began.count()) : "", in_milliseconds(mark.life),
              mark.who.empty() ? context.holder_json : mark.who, std::to_string(age.count())};
  if (context.build) words.push_back(std::to_string(*context.build));
  return {&scripts::mark, {context.build ? context.build_key : context.done_key}, std::move(words)};
}

Flight encode(const lock::op::LeaveQueue& leave, const LockContext& context) {
  Command hand_on = encode_hand_on(context.lock_key, context.waiter, context.is_shared());
  if (!context.newest || !leave.has_lock) return {{std::move(hand_on)}};
  const std::string& key = context.lock_key;
  return {
      {{&scripts::won, {key}, {helper_key(key, ""), context.waiter}, {helper_key(key, "newest")}},
       std::move(hand_on)},
      1};
}

}  // namespace

bool is_replicated(lock::Op op) {
  return op == lock::Op::acquire || op == lock::Op::renew || op == lock::Op::repair ||
         op == lock::Op::commit;
}

Flight with_wait(Flight flight, unsigned replicas, std::chrono::milliseconds limit) {
  flight.commands.push_back(
      {.words = {"WAIT", std::to_string(replicas), std::to_string(limit.count())}});
  flight.waits = true;
  return flight;
}

Flight with_tombstone(Flight release, const LockContext& context, const Secrets& secrets) {
  const std::string life = std::to_string((context.ttl + kHolderExtra).count());
  release.commands.push_back({&scripts::bury,
                              with_readers({context.lock_key, context.dead_key}, context, secrets),
                              {secrets.token, life}});
  return release;
}

Flight encode_request(const lock::Operation& operation, const LockContext& context,
                      const Secrets& secrets) {
  const std::string& token = secrets.token;
  const bool shared = lock::is_of_reader(token);
  const auto keys = [&](Words common) { return with_readers(std::move(common), context, secrets); };
  const auto one = [](Command command) { return Flight{{std::move(command)}}; };
  return std::visit(
      lock::Overloaded{
          [&](const lock::op::Acquire& acquire) { return one(encode(acquire, context, secrets)); },
          [&](const lock::op::Renew& renew) { return encode(renew, context, secrets); },
          [&](const lock::op::Repair& repair) {
            return Flight{
                {{shared ? &scripts::repair_shared : &scripts::repair,
                  keys({context.lock_key, context.holder_key, context.fence_key, context.dead_key}),
                  {token, in_milliseconds(repair.life), context.holder_json}},
                 encode_hold(context, secrets, repair.life)}};
          },
          [&](const lock::op::Commit& commit) {
            return one({shared ? &scripts::commit_shared : &scripts::commit,
                        keys({context.lock_key, context.holder_key, context.fence_key}),
                        {token, std::to_string(commit.fence)}});
          },
          [&](const lock::op::Mark& mark) { return one(encode(mark, context)); },
          [&](const lock::op::Unmark& unmark) {
            return one({&scripts::unmark,
                        {context.done_key},
                        {unmark.who.empty() ? context.holder_json : unmark.who}});
          },
          [&](const lock::op::Revoke& revoke) {
            const std::string theirs(lock::read_value(revoke.value).token);
            return one(encode_revoke(context.lock_key, theirs, revoke.value));
          },
          [&](const lock::op::Release&) { return encode_release(context, secrets); },
          [&](const lock::op::Leave& leave) { return encode(leave, context, secrets); },
          [&](const lock::op::Inquire&) {
            return one({&scripts::inquire, {context.fence_key}, {token}});
          },
          [&](const lock::op::LeaveQueue& leave) { return encode(leave, context); }},
      operation);
}

Flight encode_handshake(const Endpoint& endpoint, const std::optional<Command>& question) {
  Flight flight;
  const Credentials& who = endpoint.credentials;
  if (who.given() && who.user.empty()) {
    flight.commands.push_back({.words = {"AUTH", who.password}});
  } else if (who.given()) {
    flight.commands.push_back({.words = {"AUTH", who.user, who.password}});
  }
  if (endpoint.db != 0) {
    flight.commands.push_back({.words = {"SELECT", std::to_string(endpoint.db)}});
  }
  if (question) flight.commands.push_back(*question);
  return flight;
}

std::string wake_channel(std::string_view lock_key, std::string_view waiter) {
  return helper_key(lock_key, std::string("wake:").append(waiter));
}

Command encode_join_queue(std::string_view lock_key, std::string_view waiter, std::string_view who,
                          lock::Ticket ticket) {
  return {&scripts::join_queue,
          {std::string(lock_key)},
          {helper_key(lock_key, ""), std::string(waiter), std::string(who), std::to_string(ticket)},
          queue_keys(lock_key)};
}

Command encode_hand_on(std::string_view lock_key, std::string_view leaves, bool shared) {
  Words more = queue_keys(lock_key);
  if (shared) more.push_back(helper_key(lock_key, "readers"));
  return {&scripts::hand_on,
          {std::string(lock_key)},
          {helper_key(lock_key, ""), std::string(leaves)},
          std::move(more)};
}

Command encode_waiting(std::string_view lock_key) {
  return {&scripts::waiting,
          {helper_key(lock_key, "queue"), helper_key(lock_key, "alive"),
           helper_key(lock_key, "waiters")}};
}

Command encode_log(std::string_view lock_key, std::string_view event, std::string_view token,
                   std::string_view data, unsigned most) {
  return {&scripts::log,
          {helper_key(lock_key, "log")},
          {std::string(event), std::string(token), std::string(data), std::to_string(most)}};
}

Command encode_refuse(std::string_view lock_key, std::string_view host, std::string_view data) {
  return {
      &scripts::refuse, {helper_key(lock_key, "fence")}, {std::string(host), std::string(data)}};
}

Command encode_forget_build(std::string_view lock_key) {
  return {.words = {"DEL", helper_key(lock_key, "build")}};
}

Command encode_refusals(std::string_view lock_key) {
  return {&scripts::refusals, {helper_key(lock_key, "fence")}};
}

Command encode_revoke(const std::string& key, const std::string& token, const std::string& value) {
  const bool shared = lock::is_shared(token);
  Words keys{key};
  if (shared) keys.push_back(helper_key(key, "readers"));
  return {
      &scripts::revoke, std::move(keys), {token, value, notice_channel(key, shared ? "" : token)}};
}

Flight encode_remove(const std::string& key, const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers) {
  const bool is_string = seen.kind == lock::Sighting::Kind::value;
  const std::string_view type = is_string ? "string" : lock::type_of(seen.value).value_or("none");
  Words keys{key};
  Words words{std::string(type), is_string ? seen.value : "", token, seen.owner};
  if (!token.empty()) keys.push_back(helper_key(key, "dead"));
  if (lock::is_shared(token)) {
    keys.push_back(helper_key(key, "readers"));
    std::string& all = words.emplace_back();
    for (const std::string& reader : readers) all.append(all.empty() ? "" : " ").append(reader);
  }
  Flight flight{{{&scripts::remove, std::move(keys), std::move(words)},
                 encode_hand_on(key, {}, lock::is_shared(token))}};
  if (token.empty()) return flight;
  Words holders{token};
  holders.insert(holders.end(), readers.begin(), readers.end());
  for (const std::string& holder : holders) {
    flight.commands.push_back(
        {.words = {"HDEL", helper_key(key, "holder"), holder, "fence:" + holder, "holds:" + holder,
                   "keep:" + holder, "lease:" + holder}});
  }
  return flight;
}

}  // namespace redlock::redis

// SPDX-License-Identifier: MIT
#include "redis/requests/request.h"

#include <algorithm>
#include <utility>

#include "lock/value.h"
#include "redis/requests/scripts.h"
#include "redis/wire/resp.h"

namespace redlock::redis {
namespace {

using Words = std::vector<std::string>;
using Views = std::vector<std::string_view>;

// The holder hash outlives the lock a little, so that the last holder can still be named.
constexpr std::chrono::milliseconds kHolderExtra{10'000};

std::string encode_script(std::string_view script, const Words& keys, const Words& arguments) {
  const std::string count = std::to_string(keys.size());
  Views words{"EVAL", script, count};
  words.insert(words.end(), keys.begin(), keys.end());
  words.insert(words.end(), arguments.begin(), arguments.end());
  return encode_words(words);
}

/// The commands of `wire` as `change` leaves them. It gets the words, and a string in which it may
/// keep the text of a new word.
template <class Change>
std::string rewritten(std::string_view wire, Change change) {
  std::string result;
  while (!wire.empty()) {
    Views words = take_command(wire);
    std::string text;
    change(words, text);
    result += encode_words(words);
  }
  return result;
}

std::string joined(std::string_view before, std::string_view script) {
  return before.empty() ? std::string(script) : std::string(before).append("\n").append(script);
}

/// A reader has scripts of its own, with one key more. The list of readers and the lock's key go
/// together: a server that renewed only one of them would let a writer in.
Words with_readers(Words keys, const LockContext& context, const Secrets& secrets) {
  if (lock::is_of_reader(secrets.token)) keys.emplace_back(context.readers_key);
  return keys;
}

Flight encode_acquire(const lock::Ask& ask, const LockContext& context, const Secrets& secrets,
                      const std::string& life) {
  const bool shared = lock::is_of_reader(secrets.token);
  const bool waits = ask.ticket != 0;
  Words keys =
      with_readers({context.lock_key, context.holder_key, context.fence_key, context.dead_key},
                   context, secrets);
  Words arguments{secrets.token,
                  life,
                  context.holder_json,
                  std::to_string(context.restart_grace.count()),
                  life,
                  secrets.hold,
                  waits ? context.waiter : "",
                  waits ? std::to_string(ask.ticket) : "",
                  helper_key(context.lock_key, "")};
  const bool once = ask.once > lock::Duration::zero();
  const bool newer = (context.build || context.newest) && !shared;
  if ((once || newer) && !shared) {
    const auto period = std::chrono::ceil<std::chrono::milliseconds>(ask.once);
    if (once || context.build) keys.push_back(once ? context.done_key : context.build_key);
    arguments.push_back(std::to_string(period.count()));
  }
  if (newer) {
    arguments.push_back(context.build ? std::to_string(*context.build) : "");
    arguments.emplace_back(context.newest ? "1" : "");
  }
  return {encode_script(lock::is_of_slot(secrets.token) ? scripts::acquire_slot
                        : shared                        ? scripts::acquire_shared
                        : newer                         ? scripts::acquire_newest
                                                        : scripts::acquire,
                        keys, arguments)};
}

Flight encode_leave(const lock::Ask& ask, const LockContext& context, const Secrets& secrets,
                    const std::string& life) {
  const bool shared = lock::is_of_reader(secrets.token);
  const bool two_processes = secrets.adopted || ask.for_owner;
  Words keys{context.lock_key, context.holder_key};
  if (two_processes || shared) keys.emplace_back(context.fence_key);
  Words arguments{secrets.token, secrets.hold, shared ? "0" : life};
  if (two_processes) {
    arguments.emplace_back(secrets.adopted ? "owner" : "keeper");
    arguments.push_back(std::to_string(context.ttl.count()));
  }
  Flight flight{encode_script(shared ? scripts::leave_shared : scripts::leave,
                              with_readers(std::move(keys), context, secrets), arguments) +
                    encode_hand_on(context.lock_key),
                2};
  if (secrets.adopted) {  // a process that renews the lock learns of its release by the owner
    flight.wire += encode_command(
        {"PUBLISH", notice_channel(context.lock_key, secrets.token), kReleasedNotice});
    ++flight.replies;
  }
  return flight;
}

Flight encode_mark(const lock::Ask& ask, const LockContext& context, const std::string& life) {
  const std::string& who = ask.who.empty() ? context.holder_json : ask.who;
  if (ask.op == lock::Op::unmark) {
    return {encode_script(scripts::unmark, {context.done_key}, {who})};
  }
  const bool known = ask.began > std::chrono::milliseconds::zero();
  const auto age = std::chrono::floor<std::chrono::milliseconds>(ask.age);
  Words arguments{known ? std::to_string(ask.began.count()) : "", life, who,
                  std::to_string(age.count())};
  if (context.build) arguments.push_back(std::to_string(*context.build));
  return {encode_script(scripts::mark, {context.build ? context.build_key : context.done_key},
                        arguments)};
}

/// The hold of a lock counts for as long as the lock lives now: goes with a renewal and a repair.
std::string encode_hold(const LockContext& context, const Secrets& secrets,
                        std::chrono::milliseconds life) {
  return encode_command({"EVAL", scripts::hold, "1", context.holder_key, secrets.token,
                         secrets.hold, std::to_string(life.count()),
                         std::to_string((life + kHolderExtra).count())});
}

}  // namespace

bool is_replicated(lock::Op op) {
  return op == lock::Op::acquire || op == lock::Op::renew || op == lock::Op::repair ||
         op == lock::Op::commit;
}

Flight with_wait(Flight flight, unsigned replicas, std::chrono::milliseconds limit) {
  flight.wire += encode_command({"WAIT", std::to_string(replicas), std::to_string(limit.count())});
  ++flight.replies;
  flight.waits = true;
  return flight;
}

Flight with_tombstone(Flight release, const LockContext& context, const Secrets& secrets) {
  const std::string life = std::to_string((context.ttl + kHolderExtra).count());
  release.wire += encode_script(
      scripts::bury, with_readers({context.lock_key, context.dead_key}, context, secrets),
      {secrets.token, life});
  ++release.replies;
  return release;
}

Flight with_asking(const Flight& flight) {
  Flight asking = flight;
  asking.wire.clear();
  for (std::string_view rest = flight.wire; !rest.empty();) {
    asking.wire += encode_command({"ASKING"});
    asking.wire += encode_words(take_command(rest));
  }
  asking.replies = 2 * flight.replies;
  asking.answer_at = 2 * flight.answer_at + 1;
  return asking;
}

Flight encode_request(const lock::Ask& ask, const LockContext& context, const Secrets& secrets) {
  const std::string& token = secrets.token;
  // Rounded up: a key that lives longer than we assume does no harm.
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(ask.life);
  const std::string life = std::to_string(milliseconds.count());
  const bool shared = lock::is_of_reader(token);
  const auto keys = [&](Words common) { return with_readers(std::move(common), context, secrets); };
  switch (ask.op) {
    case lock::Op::renew: {
      // The hold first: otherwise another process's cut could come in between, and undo the renewal.
      Flight flight{encode_hold(context, secrets, milliseconds) +
                        encode_script(shared ? scripts::renew_shared : scripts::renew,
                                      keys({context.lock_key}), {token, life}),
                    2, 1};
      // Redisson's own holders may have asked for more.
      if (!ask.cuts || lock::is_of_redisson(token)) return flight;
      flight.wire += encode_script(scripts::cut, keys({context.lock_key, context.holder_key}),
                                   {token, secrets.hold, life});
      ++flight.replies;
      return flight;
    }
    case lock::Op::release:
      if (shared) {
        return {encode_script(scripts::release_shared,
                              {context.lock_key, context.readers_key, context.holder_key}, {token}),
                1};
      }
      return {encode_script(scripts::release, {context.lock_key}, {token}) +
                  encode_command(
                      {"HDEL", context.holder_key, token, "fence:" + token, "holds:" + token}),
              2};
    case lock::Op::leave:
      return encode_leave(ask, context, secrets, life);
    case lock::Op::inquire:
      return {encode_script(scripts::inquire, {context.fence_key}, {token}), 1};
    case lock::Op::mark:
    case lock::Op::unmark:
      return encode_mark(ask, context, life);
    case lock::Op::revoke:
      return encode_revoke(context.lock_key, std::string(lock::read_value(ask.who).token), ask.who);
    case lock::Op::repair:
      return {encode_script(
                  shared ? scripts::repair_shared : scripts::repair,
                  keys({context.lock_key, context.holder_key, context.fence_key, context.dead_key}),
                  {token, life, context.holder_json}) +
                  encode_hold(context, secrets, milliseconds),
              2};
    case lock::Op::commit:
      return {encode_script(shared ? scripts::commit_shared : scripts::commit,
                            keys({context.lock_key, context.holder_key, context.fence_key}),
                            {token, std::to_string(ask.fence)}),
              1};
    case lock::Op::leave_queue:  // ServerSet encodes it: it has no attempt
    case lock::Op::acquire:
      break;
  }
  return encode_acquire(ask, context, secrets, life);
}

Flight encode_handshake(const Endpoint& endpoint, const std::string& question) {
  Flight flight{{}, 0};
  const auto add = [&flight](const std::string& command) {
    flight.wire += command;
    ++flight.replies;
  };
  const Credentials& who = endpoint.credentials;
  if (who.given()) {
    add(who.user.empty() ? encode_command({"AUTH", who.password})
                         : encode_command({"AUTH", who.user, who.password}));
  }
  if (endpoint.db != 0) add(encode_command({"SELECT", std::to_string(endpoint.db)}));
  if (!question.empty()) add(question);
  return flight;
}

Flight for_server(Flight flight, const Endpoint& endpoint, std::string_view redisson_key) {
  const bool cluster = endpoint.kind == Endpoint::Kind::cluster;
  if (!cluster && redisson_key.empty()) return flight;
  flight.wire = rewritten(flight.wire, [&](Views& words, std::string& script) {
    if (cluster && words[0] == "PUBLISH") {
      script = joined(scripts::sharded, scripts::publish);
      words = {"EVAL", script, "0", words[1], words[2]};
    }
    if (words[0] != "EVAL" || !script.empty()) return;
    script = words[1];
    if (cluster && script.find("'PUBLISH'") != std::string::npos) {
      script = joined(scripts::sharded, script);
    }
    // In every script on the lock's key, that key comes first.
    if (words[3] == redisson_key) script = joined(scripts::redisson, script);
    words[1] = script;
  });
  return flight;
}

Flight by_hash(Flight flight) {
  flight.wire = rewritten(flight.wire, [&flight](Views& words, std::string&) {
    if (words[0] != "EVAL") return;
    const std::string_view script = words[1];
    const auto known = std::ranges::find_if(scripts::hashed, [script](const auto& each) {
      const std::size_t before = each.before.empty() ? 0 : each.before.size() + 1;
      return script.size() == before + each.text.size() && script.starts_with(each.before) &&
             script.ends_with(each.text);
    });
    if (known == scripts::hashed.end()) return;
    words[0] = "EVALSHA";
    words[1] = known->sha1;
    flight.hashed = true;
  });
  flight.waits = flight.waits || (flight.hashed && flight.replies > flight.answer_at + 1);
  return flight;
}

Flight in_full(Flight flight) {
  flight.hashed = false;
  flight.wire = rewritten(flight.wire, [](Views& words, std::string& script) {
    if (words[0] != "EVALSHA") return;
    const auto known = std::ranges::find(scripts::hashed, words[1], &scripts::Hashed::sha1);
    script = joined(known->before, known->text);
    words[0] = "EVAL";
    words[1] = script;
  });
  return flight;
}

std::string hashed_command(const Flight& flight, unsigned index) {
  std::string_view rest = flight.hashed ? std::string_view(flight.wire) : std::string_view();
  for (unsigned at = 0; at < index && !rest.empty(); ++at) take_command(rest);
  if (rest.empty()) return {};
  const Views words = take_command(rest);
  return words[0] == "EVALSHA" ? encode_words(words) : std::string();
}

std::string wake_channel(std::string_view lock_key, std::string_view waiter) {
  return helper_key(lock_key, std::string("wake:").append(waiter));
}

std::string encode_join_queue(std::string_view lock_key, std::string_view waiter,
                              std::string_view who, lock::Ticket ticket) {
  return encode_command({"EVAL", scripts::join_queue, "1", lock_key, helper_key(lock_key, ""),
                         waiter, who, std::to_string(ticket)});
}

std::string encode_hand_on(std::string_view lock_key, std::string_view leaves) {
  return encode_command(
      {"EVAL", scripts::hand_on, "1", lock_key, helper_key(lock_key, ""), leaves});
}

Flight encode_leave_queue(const LockContext& context, bool has_lock) {
  Flight flight{encode_hand_on(context.lock_key, context.waiter)};
  if (!context.newest || !has_lock) return flight;
  flight.wire.insert(0, encode_command({"EVAL", scripts::won, "1", context.lock_key,
                                        helper_key(context.lock_key, ""), context.waiter}));
  flight.replies = 2;
  flight.answer_at = 1;
  return flight;
}

std::string encode_waiting(std::string_view lock_key) {
  return encode_command({"EVAL", scripts::waiting, "3", helper_key(lock_key, "queue"),
                         helper_key(lock_key, "alive"), helper_key(lock_key, "waiters")});
}

std::string encode_log(std::string_view lock_key, std::string_view event, std::string_view token,
                       std::string_view data, unsigned most) {
  return encode_command({"EVAL", scripts::log, "1", helper_key(lock_key, "log"), event, token, data,
                         std::to_string(most)});
}

std::string encode_refuse(std::string_view lock_key, std::string_view host, std::string_view data) {
  return encode_command(
      {"EVAL", scripts::refuse, "1", helper_key(lock_key, "fence"), host, data});
}

std::string encode_forget_build(std::string_view lock_key) {
  return encode_command({"DEL", helper_key(lock_key, "build")});
}

std::string encode_refusals(std::string_view lock_key) {
  return encode_command({"EVAL", scripts::refusals, "1", helper_key(lock_key, "fence")});
}

Flight encode_revoke(const std::string& key, const std::string& token, const std::string& value) {
  const bool shared = lock::is_shared(token);
  Words keys{key};
  if (shared) keys.push_back(helper_key(key, "readers"));
  return {encode_script(scripts::revoke, keys,
                        {token, value, notice_channel(key, shared ? "" : token)})};
}

Flight encode_remove(const std::string& key, const lock::Sighting& seen, const std::string& token,
                     const std::vector<std::string>& readers) {
  const bool is_string = seen.kind == lock::Sighting::Kind::value;
  const std::string_view type = is_string ? "string" : lock::type_of(seen.value).value_or("none");
  Words keys{key};
  Words arguments{std::string(type), is_string ? seen.value : "", token, seen.owner};
  if (!token.empty()) keys.push_back(helper_key(key, "dead"));
  if (lock::is_shared(token)) {
    keys.push_back(helper_key(key, "readers"));
    std::string& all = arguments.emplace_back();
    for (const std::string& reader : readers) all.append(all.empty() ? "" : " ").append(reader);
  }
  Flight flight{encode_script(scripts::remove, keys, arguments) + encode_hand_on(key), 2};
  if (token.empty()) return flight;
  Words holders{token};
  holders.insert(holders.end(), readers.begin(), readers.end());
  for (const std::string& holder : holders) {
    flight.wire += encode_command({"HDEL", helper_key(key, "holder"), holder, "fence:" + holder,
                                   "holds:" + holder, "keep:" + holder});
    ++flight.replies;
  }
  return flight;
}

}  // namespace redlock::redis

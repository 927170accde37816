// SPDX-License-Identifier: MIT
//
// What a client sends to a simulated server, and what the server answers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "lock/vote.h"
#include "mutation.h"
#include "queue.h"
#include "token.h"

namespace redlock::sim {

/// The process that gives up a hold: its holder, the owner of the token, or the keeper, which
/// renews the lock for the owner.
enum class By : std::uint8_t { holder, owner, keeper };

struct Request {
  lock::Op op = lock::Op::acquire;
  Token token = kNoToken;
  std::uint64_t fence = 0;
  Token hold = kNoToken;      ///< the token itself, or that of a process that joins it
  std::int64_t life_ms = 0;   ///< lock::Ask::life
  std::int64_t once_ms = 0;   ///< lock::Ask::once
  std::int64_t began_ms = 0;  ///< lock::Ask::began
  By by = By::holder;         ///< leave
  Waiter waiter = kNoWaiter;  ///< acquire with a ticket, leave_queue, and to join the queue
  lock::Ticket ticket = 0;    ///< lock::Ask::ticket
  bool joins_queue = false;    ///< lock::JoinQueue, which is no Ask: `op` says nothing
};

enum class Trace : std::uint8_t { none, present, earlier };

struct Response {
  enum class Word : std::uint8_t {
    granted,
    refused,
    fresh,
    committed,
    not_committed,
    renewed,
    released,
    cooling,
    kept,
    missing,
    not_mine,
    done,
    marked,
    joined,    ///< the queue
    no_holds,  ///< an error: the lock is there to be joined, the list of its holds is not
    too_few    ///< WAIT: the replica has not got it in time
  };
  Word word;
  Trace trace = Trace::none;
  Token value = kNoToken;    ///< refused, not_mine
  std::int64_t pttl = 0;     ///< refused, done
  std::uint32_t run_id = 0;  ///< granted; 0: not told (a repair)
  std::int64_t uptime = 0;   ///< granted, fresh
  std::uint64_t fence = 0;   ///< granted; not_committed: the last one
  std::int64_t clock = 0;    ///< granted, refused
  std::int64_t age = 0;      ///< done
  bool revoked = false;      ///< not_mine: lock::NotMine::revoked
  Waiter turn = kNoWaiter;   ///< refused: whose turn it is, if the lock is free
  lock::Ticket ticket = 0;   ///< refused: lock::Refused::ticket, place and waiters
  std::size_t place = 0;
  std::size_t waiters = 0;
  std::size_t slots = 0;  ///< refused: so many has the lock, and these have them
  std::array<Token, kMostSlots> taken{};
};

/// The same for every request on the lock.
struct LockSettings {
  std::int64_t restart_grace_s = 0;
  std::int64_t ttl_ms = 0;
};

/// Its id. Of two ids, the larger number's is the larger text, too.
std::string waiter_text(Waiter waiter);

/// redis/requests/request.cc: the server waits until its replica has the result of such a request.
bool waits_for_replicas(lock::Op op, Mutation mutation);
/// … and if the replica has not got it in time, it is worth no more than this.
Response without_replicas(const Response& response, Mutation mutation);

/// redis/requests/request.cc: what the client makes of a reply.
lock::Answer read_answer(const Response& response, const LockSettings& settings, Mutation mutation);

}  // namespace redlock::sim

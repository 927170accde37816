// SPDX-License-Identifier: MIT
#include "mutation.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>

#include "redis/requests/scripts.h"

namespace redlock::sim {

namespace {

/// In the order of Mutation.
constexpr std::string_view kMutations[] = {"none",
                                           "uptime_untold",
                                           "unsent_kept",
                                           "clock_stands_still",
                                           "unreplicated_counts",
                                           "unreplicated_is_unsent",
                                           "renewals_unwaited",
                                           "fail_over_unseen",
                                           "majority_never_forgets",
                                           "minority_never_forgets",
                                           "clocks_never_matter",
                                           "stage_loss_untold",
                                           "stage_keeps_lock",
                                           "stage_ends_locked",
                                           "stage_alone_killed",
                                           "stage_skipped"};

// A set without NX: replaces any value.
constexpr std::string_view kSet = "'NX','PX',ARGV[2])\nunlink(";
constexpr std::string_view kSetAnyway = "'PX',ARGV[2])\nunlink(";
constexpr std::string_view kHeld = "if value and not ours then";

// Of one mistake: one after the other.
constexpr Patch kPatches[] = {
    // The counter of an old snapshot goes on as if nothing had been; one that is gone starts at 1.
    {"run_id_ignored", "if trace~='present'or field(", "if trace=='none'or field("},
    {"fence_from_one", "if trace~='present'or field(", "if trace=='earlier'or field("},
    // After two changes of the list, the number goes on from an old one.
    {"list_ignored", "or field(KEYS[3],'list',8)~=ARGV[10]", ""},
    // A release deletes, or makes cooling, whatever is there.
    {"release_any", "if value==ARGV[1]or value=='cooling:'..ARGV[1]or", "if true or"},
    {"release_any", "if value~=token and value~=cooling and", "if kind=='none'and"},
    {"cool_any", "if value~=token and value~=cooling and", "if rest<=0 and value~=token and"},
    {"cool_any", "if rest>0 and value==token then", "if rest>0 then"},
    // The hold of a run that failed ends with the lease; or begins when the lock was free.
    {"hold_unkept", "redis.call('PEXPIRE',KEYS[1],left)", ""},
    // A run inside that outlives it leaves its own ttl on the lock.
    {"hold_outlived", "if #left==1 and", "if false and"},
    {"hold_freed", "local left=math.max(rest,keep-clock)\n",
     "redis.call('DEL',KEYS[1])\nlocal left=rest\n"},
    // --once
    {"mark_unseen", "if period>0 and(not ours or joins)then", "if false then"},
    {"mark_on_arrival", "math.min(tonumber(ARGV[1])or latest,latest)", "clock"},
    // The lock is deleted although others hold it.
    {"holds_forgotten", "if #others>0 then", "if false then"},
    {"acquire_shared", kHeld, "if false then"},
    {"acquire_shared", kSet, kSetAnyway},
    {"revoked_free", kHeld, "if value and not ours and not string.find(value,'^revoked:')then"},
    {"revoked_free", kSet, kSetAnyway},
    {"revoke_any", "if changed then\nlocal left", "if true then\nlocal left"},
    {"no_tombstone", "if ARGV[3]==''or not KEYS[2]then return end", "do return end"},
    // What its owner has released is put back; what a keeper released is missing to the owner.
    {"note_unread", "if string.find(' '..field(KEYS[3],'released',8192),",
     "if false and string.find('',"},
    {"note_unsigned", "ARGV[4]=='keeper'and'~'or''", "''"},
    {"no_expiry", kSet, "'NX')\nunlink("},
    // Readers: one that died counts without end; one enters beside a writer; a writer beside them.
    {"readers_stay", "'('..('%.0f'):format(clock),'+inf',\n'LIMIT',0,2)",
     "'-inf','+inf','LIMIT',0,2)"},
    {"readers_stay", "try('ZRANGEBYSCORE',readers,'-inf',clock,'LIMIT',0,32)or{}", "{}or{}"},
    {"reader_enters", "if kind~='none'and(revoked or not fits)then\nlocal holder",
     "if false then\nlocal holder"},
    {"writer_enters", kHeld, "if value and not ours and string.sub(value,1,7)~='shared:'then"},
    // Takes all readers away; renews the list alone; a list of an earlier lock counts.
    {"releases_readers", "if small and #others<2 then", "if true then"},
    {"renews_list_only", "elseif stays>left and left>=0 then", "elseif false then"},
    {"renews_any_list", "shared=shared and ends_of(shared)and shared", ""},
    {"renews_any_list",
     "if type(redis.pcall('UNLINK',readers))~='number'then redis.call('DEL',readers)end\n", ""},
    {"renews_any_list",
     "if type(redis.pcall('UNLINK',KEYS[3]))~='number'then redis.pcall('DEL',KEYS[3])end\n", ""},
    // The naive way: grants while fewer than N have a slot on this server, whichever they have.
    {"slots_counted", "local taken,soonest={},math.huge",
     "local taken,soonest,count={},math.huge,0"},
    {"slots_counted", "taken[at]=each\n",
     "taken[at]=each\nif each~=token then count=count+1 end\n"},
    {"slots_counted", "slot and taken[slot]~=token and taken[slot]",
     "slot and fits and count>=tonumber(slots,16)and select(2,next(taken))"},
    {"slots_mixed", "shared:match('^shared:p%x%x(%x%x)')==slots", "slots"},
    {"slot_frees_other", "redis.call('ZREM',readers,token)",
     "redis.call('ZREM',readers,string.byte(token)~=112 and token or "
     "redis.call('ZRANGE',readers,0,0)[1])"},
    // After a clock was set back: a lock stays, a reader's place, or the lock when its readers have
    // gone; a server that
    // restarted is not trusted until the clock has caught up.
    {"life_uncut", "return redis.call('PEXPIRE',KEYS[1],life)", "return 0"},
    {"place_uncut", "redis.call('ZADD',readers,clock+life,token)\ntrim()", ""},
    {"lock_of_readers_uncut", "clock+life,token)\ntrim()", "clock+life,token)"},
    {"uptime_negative", "if age<0 and first>=clock then", "if false then"},
    // The queue: a reader enters before a writer, is woken alone; no turn.
    {"readers_overtake",
     "local ticket=tonumber(ARGV[8])\nlocal owner,left=turn_before(ticket,kind=='none')",
     "local ticket,owner,left=0"},
    {"readers_one_by_one", "and not(reads(owner)and reads(each))then", "then"},
    {"no_turn", "if left<=0 or left>500 then return end", "do return end"},
    // A turn from before the clock was set back counts; one whose owner has left.
    {"turn_endless", "if left<=0 or left>500 then", "if left<=0 then"},
    {"turn_never_ends", "try('ZSCORE',queue,owner)or nil", "try('ZSCORE',queue,owner)or 0"},
    {"turn_never_ends", "if try('GETRANGE',turn,0,63)==ARGV[2]then try('DEL',turn)end", ""},
    // After a turn that was missed: one waiter is called; those called count on, or no longer.
    {"called_one_by_one", "local crowd=waiter and missed>0", "local crowd=false"},
    {"called_count_on", "if ends>clock+500 then try('ZADD',alive,clock+500,waiter)end", ""},
    {"called_as_missed", "if ends>clock+500 then try('ZADD',alive,clock+500,waiter)end",
     "try('ZADD',alive,clock,waiter)"},
    // An asker that finds the lock free and no turn gets it.
    {"asker_first", "turn_before(ticket,clock>0)", "turn_before(ticket,false)"},
    // A waiter that nobody hears gets the turn; one that has just asked does not.
    {"unheard_kept", "if heard==0 then return'dead'end", ""},
    {"silent_passed_over", "if not asked_lately(ends)then\nif heard", "if true then\nif heard"},
    {"ends_ahead_void", "local answer=ends>clock and",
     "local answer=ends>clock and ends<=clock+life and"},
    {"ends_ahead_void", "try('ZADD',alive,ends,each)", "forget(each)"},
    {"ends_uncut", "try('ZADD',alive,ends,each)", ""},
    {"ticket_of_clock", "math.max(clock,(last[2]or 0)+1)", "clock"},
    {"refused_out_of_queue", "local stands=enqueue(us,ARGV[3],ticket)", "local stands=false"},
    {"cooling_untold", "string.sub(head,1,8)=='cooling:'then", "false then"},
    // The keys of the queue never expire.
    {"queue_for_ever", "try('PEXPIRE',key,life)\nend", "end"},
    // --newest: one that died counts; nobody is told; a stopped one runs after a newer one; the
    // oldest goes on;
    // after a clock was set back, a run that is over is newer. --build: an older one runs.
    {"newest_dead_counts", "ends>clock and(asked_lately(ends)or tell(other,'newer')~=0)",
     "ends>clock"},
    {"newest_untold", "if other then tell(other,'free')end", ""},
    {"newest_forgotten", "if head then redis.pcall('SET',newest",
     "if false then redis.pcall('SET',newest"},
    {"oldest_goes_on", "(ticket<last or", "(ticket>last or"},
    {"newest_of_the_past", "math.max(answer[6],(last or 0)+1)", "answer[6]"},
    {"older_build_runs", "tonumber(number)>build then", "false then"},
    {"older_build_waits", "(build<theirs or", "(false or"},
    // Takes a free slot, whoever waits; wakes nobody while others have slots; does not say who
    // does.
    {"slots_overtake", "if may_ask then return", "if false then return"},
    {"slots_overtake", "if other then\nreturn refuse(", "if false then\nreturn refuse("},
    {"slots_overtake", "turn_before(ticket,true)", "turn_before(ticket,false)"},
    {"slots_overtake",
     "if owner then return refuse('turn',owner,left,nil,owners)end\nif ticket then "
     "count_again(us)end\nend\nfor _,each in ipairs(shared",
     "end\nfor _,each in ipairs(shared"},
    {"slots_wake_none", "or(taken and #taken<=tonumber(slots,16))", ""},
    {"slots_untold", "owners=table.concat(map,',')", "owners=''"},
};

bool fits(const Patch& patch) {
  using namespace redis::scripts;
  return std::ranges::any_of(
      std::initializer_list<const redis::Script*>{
          &acquire, &acquire_newest, &acquire_shared, &acquire_slot, &cut, &hand_on, &leave,
          &leave_held, &leave_shared, &mark, &release, &release_shared, &remove, &renew_shared,
          &repair, &revoke, &won},
      [&](const redis::Script* script) {
        return script->text.find(patch.before) != std::string::npos;
      });
}

}  // namespace

void check_mistakes() {
  std::string misfits;
  for (const Patch& each : kPatches) {
    if (fits(each)) continue;
    misfits += (misfits.empty() ? "" : "\n") + std::string(each.mistake) + ": no script has \"" +
               std::string(each.before) + '"';
  }
  if (!misfits.empty()) throw std::runtime_error(misfits);
}

std::optional<Mistake> mistake_named(std::string_view name) {
  const auto* const known = std::ranges::find(kMutations, name);
  if (known != std::end(kMutations)) return Mistake{static_cast<Mutation>(known - kMutations)};
  const auto* const first = std::ranges::find(kPatches, name, &Patch::mistake);
  const auto* const last = std::find_if(first, std::end(kPatches),
                                        [&](const Patch& each) { return each.mistake != name; });
  if (first == last) return std::nullopt;
  return Mistake{.patches = {first, last}};
}

}  // namespace redlock::sim

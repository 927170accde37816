// SPDX-License-Identifier: MIT
//
// How many jobs hold a lock with N slots at once, on M servers.
//
// With redlock it is N. In the naive way each server counts its holders, and grants while it has
// fewer than N. Together the servers grant M * N votes, and a job takes those of a majority, at
// least M / 2 + 1 of them, rounded down. So there are at most M * N / (M / 2 + 1) jobs, both
// rounded down. Jobs that share out the servers evenly reach that: on 3 servers it is 1.5 N, on 5
// servers 5 N / 3, and 2 N - 1 if there are at least 2 N - 1 servers, an odd number. Never 2 N.
#pragma once

namespace redlock::sim {

/// Lets jobs hold slots of several numbers on 3 and 5 servers, in the naive way and in ours, where
/// each client reaches few servers. Prints the largest numbers of jobs at once. False: one of them
/// is not as above.
bool slots_at_once();

}  // namespace redlock::sim

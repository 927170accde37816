# SPDX-License-Identifier: MIT
"""Reads a log of sections, "start WHO µs" and "end WHO µs": were two under way at the same time?

tally.py LOG MEDIAN LONGEST SIDE=SECTIONS…: the sections that each side must have run. Prints for each pair of sides how
long it took from the end of one's section to the start of the other's, and for each side the longest time without a
section while all sides had some left. Fails if a median to or from redlock is longer than MEDIAN, or that time longer
than LONGEST, in ms.
"""
import collections
import itertools
import statistics
import sys


def main():
    wanted = dict(word.split("=") for word in sys.argv[4:])
    most, longest_gap = float(sys.argv[2]), float(sys.argv[3])
    inside, ended, trouble, overlaps = None, None, [], 0
    counts, gaps, starts = collections.Counter(), collections.defaultdict(list), collections.defaultdict(list)
    with open(sys.argv[1], encoding="ascii") as log:
        for number, line in enumerate(log, 1):
            what, who, time = line.split()
            time = int(time) / 1000
            if what == "start":
                if inside:
                    overlaps += 1
                    trouble.append(f"line {number}: {who} starts while {inside} runs")
                if ended and ended[0] != who:
                    gaps[ended[0], who].append(time - ended[1])
                inside = who
                counts[who] += 1
                starts[who].append(time)
            elif what == "end":
                if inside != who:
                    trouble.append(f"line {number}: {who} ends while {inside} runs")
                inside, ended = None, (who, time)
    for who, count in wanted.items():
        if counts[who] != int(count):
            trouble.append(f"{who} ran {counts[who]} sections, not {count}")
    for (one, other), all_gaps in sorted(gaps.items()):
        median = statistics.median(all_gaps)
        print(f"{one} -> {other}: {len(all_gaps)} hand-overs, median {median:.1f} ms, worst {max(all_gaps):.0f} ms")
        # In a Cluster, an unlock by Redisson 3 does not wake Redisson 4, which hears SPUBLISH alone.
        if median > most and "redlock" in (one, other):
            trouble.append(f"{one} -> {other}: median {median:.1f} ms")
    first, last = max(times[0] for times in starts.values()), min(times[-1] for times in starts.values())
    for who, times in sorted(starts.items()):
        inner = [first, *(time for time in times if first < time < last), last]
        longest = max(b - a for a, b in itertools.pairwise(inner))
        print(f"{who}: {counts[who]} sections, at most {longest:.0f} ms without one")
        if longest > longest_gap:
            trouble.append(f"{who}: {longest:.0f} ms without a section")
    print(f"overlaps: {overlaps}")
    sys.exit("\n".join(trouble) or 0)


main()

# SPDX-License-Identifier: MIT
"""What the benchmarks print, kept for tests/bench/report in the file that BENCH_RESULTS names."""
import json
import os


def save(title, medians):
    """medians: ms by what was measured, in the order in which a reader wants to see them."""
    path = os.environ.get("BENCH_RESULTS")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            print(json.dumps({"title": title, "medians": medians}), file=file)

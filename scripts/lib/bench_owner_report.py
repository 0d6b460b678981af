# SPDX-License-Identifier: MIT
"""The report of scripts/bench-owner: WORK/results (a line of JSON a measurement) and WORK/notes in;
tables to the terminal, and all of it to a file of JSON."""
import json
import statistics
import sys
from collections import defaultdict

SCENES = {"busy": "no core to spare", "spare": "a core to spare"}
LOADS = {"cpu": "computing", "memory": "memory", "wake": "waking up (mean lateness)"}
# Student's t, two-sided 95 %, by degrees of freedom; beyond the table the normal distribution's.
T95 = [0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179,
       2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060,
       2.056, 2.052, 2.048, 2.045, 2.042]


def mean_and_half(values):
    """Mean, and half the width of its confidence interval of 95 %."""
    n = len(values)
    t = T95[n - 1] if n - 1 < len(T95) else 1.96
    return statistics.mean(values), t * statistics.stdev(values) / n**0.5


def slowdown_rows(results):
    pairs = defaultdict(dict)
    served = defaultdict(list)
    for r in results:
        if r["part"] != "slowdown":
            continue
        pairs[r["scene"], r["load"], r["pair"]][r["with"]] = r["run"]
        if r["with"]:
            served[r["scene"], r["load"]].append(r["reader"]["mb_s"])
    rows = []
    for scene in SCENES:
        for load in LOADS:
            both = [p for k, p in sorted(pairs.items()) if k[:2] == (scene, load) and len(p) == 2]
            if len(both) < 3:
                continue
            if load == "wake":
                changes = [p[True]["mean_us"] - p[False]["mean_us"] for p in both]
                base = statistics.median(p[False]["mean_us"] for p in both)
                unit = "us"
            else:
                changes = [100 * (p[False]["per_s"] / p[True]["per_s"] - 1) for p in both]
                base = statistics.median(p[False]["per_s"] for p in both)
                unit = "%"
            mean, half = mean_and_half(changes)
            row = {"scene": scene, "load": load, "unit": unit, "pairs": len(both),
                   "without": base, "mean": mean, "half": half,
                   "median": statistics.median(changes), "changes": changes,
                   "client_mb_s": statistics.median(served[scene, load])}
            if load == "wake":
                for which in ("p99_us", "max_us"):
                    row[which] = [statistics.median(p[w][which] for p in both)
                                  for w in (False, True)]
            rows.append(row)
    return rows


def print_slowdown(rows):
    if not rows:
        return
    print("\nThe owner's own work beside a client that reads as fast as it can "
          "(mean of pairs, 95 % confidence):")
    print(f"  {'host':18}{'work':28}{'slower by':>24}{'median':>10}{'client got':>14}")
    for r in rows:
        by = f"{r['mean']:+.2f} {r['unit']} +- {r['half']:.2f}"
        print(f"  {SCENES[r['scene']]:18}{LOADS[r['load']]:28}{by:>24}{r['median']:>+10.2f}"
              f"{r['client_mb_s']:>9.0f} MB/s")
        if r["load"] == "wake":
            print(f"  {'':18}  without: mean {r['without']:.1f} us; p99 {r['p99_us'][0]:.0f} -> "
                  f"{r['p99_us'][1]:.0f} us, latest {r['max_us'][0]:.0f} -> {r['max_us'][1]:.0f} us"
                  " (medians of the runs)")


def return_rows(results):
    rows = defaultdict(list)
    for r in results:
        if r["part"] == "return":
            rows[r["row"]].append(r)
    return rows


def print_returns(rows):
    if not rows:
        return
    print("\nThe owner returns: from the touch of the console until imd is gone (its memory is free when "
          "it is),\nand until the kernel counts nine tenths of that as free, where other programs left it:")
    print(f"  {'pool':28}{'returns':>9}{'gone: median':>16}{'highest':>12}{'counted: median':>18}{'of':>5}")
    for name, runs in rows.items():
        gone = sorted(r["gone_ms"] for r in runs)
        free = sorted(r["free_ms"] for r in runs if r["free_ms"] is not None)
        counted = f"{statistics.median(free):.0f} ms" if free else "-"
        print(f"  {name:28}{len(gone):>9}{statistics.median(gone):>13.0f} ms{gone[-1]:>9.0f} ms"
              f"{counted:>18}{len(free):>5}")


def print_storms(runs):
    if not runs:
        return
    ms = sorted(r["ms"] for r in runs)
    taken = statistics.median(r["taken_bytes"] for r in runs) / 2**20
    print(f"\nThe owner's program takes memory: the first page is back after {statistics.median(ms):.0f} ms "
          f"(median of {len(ms)}; at most {ms[-1]:.0f} ms), when it had taken {taken:.0f} MiB.")


def main(work, out):
    with open(f"{work}/results", encoding="utf-8") as f:
        results = [json.loads(line) for line in f]
    with open(f"{work}/notes", encoding="utf-8") as f:
        notes = f.read().splitlines()
    slow, returns = slowdown_rows(results), return_rows(results)
    print_slowdown(slow)
    print_returns(returns)
    storms = [r for r in results if r["part"] == "storm"]
    print_storms(storms)
    with open(out, "w", encoding="utf-8") as f:
        json.dump({"notes": notes, "slowdown": slow, "returns": returns, "storms": storms}, f, indent=1)


main(*sys.argv[1:])

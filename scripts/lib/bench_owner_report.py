# SPDX-License-Identifier: MIT
"""The report of scripts/bench-owner.

Usage: bench_owner_report.py WORK OUTPUT.json
  WORK/results (a line of JSON a measurement), WORK/notes and WORK/command in; tables to the
  terminal, and all of it to a file of JSON.
Usage: bench_owner_report.py --page OUTPUT.json PAGE
  Writes the tables of each part that was measured into the page, between the part's two marks.
"""
import contextlib
import io
import json
import statistics
import sys
import textwrap
from collections import defaultdict

SCENES = {"busy": "no core to spare", "spare": "a core to spare"}
STOLEN_MAX = 20  # thousandths of a core that a virtual machine's host took; more, and a pair does not count
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
    pairs, stolen = defaultdict(dict), defaultdict(int)
    served, shares = defaultdict(list), defaultdict(list)
    for r in results:
        if r["part"] != "slowdown":
            continue
        key = r["scene"], r["load"], r["pair"]
        pairs[key][r["with"]] = r["run"]
        stolen[key] = max(stolen[key], r.get("stolen_permille", 0))
        if r["with"]:
            served[r["scene"], r["load"]].append(r["reader"]["mb_s"])
            shares[r["scene"], r["load"]].append(r["imd_permille"] / 10)
    rows = []
    for scene in SCENES:
        for load in LOADS:
            measured = [(k, p) for k, p in sorted(pairs.items()) if k[:2] == (scene, load) and len(p) == 2]
            both = [p for k, p in measured if stolen[k] <= STOLEN_MAX]
            if len(both) < 3:
                both = [p for _, p in measured]
            if len(both) < 3:
                continue
            disturbed = sum(stolen[k] > STOLEN_MAX for k, _ in measured)
            if load == "wake":
                changes = [p[True]["mean_us"] - p[False]["mean_us"] for p in both]
                base = statistics.median(p[False]["mean_us"] for p in both)
                unit = "us"
            else:
                changes = [100 * (p[False]["per_s"] / p[True]["per_s"] - 1) for p in both]
                base = statistics.median(p[False]["per_s"] for p in both)
                unit = "%"
            mean, half = mean_and_half(changes)
            row = {"scene": scene, "load": load, "unit": unit, "pairs": len(both), "disturbed": disturbed,
                   "all_pairs": len(measured),
                   "without": base, "mean": mean, "half": half,
                   "median": statistics.median(changes), "changes": changes,
                   "client_mb_s": statistics.median(served[scene, load]),
                   "imd_percent": statistics.median(shares[scene, load])}
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
    print(f"  {'host':18}{'work':28}{'slower by':>24}{'median':>10}{'client got':>14}{'imd ran':>10}")
    for r in rows:
        by = f"{r['mean']:+.2f} {r['unit']} +- {r['half']:.2f}"
        print(f"  {SCENES[r['scene']]:18}{LOADS[r['load']]:28}{by:>24}{r['median']:>+10.2f}"
              f"{r['client_mb_s']:>9.0f} MB/s{r['imd_percent']:>8.1f} %")
        if r["load"] == "wake":
            print(f"  {'':18}  without: mean {r['without']:.1f} us; p99 {r['p99_us'][0]:.0f} -> "
                  f"{r['p99_us'][1]:.0f} us, latest {r['max_us'][0]:.0f} -> {r['max_us'][1]:.0f} us"
                  " (medians of the runs)")
    print("  (client got: in all of its 1.5 s; imd ran: of one core, while the owner's program did)")
    for r in rows:
        if r["disturbed"]:
            used = "left out" if r["pairs"] < r["all_pairs"] else "counted all the same, for hardly any were not"
            print(f"  {SCENES[r['scene']]}, {LOADS[r['load']]}: from {r['disturbed']} of {r['all_pairs']} pairs the host of "
                  f"this virtual machine took processors; they are {used}")


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
        left = sorted(r["left_ms"] for r in runs if "left_ms" in r)
        gone = sorted(r["gone_ms"] for r in runs)
        free = sorted(r["free_ms"] for r in runs if r["free_ms"] is not None)
        counted = f"{statistics.median(free):.0f} ms" if free else "-"
        print(f"  {name:28}{len(gone):>9}{statistics.median(gone):>13.0f} ms{gone[-1]:>9.0f} ms"
              f"{counted:>18}{len(free):>5}")
        if left:
            print(f"  {'  all but a hundredth is back':28}{len(left):>9}{statistics.median(left):>13.0f} ms{left[-1]:>9.0f} ms")


def print_storms(runs):
    if not runs:
        return
    ms = sorted(r["ms"] for r in runs)
    taken = statistics.median(r["taken_bytes"] for r in runs) / 2**20
    rate = statistics.median(r["storm_bytes"] / r["storm_ms"] for r in runs if r["storm_ms"]) / 1e6
    touched = sorted(r["touched_ms"] for r in runs if r["touched_ms"] is not None)
    storm = statistics.median(r["storm_bytes"] for r in runs) / 2**20
    lent = statistics.median(r["lent_bytes"] for r in runs) / 2**20
    print(f"\nThe owner's program takes {storm:.0f} MiB at {rate:.2g} GB/s while {lent:.0f} MiB are lent ({len(ms)} storms):")
    print(f"  first page back, from the storm's start: median {statistics.median(ms):.0f} ms, "
          f"highest {ms[-1]:.0f} ms; the storm had taken {taken:.0f} MiB (median)")
    still = sorted(r["still_ms"] for r in runs if "still_ms" in r)
    if still:
        print(f"  until then the measuring thread, which looks each half millisecond, did not run for {statistics.median(still):.0f} ms"
              f"\n  (median; highest {still[-1]:.0f} ms) at a time: the machine was kept by the host or by its programs")
    if touched:
        late = sorted(r["ms"] - r["touched_ms"] for r in runs if r["touched_ms"] is not None)
        print(f"  the headroom of 15 % was touched in {len(touched)} of them, {statistics.median(touched):.0f} ms after the "
              f"start (median);\n  from then to the first page back: median {statistics.median(late):.0f} ms "
              "(negative: it was back before)")
    else:
        print("  the headroom of 15 % was touched in none of them")


def print_mornings(runs):
    if not runs:
        return
    heap, file = (runs[0][k] / 2**20 for k in ("heap_bytes", "file_bytes"))
    print(f"\nThe morning: the first touch of an idle heap of {heap:.0f} MiB and a warm file of {file:.0f} MiB:")
    print(f"  {'night':16}{'nights':>8}{'heap: median':>15}{'worst':>10}{'file: median':>15}{'worst':>10}"
          f"{'swapped':>11}{'not cached':>13}{'lent':>11}")
    for which in (False, True):
        some = [r for r in runs if r["with"] == which]
        if not some:
            continue
        cells = "".join(f"{statistics.median(r[k] for r in some):>{w}.0f} ms{max(r[k] for r in some):>7.0f} ms"
                        for k, w in (("heap_ms", 12), ("file_ms", 12)))
        sizes = "".join(f"{statistics.median(r[k] for r in some) / 2**20:>{w}.0f} MiB"
                        for k, w in (("swapped_bytes", 7), ("uncached_bytes", 9), ("lent_bytes", 7)))
        print(f"  {'with clients' if which else 'without Dodo':16}{len(some):>8}{cells}{sizes}")
    print("  (swapped: of the heap; not cached: of the file; lent: held by imd; all of them when the night ended, medians)")


def print_all_storms(results):
    rates = defaultdict(list)
    for r in results:
        rates[r.get("rate", "fast")].append(r)
    for runs in rates.values():
        print_storms(runs)


def of(data, part):
    return [r for r in data["results"] if r["part"] == part]


PARTS = {
    "slowdown": lambda data: print_slowdown(data["slowdown"]),
    "return": lambda data: print_returns(return_rows(data["results"])),
    "storm": lambda data: print_all_storms(of(data, "storm")),
    "morning": lambda data: print_mornings(of(data, "morning")),
}


def print_all(data):
    for show in PARTS.values():
        show(data)


def section(data, part):
    """What the page has of a part: how it was measured, and its tables."""
    tables = io.StringIO()
    with contextlib.redirect_stdout(tables):
        PARTS[part](data)
    machine = next((n for n in data["notes"] if n.startswith("machine: ")), "")[len("machine: "):]
    said = [f"`{data['command'].strip()}`, on {machine}."]
    said += [n[len(part) + 2].upper() + n[len(part) + 3:] + "." for n in data["notes"] if n.startswith(f"{part}: ") and len(n) < 120]
    text = textwrap.fill(" ".join(said), 120, break_on_hyphens=False, break_long_words=False)
    figures = textwrap.indent(tables.getvalue().strip("\n"), "    ", lambda line: line.strip())
    return f"\n{text}\n\n{figures}\n\n"


def page(source, path):
    """Replaces the sections of the parts that were measured; the others stay as they are."""
    with open(source, encoding="utf-8") as f:
        data = json.load(f)
    with open(path, encoding="utf-8") as f:
        text = f.read()
    for part in PARTS:
        if not of(data, part):
            continue
        begin, end = f"<!-- figures: {part} -->\n", f"<!-- end: {part} -->\n"
        before, rest = text.split(begin)
        text = before + begin + section(data, part) + end + rest.split(end)[1]
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(work, out):
    with open(f"{work}/results", encoding="utf-8") as f:
        results = [json.loads(line) for line in f]
    with open(f"{work}/notes", encoding="utf-8") as f:
        notes = f.read().splitlines()
    with open(f"{work}/command", encoding="utf-8") as f:
        command = f.read()
    data = {"command": command, "notes": notes, "slowdown": slowdown_rows(results), "results": results}
    print_all(data)
    with open(out, "w", encoding="utf-8") as f:
        json.dump(data, f, indent=1)


if __name__ == "__main__":
    if sys.argv[1] == "--page":
        page(*sys.argv[2:])
    else:
        main(*sys.argv[1:])

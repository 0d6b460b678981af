# SPDX-License-Identifier: MIT
"""The report of scripts/bench-manage: WORK/results, WORK/mixes (a line of JSON a run) and WORK/notes in; a table
and the worst cell to the terminal, the table as Markdown and everything as JSON to files.

bench_manage_report.py WORK JSON MARKDOWN
"""
import json
import statistics
import sys
from collections import defaultdict

RATIO_MAX, EXCESS_MAX_US = 1.05, 0.2  # never slower than pread: within one of these
STOLEN_MAX = 0.01  # of the processors, that says nothing against a round
LINKS = {"none": "unshaped", "1gbit": "1 Gbit/s"}


def spread(values):
    return {"median": statistics.median(values), "lowest": min(values), "highest": max(values)}


def mean_us(run):
    return run["read_seconds"] * 1e6 / run["requests"]


def quiet(pairs):
    """Those during which the host took next to nothing of the processors, or the half in which that was
    least, whatever came of them."""
    def stolen(pair):
        return max(r["stolen"] for r in pair.values())
    calm = sum(stolen(p) <= STOLEN_MAX for p in pairs)
    return sorted(pairs, key=stolen)[:max(calm, (len(pairs) + 1) // 2)]


def cells(results):
    rounds = defaultdict(lambda: defaultdict(dict))
    for r in results:
        rounds[r["file"], r["link"], r["pattern"]][r["round"]][r["backend"]] = {**r["run"], "stolen": r["stolen"]}
    for (file, link, pattern), all_pairs in rounds.items():
        all_pairs = [p for p in all_pairs.values() if len(p) == 2]
        pairs = quiet(all_pairs)
        of = {b: [p[b] for p in pairs] for b in ("disk", "manage")}
        read = sum(r["verified_bytes"] for r in of["manage"])
        yield {
            "file": file, "link": link, "pattern": pattern, "rounds": len(pairs),
            "ratio": spread([mean_us(p["manage"]) / mean_us(p["disk"]) for p in pairs]),
            "excess_us": spread([mean_us(p["manage"]) - mean_us(p["disk"]) for p in pairs]),
            "mean_us": {b: spread([mean_us(r) for r in of[b]]) for b in of},
            "p50_us": {b: statistics.median(r["request_us_p50"] for r in of[b]) for b in of},
            "local_percent": 100 * sum(r["local_bytes"] for r in of["manage"]) / read,
            "remote_percent": 100 * sum(r["remote_bytes"] for r in of["manage"]) / read,
            "rounds_in_all": len(all_pairs),
            "stolen_percent": 100 * max(r["stolen"] for p in pairs for r in p.values()),
            "all_ratios": [mean_us(p["manage"]) / mean_us(p["disk"]) for p in all_pairs],
            "wrong_bytes": sum(r["wrong_bytes"] for p in all_pairs for r in p.values()),
            "errors": sum(r["errors"] for p in all_pairs for r in p.values()),
        }


def within(cell):
    return beyond(cell) <= 0


def beyond(cell):
    """How far beyond what it may be: 0 is just within."""
    return min(cell["ratio"]["median"] - RATIO_MAX,
               (cell["excess_us"]["median"] - EXCESS_MAX_US) / cell["mean_us"]["disk"]["median"])


def us(value):
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:,.0f}"


def row(cell):
    ratio = cell["ratio"]
    change = f"{ratio['median']:.2f} ({ratio['lowest']:.2f} to {ratio['highest']:.2f})"
    verdict = (f"**{1 / ratio['median']:.1f} times as fast**" if ratio["median"] <= 1 / RATIO_MAX
               else "the same" if within(cell) else "**slower**")
    return (f"| {cell['file']} | {LINKS[cell['link']]} | {cell['pattern']} "
            f"| {us(cell['mean_us']['disk']['median'])} | {us(cell['mean_us']['manage']['median'])} "
            f"| {us(cell['p50_us']['disk'])} | {us(cell['p50_us']['manage'])} | {change} "
            f"| {cell['excess_us']['median']:+.2f} | {cell['local_percent']:.0f} / {cell['remote_percent']:.0f} "
            f"| {verdict} |")


def name(cell):
    return f"{cell['file']}, {LINKS[cell['link']]}, {cell['pattern']}"


def summary(all_cells):
    # The worst is the one that is farthest beyond what it may be.
    worst = max(all_cells, key=beyond)
    slow = [c for c in all_cells if not within(c)]
    wins = sorted((c for c in all_cells if c["ratio"]["median"] <= 1 / RATIO_MAX), key=lambda c: c["ratio"]["median"])
    yield (f"Worst cell: {name(worst)}: {worst['ratio']['median']:.3f} times pread's time, "
           f"{worst['excess_us']['median']:+.2f} us a call; to be kept: at most {RATIO_MAX}, or {EXCESS_MAX_US} us a call: "
           f"{'kept' if within(worst) else 'NOT KEPT'}.")
    yield f"{len(all_cells)} cells: Dodo wins in {len(wins)}, is slower than that in {len(slow)}."
    if wins:
        faster = (f"{name(c)}: {1 / c['ratio']['median']:.1f} times as fast" for c in wins)
        yield f"Wins: {'; '.join(faster)}."
    bad = sum(c["wrong_bytes"] for c in all_cells) + sum(c["errors"] for c in all_cells)
    most = max(all_cells, key=lambda c: c["stolen_percent"])
    yield (f"Of {'/'.join(sorted({str(c['rounds_in_all']) for c in all_cells}))} rounds those count in which the host took no more "
           f"than {100 * STOLEN_MAX:.0f} % of the processors, or the half in which it took least: up to "
           f"{most['stolen_percent']:.0f} % ({name(most)}).")
    yield f"Every byte was checked: {'all were right' if not bad else f'{bad} WRONG'}."


def mixes(results):
    """Cells of manage-two: of each file the mean, the median and what one in a thousand exceeds."""
    of = defaultdict(lambda: defaultdict(list))
    for r in results:
        of[r["mix"]][r["backend"]].append(r["run"])
    for mix, runs in of.items():
        for file in ("file", "cheap"):
            if file in runs["disk"][0]:
                yield {"mix": mix, "file": file,
                       **{b: {k: spread([r[file][k] for r in runs[b]]) for k in ("mean_us", "p50_us", "p999_us")} for b in runs},
                       "wrong_bytes": sum(r["wrong_bytes"] for b in runs.values() for r in b)}


def mix_table(all_mixes):
    if not all_mixes:
        return
    yield ("| mix | file | pread mean, us | cread mean, us | pread p50 | cread p50 | pread p99.9 | cread p99.9 |")
    yield "|---|---|---|---|---:|---:|---:|---:|"
    for m in all_mixes:
        means = [f"{us(s['median'])} ({us(s['lowest'])} to {us(s['highest'])})" for s in (m["disk"]["mean_us"], m["manage"]["mean_us"])]
        name_of_file = "all" if m["mix"] != "two" else "expensive" if m["file"] == "file" else "cheap"
        others = [us(m[b][k]["median"]) for k in ("p50_us", "p999_us") for b in ("disk", "manage")]
        yield f"| {m['mix']} | {name_of_file} | {' | '.join(means + others)} |"


def load(path):
    with open(path) as f:
        return [json.loads(line) for line in f]


def main(work, json_path, markdown_path):
    all_cells = list(cells(load(f"{work}/results")))
    all_mixes = list(mixes(load(f"{work}/mixes")))
    with open(f"{work}/notes") as f:
        notes = f.read().splitlines()
    if not all_cells and not all_mixes:
        sys.exit("bench-manage: nothing could be measured here")
    lines = ["| file | link | pattern | pread, us | cread, us | pread p50 | cread p50 | ratio (rounds) | us a call | "
             "% local / remote | |", "|---|---|---|---:|---:|---:|---:|---|---:|---:|---|"]
    lines += [row(c) for c in all_cells]
    more = list(mix_table(all_mixes))
    text = list(summary(all_cells)) if all_cells else []
    lines = [*(lines if all_cells else []), *([""] if all_cells and more else []), *more]
    print("\n".join(["", *lines, "", *text]))
    with open(markdown_path, "w") as f:
        f.write("\n".join([*(f"- {n}" for n in notes), "", *lines, "", *(f"- {t}" for t in text), ""]))
    with open(json_path, "w") as f:
        json.dump({"notes": notes, "cells": all_cells, "mixes": all_mixes, "summary": text}, f, indent=1)
    print(f"Written: {json_path}, {markdown_path}")
    return any(c["wrong_bytes"] or c.get("errors") for c in all_cells + all_mixes) or not all(map(within, all_cells))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

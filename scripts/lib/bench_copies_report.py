#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tables of scripts/bench-copies. Status 1: a byte was wrong, or a call failed."""
import collections
import json
import statistics
import sys


def show(values, form="{:.1f}"):
    if not values:
        return "-"
    return f"{form.format(statistics.median(values))} ({form.format(min(values))}-{form.format(max(values))})"


def kills(lines):
    """By what was asked for: what the program saw in each second."""
    runs = collections.defaultdict(list)
    for line in lines:
        runs[line["size"], line["rate"], line["back"], line["writes"]].append(line)
    print("\nOne imd after the other is killed, regions mirrored: medians of the kills (lowest-highest); "
          "inf: not before the next one")
    print(f"{'data':>6} {'rate':>5} {'writes':>6} {'back, s':>7} {'kills':>5} {'MiB/s':>6} {'from the file':>14} {'wrong':>5} "
          f"{'failed':>6} {'all twice after, s':>18} {'MiB/s copied':>17} {'there once, MiB':>15}")
    for (size, rate, back, writes), seconds in runs.items():
        kill, times, rates, lost = 0, [], [], []
        told = [line["told"] for line in seconds]
        whole = told[0]["filled"]
        for n in range(1, 1 + max(line["kill"] for line in seconds)):
            mine = [line for line in seconds if line["kill"] == n]
            missing = [whole - line["told"]["mirrored"] for line in mine]
            lost.append(max(missing) / 2**20)
            done = [line["second"] for line, lacks in zip(mine, missing) if lacks == 0 and line["second"] > 1]
            times.append(done[0] if done else float("inf"))
            pace = [a - b for a, b in zip(missing, missing[1:]) if a > b > 0]
            rates += [statistics.median(pace) / 2**20] if pace else []
            kill += 1
        read = sum(t["reads"] for t in told[1:]) * 8192 / 2**20 / sum(t["seconds"] for t in told[1:])
        file = sum(t["file_bytes"] for t in told[1:])
        print(f"{size:>6} {rate:>5} {writes:>6} {back:>7} {kill:>5} {read:6.1f} {file / 1024:10.0f} KiB "
              f"{max(t['wrong'] for t in told):>5} {sum(t['failed'] for t in told):>6} {show(times, '{:.0f}'):>18} "
              f"{show(rates):>17} {show(lost, '{:.0f}'):>15}")


def owners(lines):
    """By form: the share of what was read that came from remote memory."""
    print("\nThe owner of one of twelve hosts is back every 30 s: bytes from remote memory, % of all (lowest-highest of the rounds)")
    print(f"{'form':>6} {'without':>22} {'with':>20} {'points lost':>16} {'MiB/s without':>18} {'with':>18} {'wrong':>5} {'failed':>6}")
    for form in dict.fromkeys(line["form"] for line in lines):
        share, lost, speed, bad = {True: [], False: []}, [], {True: [], False: []}, [0, 0]
        for n in dict.fromkeys(line["round"] for line in lines):
            for quiet in (True, False):
                told = [line["told"] for line in lines
                        if (line["form"], line["round"], line["phase"] == "without") == (form, n, quiet)]
                if not told:
                    continue
                remote, file = (sum(t[k] for t in told) for k in ("remote_bytes", "file_bytes"))
                share[quiet].append(100 * remote / (remote + file))
                speed[quiet].append((remote + file) / 2**20 / sum(t["seconds"] for t in told))
                bad = [max([bad[0]] + [t["wrong"] for t in told]), bad[1] + sum(t["failed"] for t in told)]
        lost = [a - b for a, b in zip(share[True], share[False])]
        print(f"{form:>6} {show(share[True], '{:.2f}'):>22} {show(share[False], '{:.2f}'):>20} {show(lost, '{:.2f}'):>16} "
              f"{show(speed[True]):>18} {show(speed[False]):>18} {bad[0]:>5} {bad[1]:>6}")


def mirrors(lines):
    """Two copies beside one: of each round, the rate of the one beside that of the other."""
    print("\nReads and writes of regions with two copies, on two hosts at 100 Mbit/s: medians of the rounds (lowest-highest)")
    print(f"{'the client has':>14} {'threads':>7} {'calls':>10} {'MB/s, one copy':>20} {'two copies':>20} {'beside one':>18}")
    runs = collections.defaultdict(dict)
    for line in lines:
        for run in line["told"]["runs"]:
            runs[line["line"], line["threads"], run["call"], run["size_bytes"]][line["round"], line["mirror"]] = run["mb_per_s"]
    for (rate, threads, call, size), speed in sorted(runs.items(), key=lambda run: (run[0][2], run[0])):
        one, two = ([v for (_, mirror), v in sorted(speed.items()) if mirror == m] for m in ("no", "yes"))
        print(f"{rate:>14} {threads:>7} {call:>5} {size // 1024:>3}K {show(one):>20} {show(two):>20} "
              f"{show([b / a for a, b in zip(one, two)], '{:.2f}'):>18}")


def bad(line):
    """Whether a byte was wrong, or a call failed."""
    told = line["told"]
    return any(run["wrong_bytes"] for run in told["runs"]) if "runs" in told else told["wrong"] or told["failed"]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as figures:
        all_lines = [json.loads(line) for line in figures]
    for part, table in (("kill", kills), ("owner", owners), ("mirror", mirrors)):
        some = [line for line in all_lines if line["part"] == part]
        if some:
            table(some)
    sys.exit(any(map(bad, all_lines)))

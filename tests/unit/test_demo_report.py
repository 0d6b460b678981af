#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What scripts/demo says of its runs, and that README.md shows it in that form."""
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))

# pylint: disable=wrong-import-position
import demo_report as demo

M = 1 << 20


def synthetic(backend, seconds, remote=0, file=0, lost=0):
    return {"backend": backend, "seconds": seconds, "remote_bytes": remote, "local_bytes": 0, "file_bytes": file,
            "regions_lost": lost, "size_bytes": 24 * M, "region_bytes": M, "wrong_bytes": 0, "mb_per_s": 90.0,
            "verified_bytes": remote + file, "request_us_p50": 8000.0}


def mining(backend, seconds, remote=0, file=0, lost=0, sums=(9,)):
    return {"backend": backend, "seconds": seconds, "remote_bytes": remote, "local_bytes": 0, "file_bytes": file,
            "regions_lost": lost, "region_bytes": M, "pass_seconds": [seconds], "itemsets": 3, "by_size": [3],
            "support_sums": list(sums)}


def program(backend, seconds, answer="1|2"):
    return {"backend": backend, "seconds": seconds, "answer": answer}


RUNS = {"sequential-disk": synthetic("disk", 2.3, 0, 96 * M), "sequential-manage": synthetic("manage", 2.3, 0, 96 * M),
        "hotcold-disk": synthetic("disk", 36.6, 0, 96 * M), "hotcold-dodo": synthetic("dodo", 13.3, 80 * M, 16 * M),
        "random-disk": synthetic("disk", 51, 0, 96 * M), "random-dodo": synthetic("dodo", 18.7, 72 * M, 24 * M),
        "random-prefetch": synthetic("dodo", 7.5, 90 * M, 6 * M),
        "random-manage": synthetic("manage", 7.2, 80 * M, 8 * M),
        "random-killed": synthetic("dodo", 23.1, 68 * M, 28 * M, 6), "mine-disk": mining("disk", 9, 0, 30 * M),
        "lookup-disk": program("disk", 14.8), "lookup-first": program("run", 7.3), "lookup-second": program("run", 0.9),
        "mine-first": mining("dodo", 8, 20 * M, 10 * M), "mine-second": mining("dodo", 4, 30 * M, 0)}


def report(runs):
    """What it prints, and its file."""
    with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()) as printed:
        for name, run in runs.items():
            with open(os.path.join(work, name + ".json"), "w", encoding="utf-8") as f:
                json.dump(run, f)
        with open(os.path.join(work, "notes"), "w", encoding="utf-8") as f:
            f.write("a note\n")
        output = os.path.join(work, "figures.json")
        demo.report(work, output)
        with open(output, encoding="utf-8") as f:
            return printed.getvalue(), json.load(f)


class Report(unittest.TestCase):
    def test_lines(self):
        self.assertEqual(demo.line(RUNS["random-disk"]), "  51.0 s, 0 wrong bytes")
        self.assertEqual(demo.line(RUNS["random-killed"]),
                         "  23.1 s, 71 % from remote memory, 6 of 24 regions lost with their host, 0 wrong bytes")
        self.assertEqual(demo.line(RUNS["mine-second"]), "   4.0 s, 100 % from remote memory, 1 scans, 3 itemsets")
        self.assertEqual(demo.line(RUNS["lookup-first"]), "   7.3 s")
        self.assertIn("2 regions lost with their host", demo.line(mining("dodo", 8, M, M, lost=2)))

    def test_what_counts_for_nothing_is_refused(self):
        for name, run in (("mine-second", mining("dodo", 4, 30 * M, 0, sums=(8,))),
                          ("lookup-second", program("run", 0.9, "1|3")),
                          ("random-dodo", synthetic("dodo", 18, 0, 96 * M))):
            with self.assertRaises(SystemExit):
                report({**RUNS, name: run})

    def test_an_unchanged_program_may_be_left_out(self):
        text, figures = report({name: run for name, run in RUNS.items() if not name.startswith("lookup")})
        self.assertNotIn("sqlite3", text)
        self.assertEqual(len(figures["rows"]), len(demo.ROWS) - 2)

    def test_of_several_runs_the_median_counts(self):
        several = {name: run for name, run in RUNS.items() if name != "sequential-manage"}
        for i, seconds in enumerate((2.0, 9.0, 2.3)):
            several["sequential-manage-%d" % (i + 1)] = synthetic("manage", seconds, 0, 96 * M)
        self.assertEqual(report(several), report(RUNS))
        with self.assertRaises(SystemExit):
            report({name: run for name, run in RUNS.items() if name != "random-killed"})

    def test_the_readme_has_the_table_in_this_form(self):
        text, figures = report(RUNS)
        head = next(line for line in text.splitlines() if "plain disk" in line and "speedup" in line)
        titles = [row["title"] for row in figures["rows"]]
        form = re.compile("    (" + "|".join(map(re.escape, titles)) + r") +[0-9.]+ s +[0-9.]+ s +[0-9.]+x +(?:[0-9]+ %|-)")
        with open(os.path.join(TOP, "README.md"), encoding="utf-8") as f:
            lines = f.read().split("    " + head + "\n")[1].split("\n\n")[0].splitlines()
        self.assertGreaterEqual(len(lines), 4)
        for line in lines:
            self.assertRegex(line, form)
            self.assertEqual(len(line), 4 + len(head))


unittest.main()

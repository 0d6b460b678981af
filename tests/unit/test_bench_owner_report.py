#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which pairs of measurements the report of scripts/bench-owner counts, and what it says of the rest."""
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
import bench_owner_report as owner

QUIET, MOST, TOO_MUCH = 0, owner.STOLEN_MAX, owner.STOLEN_MAX + 1


def half(pair, beside, per_s, stolen=QUIET, load="cpu", scene="busy"):
    """One measurement: without clients, or with one beside it."""
    return {"part": "slowdown", "scene": scene, "load": load, "pair": pair, "with": beside, "imd_permille": 20,
            "stolen_permille": stolen, "run": {"per_s": per_s, "mean_us": per_s, "p99_us": 150, "max_us": 900},
            "reader": {"mb_s": 1500} if beside else None}


def pairs(*runs, load="cpu"):
    """runs: (without, with, stolen of the first, stolen of the second) each."""
    return [half(i, beside, run[beside], run[2 + beside], load)
            for i, run in enumerate(runs, 1) for beside in (False, True)]


def printed(rows):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        owner.print_slowdown(rows)
    return out.getvalue()


class Slowdown(unittest.TestCase):
    GOOD = ((110, 100, QUIET, QUIET), (110, 100, MOST, QUIET), (110, 100, QUIET, MOST))

    def row(self, measured):
        rows = owner.slowdown_rows(measured)
        self.assertEqual(len(rows), 1)
        return rows[0]

    def test_undisturbed_pairs_all_count(self):
        row = self.row(pairs(*self.GOOD))
        self.assertEqual((row["pairs"], row["disturbed"], row["all_pairs"]), (3, 0, 3))
        self.assertAlmostEqual(row["mean"], 10)
        self.assertAlmostEqual(row["half"], 0)
        text = printed([row])
        self.assertIn("+10.00 % +- 0.00", text)
        self.assertNotIn("took processors", text)

    def test_a_pair_is_disturbed_by_either_half_and_left_out(self):
        for stolen in ((TOO_MUCH, QUIET), (QUIET, TOO_MUCH)):
            row = self.row(pairs(*self.GOOD, (300, 100, *stolen)))
            self.assertEqual((row["pairs"], row["disturbed"], row["all_pairs"]), (3, 1, 4))
            self.assertAlmostEqual(row["mean"], 10)
            self.assertEqual(len(row["changes"]), 3)
            self.assertIn("no core to spare, computing: from 1 of 4 pairs the host of this virtual machine took "
                          "processors; they are left out\n", printed([row]))

    def test_where_hardly_any_was_undisturbed_all_count_and_it_says_so(self):
        row = self.row(pairs(*self.GOOD[:2], (140, 100, TOO_MUCH, QUIET), (140, 100, QUIET, TOO_MUCH)))
        self.assertEqual((row["pairs"], row["disturbed"], row["all_pairs"]), (4, 2, 4))
        self.assertAlmostEqual(row["mean"], 25)
        text = printed([row])
        self.assertIn("from 2 of 4 pairs", text)
        self.assertIn("they are counted all the same, for hardly any were not\n", text)
        self.assertNotIn("left out", text)

    def test_fewer_than_three_pairs_are_no_figure(self):
        self.assertEqual(owner.slowdown_rows(pairs(*self.GOOD[:2])), [])
        self.assertEqual(owner.slowdown_rows(pairs(*self.GOOD)[:-1]), [])  # the last pair's half is missing
        self.assertEqual(printed([]), "")

    def test_each_work_and_host_has_its_own_pairs(self):
        late = pairs((80, 90, QUIET, QUIET), (80, 94, QUIET, QUIET), (80, 92, QUIET, QUIET), load="wake")
        spare = [{**r, "scene": "spare"} for r in pairs(*self.GOOD, (300, 100, TOO_MUCH, QUIET))]
        rows = owner.slowdown_rows(spare + late + pairs(*self.GOOD))
        self.assertEqual([(r["scene"], r["load"], r["disturbed"]) for r in rows],
                         [("busy", "cpu", 0), ("busy", "wake", 0), ("spare", "cpu", 1)])
        self.assertAlmostEqual(rows[1]["mean"], 12)  # later by so many us
        self.assertAlmostEqual(rows[1]["half"], owner.T95[2] * 2 / 3**0.5)
        self.assertIn("a core to spare, computing: from 1 of 4 pairs", printed(rows))

    def test_the_script_measures_again_what_the_report_would_leave_out(self):
        with open(os.path.join(TOP, "scripts/bench-owner"), encoding="utf-8") as f:
            self.assertEqual(re.findall(r"\bstolen_max=(\d+)", f.read()), [str(owner.STOLEN_MAX)])


class Page(unittest.TestCase):
    def test_the_figures_go_between_the_marks_with_what_was_left_out(self):
        with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()) as terminal:
            def path(name, text):
                with open(os.path.join(work, name), "w", encoding="utf-8") as f:
                    f.write(text)
                return f.name
            path("results", "".join(json.dumps(r) + "\n" for r in
                                    pairs(*Slowdown.GOOD, (300, 100, QUIET, TOO_MUCH))))
            path("notes", "machine: 2 cores\nanother note\n")
            path("command", "scripts/bench-owner --quick\n")
            output = os.path.join(work, "figures.json")
            owner.main(work, output)
            old = "".join(f"<!-- figures: {part} -->\nold {part}\n<!-- end: {part} -->\n" for part in owner.PARTS)
            page = path("page.md", f"before\n{old}after\n")
            owner.page(output, page)
            with open(page, encoding="utf-8") as f:
                text = f.read()
        self.assertTrue(text.startswith("before\n<!-- figures: slowdown -->\n"))
        for part in ("return", "storm", "morning"):  # not measured: the page keeps them
            self.assertIn(f"<!-- figures: {part} -->\nold {part}\n<!-- end: {part} -->\n", text)
        self.assertTrue(text.endswith("<!-- end: morning -->\nafter\n"))
        self.assertNotIn("old slowdown", text)
        self.assertIn("`scripts/bench-owner --quick`, on 2 cores.", text)
        for line in terminal.getvalue().strip("\n").splitlines():
            self.assertIn(line, text)
        self.assertIn("from 1 of 4 pairs", text)


class Morning(unittest.TestCase):
    @staticmethod
    def night(beside, heap_ms, file_ms):
        return {"part": "morning", "with": beside, "heap_ms": heap_ms, "file_ms": file_ms, "heap_bytes": 1 << 30,
                "file_bytes": 1 << 30, "swapped_bytes": 0, "uncached_bytes": 5 << 20, "lent_bytes": beside << 30}

    def test_median_and_worst_of_nights_with_and_without(self):
        nights = [self.night(False, *t) for t in ((100, 200), (110, 210), (190, 290))]
        nights += [self.night(True, *t) for t in ((120, 220), (130, 230), (700, 900))]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            owner.print_mornings(nights)
        without, beside = (line.split() for line in out.getvalue().splitlines() if line.startswith("  with"))
        self.assertEqual(without[3:11], "110 ms 190 ms 210 ms 290 ms".split())
        self.assertEqual(beside[3:11], "130 ms 700 ms 230 ms 900 ms".split())
        self.assertEqual(beside[-2:], ["1024", "MiB"])


unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The pure parts of scripts/evaluate: what is run, what counts as right, the ideal, the report."""
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "scripts/lib"))

# pylint: disable=wrong-import-position
import evaluate_check as check
import evaluate_ideal as ideal
import evaluate_plan as plan
import evaluate_plot as plot
import evaluate_report as report
import evaluate_targets as judge

K, M = 1 << 10, 1 << 20
# Random 8K in 10 ms, 32K in 13 ms; 4 MB/s one after the other; the network 8 MB/s after 1 ms.
LINES = [{"what": "h1 to client", "measured": 8.0, "asked": 8.0, "unit": "MB/s"},
         {"what": "h1 to client, there and back", "measured": 1000.0, "asked": None, "unit": "us"},
         {"what": "disk of client, random 8K", "measured": 8 * K / 10e-3 / 1e6, "asked": 1, "unit": "MB/s"},
         {"what": "disk of client, random 32K", "measured": 32 * K / 13e-3 / 1e6, "asked": 1, "unit": "MB/s"},
         {"what": "disk of client, sequential", "measured": 4.0, "asked": 4.0, "unit": "MB/s"}]


def synthetic(seconds, pattern="random", local=0, remote=0, file=0, compute=2.0, size=8 * M):
    return {"seconds": seconds, "read_seconds": seconds - compute, "pattern": pattern, "request_bytes": 8 * K,
            "size_bytes": size, "requests": (local + remote + file) // (8 * K), "local_bytes": local,
            "remote_bytes": remote, "file_bytes": file, "verified_bytes": local + remote + file,
            "wrong_bytes": 0, "errors": 0, "regions_failed": 0, "load": 0.5}


class Plan(unittest.TestCase):
    def test_names_are_unique_and_runs_too(self):
        cells = plan.cells(list(plan.PROFILES), 20, 24, True)
        keys = [c.run_key(s, n) for c in cells for s in c.systems for n in (1, 2, 3)]
        self.assertEqual(len(keys), len(set(keys)))

    def test_everything_shrinks_together(self):
        for size in (1, 24, 64):
            stage = plan.Stage(plan.PROFILES["paper"], "synthetic", 20, size)
            data = plan.data_bytes(plan.G, size)
            self.assertLess(data, plan.HOSTS * stage.bytes_of(plan.POOL))
            self.assertGreater(2 * data, plan.HOSTS * stage.bytes_of(plan.POOL) + stage.bytes_of(plan.CACHE))

    def test_lu_keeps_its_requests(self):
        for size in (1, 4, 16, 24, 64):
            order, files = plan.lu_shape(size)
            self.assertEqual(order * plan.LU_SLAB // files, plan.LU_ORDER * plan.LU_SLAB // plan.LU_FILES)

    def test_only_the_paper_computes_and_is_scaled(self):
        for cell in plan.cells(list(plan.PROFILES), 20, 24, True):
            if not cell.stage.profile.timed:
                self.assertEqual((cell.stage.time, plan.lu_rate(cell.stage)), (1, 0))

    def test_the_disk_alone_is_run_once_for_both_links(self):
        cell = next(c for c in plan.cells(["today-1g"], 20, 24, False) if c.name == "lu")
        self.assertEqual(cell.runs(), ("dodo",))
        self.assertEqual(judge.disk_key(cell, 2), "today-10g/lu@1/lu/disk/2")


class Ideal(unittest.TestCase):
    def setUp(self):
        self.costs = ideal.Costs(LINES)

    def test_costs_are_the_measured_ones(self):
        self.assertAlmostEqual(self.costs.random(8 * K), 10e-3)
        self.assertAlmostEqual(self.costs.random(32 * K), 13e-3)
        self.assertAlmostEqual(self.costs.network(8000), 2e-3)

    def test_bytes_cost_what_their_place_gives(self):
        run = synthetic(9.0, local=10 * 8 * K, remote=100 * 8 * K, file=50 * 8 * K)
        best = 2.0 + 100 * self.costs.network(8 * K) + 50 * 10e-3
        self.assertAlmostEqual(ideal.ideal_s("synthetic", run, run, self.costs), best)

    def test_where_data_fits_only_first_touches_are_the_disk_s(self):
        run = synthetic(9.0, file=4 * 8 * M)
        first = 1024 * (1 - (1 - 1 / 1024) ** 4096)
        best = 2.0 + (4096 - first) * self.costs.network(8 * K) + first * 10e-3
        self.assertAlmostEqual(ideal.ideal_s("synthetic", run, run, self.costs, fits=True), best)

    def test_hot_places_are_all_touched(self):
        self.assertAlmostEqual(ideal.first_touches("hotcold", 1000, 4000), 200 + 800 * (1 - (1 - 1 / 800) ** 800),
                               places=3)
        self.assertEqual(ideal.first_touches("sequential", 1000, 4000), 1000)

    def test_dmine_scans(self):
        run = {"pass_seconds": [3.0, 3.0], "pass_read_seconds": [2.5, 2.5], "remote_bytes": 128 * K,
               "file_bytes": 4_000_000}
        self.assertAlmostEqual(ideal.ideal_s("dmine", run, run, self.costs),
                               1.0 + self.costs.network(128 * K) + 1.0)

    def test_bound_of_lu(self):
        disk = {"io_share": 0.5, "io_seconds": 10.0}
        self.assertAlmostEqual(ideal.lu_bound({"io_seconds": 5.0}, disk), 1 / 0.75)


class Check(unittest.TestCase):
    def setUp(self):
        cells = plan.cells(["paper"], 20, 64, False)
        self.random = next(c for c in cells if c.name == "random 8K 1G")
        self.lu = next(c for c in cells if c.name == "lu")
        self.dmine = next(c for c in cells if c.name == "dmine")

    def test_right_and_wrong_bytes(self):
        run = synthetic(9.0, remote=4 * self.random.data)
        self.assertIsNone(check.check(self.random, "dodo", run, None))
        for change in ({"wrong_bytes": 1}, {"requests": 1}, {"local_bytes": 1}, {"regions_failed": 1}):
            self.assertIsNotNone(check.check(self.random, "dodo", {**run, **change}, None), change)
        self.assertIsNotNone(check.check(self.random, "disk", run, None))

    def test_itemsets_are_another_miner_s(self):
        run = {"transactions": 9, "min_count": 1, "itemsets": 3, "by_size": [3], "support_sums": [7],
               "regions_failed": 0, "remote_bytes": 5}
        self.assertIsNone(check.check(self.dmine, "second", run, dict(run)))
        self.assertIsNotNone(check.check(self.dmine, "second", run, {**run, "itemsets": 4}))

    def test_residual(self):
        run = {"errors": 0, "residual": 0.01, "residual_max": 16, "local_bytes": 1, "remote_bytes": 2,
               "file_bytes": 3, "read_bytes": 6, "regions_failed": 0}
        self.assertIsNone(check.check(self.lu, "dodo", run, None))
        for change in ({"residual": 17}, {"residual": None}, {"errors": 1}, {"read_bytes": 7}):
            self.assertIsNotNone(check.check(self.lu, "dodo", {**run, **change}, None), change)


class Report(unittest.TestCase):
    def setUp(self):
        self.cells = [c for c in plan.cells(["paper"], 20, 64, False) if c.stage.app == "synthetic"]
        runs = {}
        for cell in self.cells:
            for n in (1, 2, 3):
                runs[cell.run_key("disk", n)] = synthetic(20.0, cell.pattern, file=4 * cell.data, size=cell.data)
                dodo = synthetic(10.0 + n, cell.pattern, remote=4 * cell.data, size=cell.data)
                runs[cell.run_key("dodo", n)] = dodo
        self.results = {"settings": {"time_scale": 20, "size_scale": 64, "repeat": 3}, "machine": "a machine",
                        "started": "then", "builds": ["b"], "calibration": {"paper@20": LINES}, "runs": runs,
                        "failed": [], "skipped": []}

    def test_speedup_is_the_median_with_its_spread(self):
        row = judge.rows(self.cells, self.results)[0]
        self.assertEqual(row.speedup.text(), "1.67 (1.54-1.82)")

    def test_targets_are_reached_or_missed(self):
        found = {t.what: t.reached for t in judge.targets(judge.rows(self.cells, self.results))}
        self.assertTrue(found["sequential 8K 1G"])
        self.assertFalse(found["random 8K, 2 GB"])  # it is not less than with 1 GB
        for n in (1, 2, 3):
            self.results["runs"][self.cells[0].run_key("dodo", n)]["seconds"] = 21.0
        found = {t.what: t.reached for t in judge.targets(judge.rows(self.cells, self.results))}
        self.assertFalse(found["sequential 8K 1G"])

    def test_a_section_is_replaced_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "page.md")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"before\n{report.BEGIN}\nof last week\n{report.END}\nafter\n")
            for _ in range(2):
                report.replace(path, report.as_markdown(self.results, self.cells, "page.svg"))
                with open(path, encoding="utf-8") as f:
                    text = f.read()
                self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
                self.assertNotIn("of last week", text)
                self.assertEqual(text.count("reached |") + text.count("MISSED |"), 12)

    def test_the_plot_is_well_formed(self):
        import xml.dom.minidom  # pylint: disable=import-outside-toplevel
        xml.dom.minidom.parseString(plot.svg(judge.rows(self.cells, self.results)))


unittest.main()

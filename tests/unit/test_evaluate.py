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
import evaluate_lu as lu
import evaluate_plan as plan
import evaluate_plot as plot
import evaluate_quiet as quiet
import evaluate_report as report
import evaluate_targets as judge
import testbed_model as model

K, M = 1 << 10, 1 << 20
# Random 8K in 10 ms, 32K in 13 ms; 4 MB/s one after the other; the network 8 MB/s after 1 ms.
LINES = [{"what": "h1 to client", "measured": 8.0, "asked": 8.0, "unit": "MB/s"},
         {"what": "h1 to client, there and back", "measured": 1000.0, "asked": None, "unit": "us"},
         {"what": "disk of client, random 8K", "measured": 8 * K / 10e-3 / 1e6, "asked": 0.8, "unit": "MB/s"},
         {"what": "disk of client, random 32K", "measured": 32 * K / 13e-3 / 1e6, "asked": 2.5, "unit": "MB/s"},
         {"what": "disk of client, sequential", "measured": 4.0, "asked": 4.0, "unit": "MB/s"}]


def synthetic(seconds, pattern="random", local=0, remote=0, file=0, compute=2.0, size=8 * M):
    return {"seconds": seconds, "read_seconds": seconds - compute, "pattern": pattern, "request_bytes": 8 * K,
            "size_bytes": size, "requests": (local + remote + file) // (8 * K), "local_bytes": local,
            "remote_bytes": remote, "file_bytes": file, "verified_bytes": local + remote + file,
            "wrong_bytes": 0, "errors": 0, "regions_failed": 0, "load": 0.5, "quiet": True, "tries": 1, "stolen": 0.01}


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

    def test_only_lu_and_dmine_are_run_on_the_hypothetical_disk(self):
        cells = plan.cells(["paper-large"], 20, 64, True)
        self.assertEqual([c.name for c in cells], ["dmine", "lu"])
        for size, mb_s in ((8 * K, 0.57), (32 * K, 1.56)):  # the paper's own figures
            for name in ("paper", "paper-large"):
                self.assertAlmostEqual(model.random_per_s(model.disk(name), size, 1) * size / 1e6, mb_s, places=2)
        self.assertEqual([model.disk(d)["bandwidth"] for d in ("paper", "paper-large")], [7.75e6, 4.1e6])

    def test_lu_computes_for_what_the_paper_leaves_of_its_time(self):
        stage = plan.Stage(plan.PROFILES["paper"], "lu", 1, 1)
        seconds = lu.traffic(plan.LU_ORDER, plan.LU_SLAB).operations / plan.lu_rate(stage)
        self.assertAlmostEqual(seconds / (0.76 * 6 * 3600), 1, places=3)

    def test_lu_has_room_for_its_slabs_at_every_size(self):
        for size in (1, 4, 64):
            stage = plan.Stage(plan.PROFILES["paper"], "lu", 10, plan.lu_size(size))
            slabs = 3 * plan.lu_shape(size)[0] * plan.LU_SLAB * 8
            self.assertEqual(stage.memory("disk"), 128 * M // size + 2 * M + slabs)


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


    def test_without_a_modelled_disk_there_are_no_costs(self):
        self.assertIsNotNone(ideal.Costs.of(LINES))
        self.assertIsNone(ideal.Costs.of([{**x, "what": x["what"].replace("disk", "plain disk")} for x in LINES]))
        self.assertIsNone(ideal.Costs.of([{**x, "measured": None} for x in LINES]))


def with_line(what, measured):
    return [{**x, "measured": measured} if x["what"] == what else x for x in LINES]


class Stage:
    calibration = "paper@20"


class Machine:
    """A machine whose calibrations come one after the other from a list; time passes in pauses alone."""

    def __init__(self, *calibrations, strict=False):
        self.calibrations, self.told, self.time, self.pauses = list(calibrations), [], 0, []
        self.data = {"runs": {}, "calibrations": [], "calibration": {}}
        self.watch = quiet.Watch(self.data, self.measure, self.told.append, strict, self.pauses.append,
                                 lambda: self.time)

    def measure(self, _):
        return self.calibrations.pop(0), 0.0

    def calibrate(self):
        self.watch.calibrate(Stage, lambda: "now")

    def ran(self, *keys, stolen=0.0, seconds=1):
        for key in keys:
            self.watch.ran(key, {"seconds": seconds, "stolen": stolen})

    def wanted(self, *keys, again=1):
        return [k for k in keys if self.watch.wanted(k, again)]


SLOW = with_line("disk of client, sequential", 0.8)
FAST = with_line("h1 to client", 8.0 * 1.25)


class Quiet(unittest.TestCase):
    def test_each_line_that_is_judged_may_be_off_by_a_fifth_and_no_more(self):
        self.assertEqual(quiet.strays(LINES), [])
        for what in ("h1 to client", "disk of client, random 8K", "disk of client, random 32K",
                     "disk of client, sequential"):
            asked = next(x["asked"] for x in LINES if x["what"] == what)
            for factor, strays in ((0.19, 1), (0.79, 1), (0.81, 0), (1.19, 0), (1.21, 1)):
                lines = [{**x, "measured": factor * asked} if x["what"] == what else x for x in LINES]
                self.assertEqual(len(quiet.strays(lines)), strays, (what, factor))

    def test_what_was_not_asked_for_or_has_no_model_is_not_judged(self):
        extra = [{"what": "client to h1", "measured": 0.1, "asked": None, "unit": "MB/s"},
                 {"what": "client to h1, there and back", "measured": None, "asked": None, "unit": "us"},
                 {"what": "plain disk of client, random 8K", "measured": 0.1, "asked": None, "unit": "MB/s"},
                 {"what": "disk of client, random 8K, 64 at once", "measured": 1, "asked": 9, "unit": "MB/s"}]
        self.assertEqual(quiet.strays(LINES + extra), [])

    def test_what_ran_between_two_good_calibrations_is_good(self):
        machine = Machine(LINES, LINES)
        machine.calibrate()
        machine.ran("a", "b")
        self.assertEqual(machine.wanted("a", "b", "c"), ["c"])  # they have no verdict yet, but will
        machine.calibrate()
        self.assertEqual([r["quiet"] for r in machine.data["runs"].values()], [True, True])
        self.assertEqual(machine.wanted("a", "b"), [])
        self.assertEqual(machine.told, [])
        self.assertTrue(machine.data["calibrations"][0]["quiet"])

    def test_what_ran_beside_a_bad_one_is_run_again_so_often_and_no_more(self):
        for lines in (SLOW, FAST, []):
            machine = Machine(LINES, lines, LINES, LINES, lines, LINES)
            for keys in (("before",), ("after",), ("later",), ("before",), ()):
                machine.calibrate()
                machine.ran(*keys)
            found = {k: (r["quiet"], r["tries"]) for k, r in machine.data["runs"].items()}
            self.assertEqual(found, {"before": (False, 2), "after": (False, 1), "later": (True, 1)})
            self.assertEqual(machine.wanted("before", "after", "later"), ["after"])
            self.assertEqual(machine.wanted("before", "after", "later", again=0), [])
            self.assertEqual(machine.wanted("before", "after", "later", again=2), ["before", "after"])
            self.assertEqual(sum(t.startswith("NOT A QUIET MACHINE: ") for t in machine.told), 2)
            self.assertEqual([c["quiet"] for c in machine.data["calibrations"]], [True, False, True, True, False])

    def test_it_says_at_once_what_is_off(self):
        machine = Machine(SLOW)
        machine.calibrate()
        self.assertIn("disk of client, sequential: 0.8 MB/s of 4 (-80 %)", machine.told[0])

    def test_a_host_that_steals_is_seen_without_a_calibration(self):
        machine = Machine(LINES, LINES)
        machine.calibrate()
        machine.ran("a", stolen=0.1)
        machine.ran("b", stolen=0.5)
        machine.calibrate()
        self.assertEqual([r["quiet"] for r in machine.data["runs"].values()], [True, False])
        ticks = [100, 0, 50, 1000, 10, 0, 0, 7, 0, 0]
        later = [130, 0, 60, 2000, 20, 0, 0, 47, 0, 0]
        self.assertAlmostEqual(quiet.stolen_share(ticks, later), 0.5)
        self.assertEqual(quiet.stolen_share(ticks, ticks), 0)

    def test_a_good_run_is_not_replaced_by_a_bad_one(self):
        machine = Machine(LINES, LINES, SLOW)
        machine.calibrate()
        machine.ran("first", seconds=3)
        machine.calibrate()
        machine.ran("first", seconds=9)
        machine.calibrate()
        self.assertEqual(machine.data["runs"]["first"], {"seconds": 3, "stolen": 0.0, "quiet": True, "tries": 2})

    def test_what_an_interrupted_evaluation_left_without_a_verdict_is_run_again(self):
        machine = Machine(LINES, LINES)
        machine.data["runs"]["old"] = {"seconds": 1, "stolen": 0, "quiet": None, "tries": 1}
        machine.calibrate()
        self.assertEqual(machine.wanted("old", again=0), ["old"])

    def test_strict_waits_and_in_the_end_refuses(self):
        machine = Machine(LINES, SLOW, SLOW, LINES, *[SLOW] * 9, strict=True)
        machine.calibrate()
        machine.ran("a")
        machine.calibrate()
        self.assertFalse(machine.data["runs"]["a"]["quiet"])
        self.assertEqual(len(machine.pauses), 2)
        self.assertRaises(quiet.Refused, machine.calibrate)
        self.assertEqual(len(machine.pauses), 2 + quiet.REPEATS)
        self.assertEqual(len(machine.calibrations), 9 - 1 - quiet.REPEATS)

    def test_it_is_due_when_the_last_is_long_ago(self):
        machine = Machine(LINES)
        machine.time = 1000
        self.assertTrue(machine.watch.due(Stage))
        machine.calibrate()
        self.assertFalse(machine.watch.due(Stage))
        machine.time += quiet.WINDOW_S
        self.assertTrue(machine.watch.due(Stage))

    def test_it_is_due_for_a_testbed_that_has_none_of_use(self):
        class Other:
            calibration = "today-1g@1"
        machine = Machine(LINES, [])
        machine.calibrate()
        self.assertTrue(machine.watch.due(Other))
        machine = Machine([])
        machine.calibrate()
        self.assertTrue(machine.watch.due(Stage))
        self.assertIn("could not be measured", machine.told[0])

    def test_after_a_bad_one_a_stage_has_its_own(self):
        machine = Machine(LINES, SLOW)
        machine.calibrate()
        machine.calibrate()
        self.assertTrue(machine.watch.due(Stage))
        self.assertFalse(machine.watch.due())

    def test_the_ideal_is_of_the_quiet_ones(self):
        def of(lines, factor):
            return [{**x, "measured": factor * x["measured"]} for x in lines]
        machine = Machine(of(LINES, 0.9), SLOW, of(LINES, 1.0), of(LINES, 1.1), [])
        for _ in range(5):
            machine.calibrate()
        for line, good in zip(machine.data["calibration"]["paper@20"], LINES):
            self.assertAlmostEqual(line["measured"], good["measured"])
        machine = Machine(SLOW)
        machine.calibrate()
        self.assertEqual(machine.data["calibration"]["paper@20"], SLOW)


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
                        "cores": 2, "started": "then", "builds": ["b"], "calibration": {"paper@20": LINES}, "runs": runs,
                        "calibrations": [{"name": "paper@20", "at": "then", "lines": LINES, "stolen": 0}],
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

    def test_a_noisy_machine_is_named_by_the_report_itself(self):
        text = "\n".join(report.as_markdown(self.results, self.cells, "page.svg"))
        self.assertIn("A quiet machine: none of 1 calibrations", text)
        self.assertNotIn(" * |", text)
        self.results["calibrations"].append({"name": "paper@20", "at": "noon", "lines": SLOW, "stolen": 0.4})
        text = report.as_markdown(self.results, self.cells, "page.svg")
        self.assertIn("Not always a quiet machine: 1 of 2 calibrations was off by more than 20 %; the worst was "
                      "paper@20 at noon, disk of client, sequential: 0.8 MB/s of 4 (-80 %); what was measured then "
                      "was measured again.\n", text)
        self.results["runs"][self.cells[0].run_key("disk", 2)].update(quiet=False, stolen=0.6)
        text = report.as_markdown(self.results, self.cells, "page.svg")
        self.assertTrue(any(line.startswith("Not a quiet machine: ") and "up to 60 % of the processors" in line and
                            f"of {len(self.results['runs'])} runs 1 were measured then" in line for line in text))
        self.assertEqual(sum(line.startswith(f"| {self.cells[0].name} * |") for line in text), 1)
        self.assertEqual(sum(" * |" in line for line in text), 1)
        self.assertTrue(any("| -80.0 % | 2 |" in line for line in text))

    def test_programs_that_run_beside_are_named(self):
        for run in self.results["runs"].values():
            run["load"] = 6.1
        self.assertEqual(quiet.verdict(self.results), "Not a quiet machine: other programs ran beside all of it (the "
                         "load average is 6.1 on 2 cores).")

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

    def test_a_document_without_the_section_is_refused(self):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "page.md")
            self.assertRaisesRegex(SystemExit, "No such file", report.around, path)
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"{report.END}\n{report.BEGIN}\n")
            self.assertRaisesRegex(SystemExit, "has no lines", report.around, path)

    def test_the_plot_is_well_formed(self):
        import xml.dom.minidom  # pylint: disable=import-outside-toplevel
        xml.dom.minidom.parseString(plot.svg(judge.rows(self.cells, self.results)))


unittest.main()

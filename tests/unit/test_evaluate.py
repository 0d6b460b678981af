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
import evaluate_paper as paper
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
            "wrong_bytes": 0, "errors": 0, "regions_failed": 0, "load": 0.5, "quiet": True, "tries": 1, "stolen": 0.01, "stopped": 0}


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

    def test_dodo_s_host_has_more_by_what_its_libraries_take_and_no_more(self):
        for name, regions in (("random 8K 1G", 64), ("random 8K 2G", 128), ("dmine", 64), ("lu", 16)):
            stage = cell_of(name).stage
            self.assertEqual(stage.regions(), regions, name)
            self.assertEqual(stage.memory("dodo") - stage.memory("disk"), plan.LIBRARY[stage.app] + regions * 15 * K)


def cell_of(name, size=64, time=20, profile="paper"):
    return next(c for c in plan.cells([profile], time, size, False) if c.name == name)


class Ideal(unittest.TestCase):
    """LINES: 8K at random take 10 ms from the disk and 2.024 ms from remote memory; 4 and 8 MB/s in order."""

    def setUp(self):
        self.costs = ideal.Costs(LINES)

    def test_costs_are_the_measured_ones(self):
        self.assertAlmostEqual(self.costs.random(8 * K), 10e-3)
        self.assertAlmostEqual(self.costs.random(32 * K), 13e-3)
        self.assertAlmostEqual(self.costs.remote(8000), 2e-3)
        self.assertAlmostEqual(self.costs.remote(8 * M), self.costs.random(8 * M))  # the disk is sooner
        self.assertEqual(self.costs.far_bytes_s, 8e6)

    def test_the_room_is_the_paper_s(self):
        self.assertEqual(ideal.room(cell_of("random 8K 1G").stage), (2 * M, 12 * (100 * M // 64)))

    def test_what_is_held_is_what_is_read_most_often(self):
        hotcold = ideal.parts_of("hotcold", 1000)
        for held, share in ((0, 0), (100, 0.4), (200, 0.8), (600, 0.9), (1000, 1), (2000, 1)):
            self.assertAlmostEqual(ideal.share_of(hotcold, held), share)
            self.assertAlmostEqual(ideal.share_of(ideal.parts_of("random", 1000), held), min(1, held / 1000))

    def test_a_wait_is_for_the_reading_in_order_or_for_an_own_access(self):
        self.assertEqual(ideal.sooner_s(0, 4, 2), 1.5)   # half of it at most 2, on the mean 1; the other half 2
        self.assertEqual(ideal.sooner_s(1, 2, 9), 2)
        self.assertEqual(ideal.sooner_s(1, 4, 3), 2.5)
        self.assertEqual(ideal.sooner_s(5, 4, 3), 3)

    def test_the_first_reading_costs_less_than_its_size_over_the_bandwidth(self):
        """Two places, eight requests, 0.5 ms of computing after each, all data local once it has been read, which
        takes 4.096 ms: waits of 2.048, 0.378 * 0.774, 0.184 * 0.378, 0.045 * 0.093 ms, and then none."""
        stage = plan.Stage(plan.PROFILES["paper"], "synthetic", 20, 64)
        cell = plan.Cell(stage, "small", pattern="random", request=8 * K, data=16 * K)
        self.assertAlmostEqual(ideal.least_random_s(cell, self.costs), 6.414e-3, places=6)

    def test_afterwards_a_request_is_local_or_remote(self):
        self.costs.disk_bytes_s = 1e15  # all is read at once
        for name, local in (("random 8K 1G", 0.125), ("hotcold 8K 1G", 0.5)):
            one = 0.5e-3 + (1 - local) * 2.024e-3
            self.assertAlmostEqual(ideal.least_random_s(cell_of(name), self.costs) / (8192 * one), 1, places=3)

    def test_what_has_no_room_anywhere_comes_from_the_disk_each_time(self):
        self.costs.disk_bytes_s = 1e15
        remote = 12 * (100 * M // 64) / (32 * M)
        one = 0.5e-3 + remote * 2.024e-3 + (1 - 0.0625 - remote) * 10e-3
        self.assertAlmostEqual(ideal.least_random_s(cell_of("random 8K 2G"), self.costs) / (16384 * one), 1, places=3)

    def test_the_bound_lies_between_reading_for_nothing_and_reading_before_all(self):
        for name in ("random 8K 1G", "random 32K 1G", "hotcold 8K 1G", "hotcold 32K 1G"):
            cell = cell_of(name)
            local = 0.125 if cell.pattern == "random" else 0.5
            nothing = ideal.requests_of(cell) * (0.5e-3 + (1 - local) * self.costs.remote(cell.request))
            found = ideal.least_random_s(cell, self.costs)
            self.assertGreater(found, nothing - 2 * M / cell.request * self.costs.remote(cell.request))
            self.assertLess(found, nothing + cell.data / 4e6)

    def test_the_kernel_has_its_cache_without_dodo_too(self):
        for name, local in (("random 8K 1G", 0.125), ("hotcold 8K 1G", 0.5)):
            self.assertAlmostEqual(ideal.disk_alone_s(cell_of(name), self.costs), 8192 * (0.5e-3 + (1 - local) * 10e-3))

    def test_scans(self):
        def scans(computing, rooms, retained):
            return ideal.least_scans_s(computing, 8e6, rooms, self.costs, retained)
        self.assertAlmostEqual(scans([1.0, 3.0], (2e6, 9e6), False), 2.0 + 3.0)    # the disk bounds, the computing does
        self.assertAlmostEqual(scans([0, 0, 0], (2e6, 9e6), False), 2.0 + 2 * 0.75)  # 6 MB by the network
        self.assertAlmostEqual(scans([0, 0], (2e6, 9e6), True), 1.0 + 0.75)
        self.assertAlmostEqual(scans([0, 0], (2e6, 2e6), False), 2.0 + 1.0)        # 4 MB by the disk
        self.costs.disk_bytes_s = 16e6  # faster than the network
        self.assertAlmostEqual(scans([0, 0], (2e6, 9e6), True), 0.5 + 0.375)

    def test_sequential_is_computing_where_that_takes_longest(self):
        self.assertAlmostEqual(ideal.least_s(cell_of("sequential 8K 1G"), "dodo", self.costs, {}),
                               max(2048 * 0.5e-3, 16 * M / 4e6) + 3 * max(2048 * 0.5e-3, 14 * M / 8e6))

    def test_dmine(self):
        """Two scans of 8 MB, half a second of computing in each."""
        disk = {"pass_seconds": [3.0, 3.0], "pass_read_seconds": [2.5, 2.5], "local_bytes": 0, "remote_bytes": 0,
                "file_bytes": 16_000_000}
        cell = cell_of("dmine", size=128)  # 1 MB is local
        again = (8e6 - M) / 8e6
        self.assertAlmostEqual(ideal.least_s(cell, "first", self.costs, disk), 2.0 + again)
        self.assertAlmostEqual(ideal.least_s(cell, "second", self.costs, disk), 1.0 + again)

    def test_lu_is_counted_as_it_counts_itself(self):
        moved = lu.traffic(1024, 64)  # what lu --json says of such a matrix
        self.assertEqual((moved.read, moved.written), (56885248, 12320768))
        full = lu.traffic(8192, 64)
        self.assertEqual(full.first, 8192 * 8192 * 8)
        reads = 8 * (128 + 128 * 127 // 2 + 127)
        self.assertAlmostEqual(full.read / reads / K, 345, places=0)  # the paper's have 330 KB

    def test_lu_takes_its_computing_or_its_bytes(self):
        cell, moved = cell_of("lu"), lu.traffic(1024, 64)
        computing = moved.operations / plan.lu_rate(cell.stage)
        disk, net = (8 * M - 2 * M + moved.written) / 4e6, sum(max(0, n - 2 * M) for n in moved.again) / 8e6
        self.assertGreater(disk, computing)
        self.assertAlmostEqual(ideal.least_s(cell, "dodo", self.costs, {}), max(disk, net))
        self.costs.disk_bytes_s = self.costs.net_bytes_s = 1e15
        self.assertAlmostEqual(ideal.least_s(cell, "dodo", self.costs, {}), computing)
        today = cell_of("lu", profile="today-10g")
        self.assertAlmostEqual(ideal.least_s(today, "dodo", self.costs, {"compute_seconds": 0.25}), 0.25)

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

    def ran(self, *keys, stolen=0.0, seconds=1, stopped=0.0):
        for key in keys:
            self.watch.ran(key, {"seconds": seconds, "stolen": stolen, "stopped": stopped})

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

    def test_a_run_that_was_stopped_is_run_again(self):
        machine = Machine(LINES, LINES)
        machine.calibrate()
        machine.ran("a", stopped=0.1)
        machine.ran("b", stopped=2.0)
        machine.calibrate()
        self.assertEqual(machine.wanted("a", "b"), ["b"])

    def test_a_good_run_is_not_replaced_by_a_bad_one(self):
        machine = Machine(LINES, LINES, SLOW)
        machine.calibrate()
        machine.ran("first", seconds=3)
        machine.calibrate()
        machine.ran("first", seconds=9)
        machine.calibrate()
        self.assertEqual(machine.data["runs"]["first"], {"seconds": 3, "stolen": 0.0, "stopped": 0.0,
                                                         "quiet": True, "tries": 2})

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


def dmine_run(seconds):
    return {"seconds": seconds, "pass_seconds": [seconds / 2] * 2, "pass_read_seconds": [seconds / 2 - 0.1] * 2,
            "local_bytes": 0, "remote_bytes": 0, "file_bytes": 32 * M, "load": 0.5, "quiet": True, "stolen": 0, "stopped": 0}


def lu_run(seconds, share=0.24):
    return {"seconds": seconds, "io_share": share, "compute_seconds": 1.0, "local_bytes": 1, "remote_bytes": 0,
            "file_bytes": 9, "load": 0.5, "quiet": True, "stolen": 0, "stopped": 0}


def run_of(cell, seconds):
    if cell.stage.app == "synthetic":
        return synthetic(seconds, cell.pattern, file=4 * cell.data, size=cell.data)
    return dmine_run(seconds) if cell.stage.app == "dmine" else lu_run(seconds)


DISK_S = 200.0  # in which all that Dodo could do is possible


def results_of(cells, seconds):
    """Every cell run twice; @seconds: of the runs through Dodo, by name; as with the disk alone if not given."""
    runs = {}
    for cell in cells:
        for n in (1, 2):
            for system in cell.systems:
                name = f"dmine {system}" if cell.name == "dmine" else cell.name
                took = DISK_S if system == "disk" else seconds.get(name, DISK_S)
                runs[cell.run_key(system, n)] = run_of(cell, took)
    return {"settings": {"repeat": 2, "time_scale": 20, "size_scale": 64, "version": plan.VERSION}, "runs": runs,
            "calibration": {c.stage.calibration: LINES for c in cells}, "calibrations": [], "machine": "a machine",
            "cores": 2, "started": "then", "builds": ["b"], "failed": [], "skipped": []}


class Targets(unittest.TestCase):
    def setUp(self):
        self.cells = plan.cells(list(plan.PROFILES), 20, 64, True)

    def verdicts(self, seconds):
        table = judge.rows(self.cells, results_of(self.cells, seconds))
        return {(t.what, t.wanted): t.verdict for t in judge.targets(table)}

    def test_who_gains_nothing_misses_all_but_what_asks_for_no_loss(self):
        found = self.verdicts({})
        self.assertEqual(len(found), 16)
        for (what, _), verdict in found.items():
            no_loss = what.startswith("sequential") or what.endswith("today-1g")
            self.assertEqual(verdict, "reached" if no_loss else "NOT REACHED", what)

    def test_who_loses_misses_all(self):
        names = {c.name for c in self.cells} | {"dmine first", "dmine second"}
        self.assertEqual(set(self.verdicts({name: 1.05 * DISK_S for name in names}).values()), {"NOT REACHED"})

    def test_the_numbers_are_fixed(self):
        for name, least in (("random 8K 1G", 2.0), ("random 32K 1G", 2.1), ("hotcold 8K 1G", 1.5), ("lu", 1.1)):
            for seconds, verdict in ((0.999 * DISK_S / least, "reached"), (1.001 * DISK_S / least, "NOT REACHED")):
                self.assertEqual(self.verdicts({name: seconds})[name, f"at least {least:g}"], verdict)

    def test_the_ideal_is_not_of_the_run_that_it_judges(self):
        least, wanted = None, ("random 8K 1G", "at least 0.95 of its ideal")
        for seconds, remote in ((100.0, 0), (190.0, 4 * 16 * M), (1e6, 8 * K)):
            results = results_of(self.cells, {"random 8K 1G": seconds})
            cell = self.cells[self.cells.index(cell_of("random 8K 1G"))]
            for n in (1, 2):
                results["runs"][cell.run_key("dodo", n)]["remote_bytes"] = remote
            row = judge.by_name(judge.rows(self.cells, results), "paper")["random 8K 1G"]
            least = least or row.least_s.median
            self.assertEqual(row.least_s.median, least)
        self.assertEqual(self.verdicts({wanted[0]: least / 0.94})[wanted], "NOT REACHED")
        self.assertEqual(self.verdicts({wanted[0]: least / 0.96})[wanted], "reached")

    def test_what_was_not_run_is_not_reached(self):
        self.cells = [cell_of("lu")]
        found = self.verdicts({"lu": 10.0})
        self.assertEqual([v for (what, _), v in found.items() if what == "lu"], ["reached"])
        self.assertEqual(list(found.values()).count("not run"), 15)
        table = judge.rows(self.cells, results_of(self.cells, {"lu": 10.0}))
        self.assertEqual(report.target_rows(table)[-1], ("15 others", "", "", "not run"))


class Paper(unittest.TestCase):
    def setUp(self):
        self.cells = plan.cells(["paper", "paper-large"], 20, 64, True)

    def said(self, seconds):
        found = paper.statements(judge.rows(self.cells, results_of(self.cells, seconds)))
        self.assertEqual(len({s.what for s in found}), len(found))
        return {s.what: s for s in found}

    def test_every_sentence_is_there_and_can_fail(self):
        found = self.said({})
        self.assertEqual(len(found), 17)
        reached = {what for what, s in found.items() if s.verdict == "reached"}
        self.assertEqual({w.removesuffix(paper.HYPOTHESIS) for w in reached}, {"dmine, first run", "sequential"})
        self.assertEqual({s.verdict for w, s in found.items() if "I/O" in w}, {""})
        self.assertIn("24 % with Dodo", found["lu's time in I/O"].measured.replace("(24-24) ", ""))

    def test_as_in_the_paper(self):
        seconds = {"lu": DISK_S / 1.16, "dmine second": DISK_S / 2.61}
        for pattern, of in (("random", (2.9, 2.8, 2.2, 2.1)), ("hotcold", (2.2, 2.1, 2.9, 2.8)),
                            ("sequential", (1.02, 1.03, 1.0, 1.01))):
            for cell, speedup in zip(("8K 1G", "32K 1G", "8K 2G", "32K 2G"), of):
                seconds[f"{pattern} {cell}"] = DISK_S / speedup
        found = self.said(seconds)
        self.assertEqual({s.verdict for s in found.values()}, {"reached", ""})
        self.assertIn("2.90 to 2.80 (8K 1G to 32K 1G)", found["random, from 8K to 32K"].measured)
        seconds["random 32K 2G"] = DISK_S / 2.2  # no less than with 8K
        self.assertEqual(self.said(seconds)["random, from 8K to 32K"].verdict, "NOT REACHED")
        seconds["hotcold 8K 1G"] = DISK_S / 1.9
        self.assertEqual(self.said(seconds)["hotcold"].verdict, "NOT REACHED")

    def test_more_than_the_paper_and_less(self):
        for seconds, verdict in ((0.8 * DISK_S, "reached, and more"), (1.1 * DISK_S, "NOT REACHED")):
            self.assertEqual(self.said({"dmine first": seconds})["dmine, first run"].verdict, verdict)

    def test_a_part_is_not_all(self):
        self.cells = [cell_of("random 8K 1G"), cell_of("random 32K 1G")]
        found = self.said({"random 8K 1G": 5.0, "random 32K 1G": 6.0})
        self.assertEqual({w: s.verdict for w, s in found.items()},
                         {"random": "not all was run", "random, from 8K to 32K": "not all was run"})

    def test_what_may_be_chance_is_named(self):
        cells = [cell_of("random 8K 1G"), cell_of("random 8K 2G")]
        results = results_of(cells, {"random 8K 1G": 10.0, "random 8K 2G": 11.0})
        found = {s.what: s for s in paper.statements(judge.rows(cells, results))}
        self.assertNotIn("chance", found["random, from 1 GB to 2 GB"].measured)
        results["runs"][cells[0].run_key("dodo", 2)]["seconds"] = 12.0
        found = {s.what: s for s in paper.statements(judge.rows(cells, results))}
        self.assertIn("which may be chance", found["random, from 1 GB to 2 GB"].measured)


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

    def test_all_that_was_found_is_in_the_report_at_once(self):
        cells = plan.cells(list(plan.PROFILES), 20, 64, True)
        titles = [title for title, _, _ in report.sections(results_of(cells, {}), cells)]
        self.assertEqual(titles[:4], [p.title[0].upper() + p.title[1:] for p in plan.PROFILES.values()])
        self.assertEqual(titles[4:], ["What was to be reached", "What the paper says of its Figures 7 and 8",
                                      "The disk alone, as the calibration predicts it", "The same at another time scale",
                                      "Calibration: what the testbed was asked for, and gave"])

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
        self.assertEqual(sum(line.startswith(f"| {self.cells[0].name} * |") for line in text), 2)  # and its target
        self.assertEqual(sum(" * |" in line for line in text), 2)
        self.assertTrue(any("| -80.0 % | 2 |" in line for line in text))

    def test_programs_that_run_beside_are_named(self):
        for run in self.results["runs"].values():
            run["load"] = 6.1
        self.assertEqual(quiet.verdict(self.results), "Not a quiet machine: other programs ran beside all of it (the "
                         "load average is 6.1 on 2 cores).")
        self.results["runs"][self.cells[0].run_key("disk", 1)].update(quiet=False, stopped=2.04)
        self.assertIn("everything was stopped for up to 2.0 s in a run; of ", quiet.verdict(self.results))

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
                self.assertEqual(text.count("| at least "), 12)
                self.assertIn("| 4 others |  |  | not run |", text)

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

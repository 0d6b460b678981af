# SPDX-License-Identifier: MIT
"""Runs the evaluation; scripts/evaluate calls it, and its --help tells the options."""
import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import evaluate_check
import evaluate_plan as plan
import evaluate_quiet as quiet
import evaluate_report
from evaluate_stage import Failed, Stops, Testbed, prepare, processor_ticks, run_cell, shown

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
RIGHT = "checked"
MARGIN = 512 << 20  # of memory and of files, beside what is known to be needed


def say(text):
    print(text, flush=True)


def machine():
    model = "unknown"
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    with open("/proc/meminfo", encoding="utf-8") as f:
        memory = int(f.readline().split()[1]) >> 20
    return (f"{os.cpu_count()} cores, {model}, {memory} GiB of memory, "
            f"Linux {'.'.join(platform.release().split('.')[:2])}")


def commit():
    out = subprocess.run(["git", "-C", TOP, "describe", "--always", "--dirty", "--abbrev=12"], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return out.stdout.strip() or "unknown"


class Results:
    """The file of results: written whole after each run."""

    def __init__(self, path, settings, fresh):
        self.path = path
        self.data = {"settings": settings, "machine": machine(), "cores": os.cpu_count(), "started": now(),
                     "builds": [], "calibrations": [], "calibration": {}, "mined": None, "runs": {}, "failed": [],
                     "skipped": []}
        if os.path.exists(path) and not fresh:
            with open(path, encoding="utf-8") as f:
                old = json.load(f)
            if {**old["settings"], "repeat": 0} != {**settings, "repeat": 0}:
                sys.exit(f"evaluate: {path} holds results of other settings ({words_of(old['settings'])}): give "
                         "another --json, or --fresh")
            if "calibrations" not in old:
                sys.exit(f"evaluate: {path} is an older evaluate's, and does not say whether the machine was quiet: "
                         "give another --json, or --fresh")
            old["settings"] = settings
            old["failed"] = []
            self.data = old
        if commit() not in self.data["builds"]:
            self.data["builds"].append(commit())

    def save(self):
        os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.data, f, indent=1)
            f.write("\n")
        os.replace(self.path + ".new", self.path)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


def words_of(settings):
    return ", ".join(f"{k} {v}" for k, v in settings.items())


class Evaluation:
    def __init__(self, options, cells, results, work):
        self.options, self.cells, self.results, self.work = options, cells, results, work
        self.runs = results.data["runs"]
        self.watch = quiet.Watch(results.data, self.measured, say, options.strict, time.sleep, time.monotonic)
        self.failed = set()
        self.expected_done = self.took = 0.0
        self.calibration_s = 6 + 7 * options.measure  # as long as none has been seen
        self.transactions = round(plan.TRANSACTIONS / options.size_scale)

    def repetitions(self, cell):
        return 1 if cell.only_once else self.options.repeat

    def missing(self, repetition):
        """Of each stage: its cells, and of each the runs that are still missing."""
        stages = {}
        for cell in self.cells:
            if repetition > self.repetitions(cell):
                continue
            keys = {s: cell.run_key(s, repetition) for s in cell.runs()}
            systems = [s for s, key in keys.items() if key not in self.failed and
                       self.watch.wanted(key, self.options.again)]
            if "second" in systems and "first" not in systems:
                systems.insert(systems.index("second"), "first")  # it leaves what the second finds
            if systems:
                stages.setdefault(cell.stage, []).append((cell, systems))
        return stages

    def left_s(self):
        """The models' time for all that is missing, corrected by how true they were so far."""
        stages = [cells for n in range(1, self.options.repeat + 1) for cells in self.missing(n).values()]
        todo = sum(plan.expected_s(c, s) for cells in stages for c, systems in cells for s in systems)
        todo *= self.took / self.expected_done if self.expected_done else 1.2
        if not self.results.data["mined"] and any(c.stage.app == "dmine" for cells in stages for c, _ in cells):
            todo += plan.MINER_S * self.transactions
        return todo + (self.calibration_s * (2 + todo / quiet.WINDOW_S) if todo else 0)

    def all(self):
        left = self.left_s()
        say(f"About {-(-left // 60):.0f} minutes to go." if left else "All of it has been run already.")
        for attempt in range(1 + self.options.again):
            last = None
            for repetition in range(1, self.options.repeat + 1):
                for last, cells in self.missing(repetition).items():
                    if attempt:
                        say(f"Once more, as far as the machine was not quiet: {last.name}")
                    self.stage(last, cells, repetition)
            if last:
                self.calibrate(last)
        return len(self.failed)

    def stage(self, stage, cells, repetition):
        if self.watch.due(stage):
            self.calibrate(stage)
        start = time.monotonic()
        with Testbed(TOP, self.options.build, stage.up_options(), self.work) as testbed:
            for line in testbed.skipped:
                say(f"SKIPPED: {line}")
                if line not in self.results.data["skipped"]:
                    self.results.data["skipped"].append(line)
            self.took += time.monotonic() - start
            for cell, systems in cells:
                if self.watch.due():
                    self.calibrate(stage)
                self.cell(testbed, cell, systems, repetition)

    def calibrate(self, stage):
        say(f"Calibrating {stage.calibration}")
        try:
            self.watch.calibrate(stage, now)
        finally:
            self.results.save()

    def measured(self, stage):
        """On a testbed of its own, which may be beside the stage's."""
        start, before = time.monotonic(), processor_ticks()
        with Testbed(TOP, self.options.build, stage.calibration_options(), self.work, "calibration") as testbed:
            try:
                lines = testbed.measure(self.options.measure)
            except Failed as error:
                say(f"NO CALIBRATION: {error}")
                lines = []
        self.calibration_s = time.monotonic() - start
        return lines, quiet.stolen_share(before, processor_ticks())

    def cell(self, testbed, cell, systems, repetition):
        prepare(testbed, cell, self.transactions, lambda text: say(f"  {text}"))
        order = systems if "first" in systems else plan.in_turn(systems, repetition)
        for system in order:
            start, before = time.monotonic(), processor_ticks()
            key, expected = cell.run_key(system, repetition), plan.expected_s(cell, system)
            try:
                with Stops() as stops:
                    run = run_cell(testbed, cell, system, self.transactions, 60 + 20 * expected)
                wrong = evaluate_check.check(cell, system, run, self.mined(testbed, cell))
                if wrong:
                    raise Failed(wrong)
            except Failed as error:
                self.failed.add(key)
                self.results.data["failed"].append({"run": key, "why": str(error)})
                say(f"NO RUN: {key}: {error}\n  {shown(cell, system, self.transactions)}")
                self.results.save()
                continue
            run["load"] = os.getloadavg()[0]
            run["at"] = now()
            run["stolen"] = quiet.stolen_share(before, processor_ticks())
            run["stopped"] = round(stops.longest_s, 3)
            self.watch.ran(key, run)
            self.expected_done += expected
            self.took += time.monotonic() - start
            self.results.save()
            self.tell(cell, system, repetition, run)

    def mined(self, testbed, cell):
        """What another miner finds in the same transactions; once, for it takes its time."""
        if cell.stage.app != "dmine":
            return None
        if not self.results.data["mined"]:
            path = testbed.path("client", f"transactions.{self.transactions}")
            say("  another miner mines, too")
            out = subprocess.run([sys.executable, "-B", os.path.join(TOP, "tests/lib/itemsets.py"), path,
                                  plan.SUPPORT], check=True, stdout=subprocess.PIPE, text=True)
            self.results.data["mined"] = json.loads(out.stdout)
        return self.results.data["mined"]

    def tell(self, cell, system, repetition, run):
        all_bytes = max(1, run["local_bytes"] + run["remote_bytes"] + run["file_bytes"])
        places = "" if system == "disk" else ", ".join(
            f"{round(100 * run[k + '_bytes'] / all_bytes)} % {k}" for k in ("local", "remote", "file")) + "; "
        if run["stolen"] > quiet.TOLERANCE:
            places += f"this machine's host took {100 * run['stolen']:.0f} % of the processors' time; "
        if run["stopped"] > quiet.STOPPED_S:
            places += f"stopped for {run['stopped']:.1f} s; "
        left = self.left_s()
        say(f"  {repetition}/{self.repetitions(cell)} {cell.key:<38} {system:<6} {run['seconds']:8.2f} s; {places}"
            f"{RIGHT}; {int(left // 60)} min {int(left % 60):02d} s left")


# ---- the command line ------------------------------------------------------------------------------

def between(kind, least, most):
    def parse(text):
        value = kind(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{least:g} to {most:g}, not {text}")
        return value
    return parse


def options_of(argv):
    parser = argparse.ArgumentParser(add_help=False, prog="evaluate")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--time-scale", type=between(float, 1, 20), default=None)
    parser.add_argument("--size-scale", type=between(float, 1, 256))
    parser.add_argument("--profile", action="append", choices=list(plan.PROFILE_WORDS))
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--repeat", type=between(int, 1, 100))
    parser.add_argument("--again", type=between(int, 0, 10))
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--report")
    parser.add_argument("--build", required=True)
    options = parser.parse_args(argv)
    options.time_scale = options.time_scale or (20.0 if options.quick else 10.0)
    options.size_scale = options.size_scale or 64.0
    options.repeat = options.repeat or (1 if options.quick else 3)
    options.again = (0 if options.quick else 1) if options.again is None else options.again
    options.json = options.json or os.path.join(TOP, "build", "evaluate-quick.json" if options.quick else
                                                "evaluate.json")
    options.measure = 0.5 if options.quick else 1
    return options


def chosen_cells(options):
    profiles = [p for word in options.profile or plan.PROFILE_WORDS for p in plan.PROFILE_WORDS[word]]
    cells = plan.cells(profiles, options.time_scale, options.size_scale, not options.quick)
    return [c for c in cells if not options.only or any(word in c.key for word in options.only)]


def available_bytes():
    with open("/proc/meminfo", encoding="utf-8") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("MemAvailable:"))


def work_directory(size):
    """Where data and testbed are: in memory, if there is enough of it, so that the model is the only disk."""
    files, memory = plan.file_bytes(size) + MARGIN, plan.memory_bytes(size) + MARGIN
    if available_bytes() < memory:
        sys.exit(f"evaluate: it takes {memory / plan.G:.1f} GiB of memory: give a larger --size-scale")
    place = "/dev/shm"
    if not os.access(place, os.W_OK) or shutil.disk_usage(place).free < files or available_bytes() < files + memory:
        place = tempfile.gettempdir()
        if shutil.disk_usage(place).free < files:
            sys.exit(f"evaluate: its files take {files / plan.G:.1f} GiB, which neither memory nor {place} has: give a "
                     "larger --size-scale")
    return tempfile.TemporaryDirectory(prefix="dodo-evaluate.", dir=place)


def run_all(options, results, cells):
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    with work_directory(options.size_scale) as work:
        try:
            return Evaluation(options, cells, results, work).all()
        except quiet.Refused as error:
            sys.exit(f"evaluate: {error}")
        except KeyboardInterrupt:
            say("\nInterrupted: the next call goes on from here.")
            sys.exit(130)


def main(argv):
    options = options_of(argv)
    settings = {"time_scale": options.time_scale, "size_scale": options.size_scale, "repeat": options.repeat,
                "version": plan.VERSION}
    cells = chosen_cells(options)
    if not cells:
        sys.exit("evaluate: --only leaves nothing")
    if options.report:
        evaluate_report.around(options.report)  # said now, and not after all runs
    results = Results(options.json, settings, options.fresh)
    failed = run_all(options, results, cells)
    results.data["ended"] = now()
    results.data["verdict"] = quiet.verdict(results.data)
    results.save()
    everything = plan.cells([p for w in plan.PROFILE_WORDS.values() for p in w], options.time_scale,
                            options.size_scale, True)
    evaluate_report.write(results.data, everything, options.json, options.report)
    sys.exit(1 if failed or options.strict and quiet.noisy(results.data) else 0)


if __name__ == "__main__":
    main(sys.argv[1:])

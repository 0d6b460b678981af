# SPDX-License-Identifier: MIT
"""Was the machine quiet? A calibration says what disk and links gave, beside what was asked for; what is
run between two good ones counts as run on a quiet machine. Pure: what measures and waits is given."""
import statistics

TOLERANCE = 0.2   # so far may a calibration be off; so much of the processors may others take
REPEATS = 5       # of a calibration that is off, with --strict
PAUSE_S = 15      # before each of them
WINDOW_S = 120    # between two calibrations, if a program ends then
STOPPED_S = 0.5   # so long may this process not run while a program does: it, or all, was stopped
LOAD = 3          # a core; on a machine that has nothing else to do, and is kept awake, at most about two


class Refused(Exception):
    """The machine does not get quiet, and --strict was given."""


# ---- a calibration -------------------------------------------------------------------------------

def counted(lines):
    """What a calibration is judged by and shows: not what could not be measured, not what has no model,
    and of a disk one access at a time."""
    return [x for x in lines if x["measured"] is not None and "plain" not in x["what"] and "at once" not in x["what"]]


def off(line):
    """How far from what was asked for: -0.1 is a tenth less."""
    return line["measured"] / line["asked"] - 1


def strays(lines):
    """The lines that are off by more than may be."""
    return [x for x in counted(lines) if x["asked"] and abs(off(x)) > TOLERANCE]


def good(calibration):
    return bool(calibration["lines"]) and not strays(calibration["lines"])


def told(line):
    return f"{line['what']}: {line['measured']:.4g} {line['unit']} of {line['asked']:.4g} ({100 * off(line):+.0f} %)"


def why(calibration):
    if not calibration["lines"]:
        return "disk and links could not be measured"
    words = "; ".join(told(x) for x in strays(calibration["lines"]))
    taken = calibration["stolen"]
    return words + (f"; its host took {100 * taken:.0f} % of the processors' time" if taken > TOLERANCE else "")


def merged(calibrations):
    """By name: its lines, with the median of what was measured when the machine was quiet; if it never was,
    of all."""
    result = {}
    for name in {c["name"] for c in calibrations}:
        mine = [c for c in calibrations if c["name"] == name and c["lines"]]
        mine = [c for c in mine if good(c)] or mine
        found = {}
        for line in (x for c in mine for x in c["lines"]):
            found.setdefault(line["what"], []).append(line)
        result[name] = [{**same[0], "measured": median_of(x["measured"] for x in same)} for same in found.values()]
    return result


def median_of(values):
    values = [v for v in values if v is not None]
    return statistics.median(values) if values else None


def stolen_share(before, after):
    """Of the processors' time that somebody wanted, what this machine's host gave to others: from two first
    lines of /proc/stat."""
    user, nice, system, _, _, irq, softirq, steal = (b - a for a, b in zip(before[:8], after[:8]))
    wanted = user + nice + system + irq + softirq + steal
    return steal / wanted if wanted > 0 else 0.0


# ---- the runs ------------------------------------------------------------------------------------

class Watch:
    """Calibrates, and gives the runs between two calibrations their verdict.

    @data: the results; @measure(stage): a calibration's lines, and what was stolen meanwhile; @tell(text);
    @pause(seconds); @clock(): seconds."""

    def __init__(self, data, measure, tell, strict, pause, clock):
        self.data, self.measure, self.tell, self.strict = data, measure, tell, strict
        self.pause, self.clock = pause, clock
        self.begun_well = False
        self.at = None
        self.before = {}  # of each run since the last calibration: what was in its place

    def wanted(self, key, again):
        """Is this run still missing, or to be repeated? One without a verdict that has not come since the
        last calibration is of an evaluation that was interrupted."""
        run = self.data["runs"].get(key)
        if run is None or key in self.before:
            return run is None
        return run["quiet"] is None or not run["quiet"] and run["tries"] <= again

    def due(self, stage=None):
        """Is it time? For a new stage also if nobody has measured what its testbed gives, or the last time was
        no good."""
        if stage and not (self.begun_well and self.data["calibration"].get(stage.calibration)):
            return True
        return self.at is None or self.clock() - self.at >= WINDOW_S

    def ran(self, key, run):
        """A run that has no verdict yet."""
        old = self.data["runs"].get(key)
        self.before[key] = old
        self.data["runs"][key] = {**run, "quiet": None, "tries": (old["tries"] if old else 0) + 1}

    def calibrate(self, stage, now):
        """The end of what has been run and the beginning of what follows."""
        well = self.once(stage, now)
        self.judge(self.begun_well and well)
        for _ in range(REPEATS if self.strict else 0):
            if well:
                break
            self.tell(f"--strict: once more in {PAUSE_S} s")
            self.pause(PAUSE_S)
            well = self.once(stage, now)
        self.begun_well, self.at = well, self.clock()
        if self.strict and not well:
            raise Refused(f"not a quiet machine, {REPEATS + 1} times in turn: --strict goes no further")

    def once(self, stage, now):
        lines, stolen = self.measure(stage)
        calibration = {"name": stage.calibration, "at": now(), "lines": lines, "stolen": stolen}
        calibration["quiet"] = good(calibration)
        self.data["calibrations"].append(calibration)
        self.data["calibration"] = merged(self.data["calibrations"])
        if not calibration["quiet"]:
            self.tell(f"NOT A QUIET MACHINE: {why(calibration)}. What is measured now is worth little.")
        return calibration["quiet"]

    def judge(self, well):
        runs, bad = self.data["runs"], []
        for key, old in self.before.items():
            run = runs[key]
            run["quiet"] = well and run["stolen"] <= TOLERANCE and run["stopped"] <= STOPPED_S
            if not run["quiet"]:
                bad.append(key)
                if old and old["quiet"]:  # only what came before another was to be repeated
                    runs[key] = {**old, "tries": run["tries"]}
        self.before = {}
        if bad:
            self.tell(f"Not measured on a quiet machine: {', '.join(bad)}")


# ---- all of it, in words -------------------------------------------------------------------------

def noisy(results):
    return [k for k, r in results["runs"].items() if not r["quiet"]]


def verdict(results):
    """A sentence, of the results as they are in their file."""
    calibrations, runs = results["calibrations"], results["runs"]
    bad, marked = [c for c in calibrations if not good(c)], noisy(results)
    limit, load = f"{100 * TOLERANCE:.0f} %", median_of(r["load"] for r in runs.values()) or 0
    busy = load > LOAD * results["cores"]
    if not bad and not marked and not busy:
        return f"A quiet machine: none of {len(calibrations)} calibrations was off by more than {limit}."
    were = "was" if len(bad) == 1 else "were"
    reasons = [f"{len(bad)} of {len(calibrations)} calibrations {were} off by more than {limit}"] if bad else []
    worst = max(((abs(off(x)), c, x) for c in bad for x in strays(c["lines"])), key=lambda w: w[0], default=None)
    if worst:
        reasons.append(f"the worst was {worst[1]['name']} at {worst[1]['at']}, {told(worst[2])}")
    stolen = max((r["stolen"] for r in runs.values()), default=0)
    if stolen > TOLERANCE:
        reasons.append(f"its host took up to {100 * stolen:.0f} % of the processors' time from a run")
    stopped = max((r["stopped"] for r in runs.values()), default=0)
    if stopped > STOPPED_S:
        reasons.append(f"everything was stopped for up to {stopped:.1f} s in a run")
    if marked:
        reasons.append(f"of {len(runs)} runs {len(marked)} were measured then, and have a * in the tables")
    elif bad:
        reasons.append("what was measured then was measured again")
    if busy:
        reasons.append(f"other programs ran beside all of it (the load average is {load:.1f} on {results['cores']} "
                       "cores)")
    return f"Not {'a' if marked or busy else 'always a'} quiet machine: {'; '.join(reasons)}."

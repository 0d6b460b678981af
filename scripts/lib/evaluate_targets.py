# SPDX-License-Identifier: MIT
"""The figures of an evaluation, out of its runs, and what was to be reached. Pure."""
from evaluate_ideal import Costs, Spread, ideal_s, lu_bound
from evaluate_plan import HOSTS, PAPER, POOL

OF_IDEAL, OF_LU_BOUND, SEQUENTIAL = 0.9, 0.95, 0.98


class Row:
    """A bar: a cell and one of its runs through Dodo, over all repetitions."""

    def __init__(self, cell, system, results):
        self.cell, self.system = cell, system
        self.name = f"dmine {system}" if cell.name == "dmine" else cell.name
        app, stage = cell.stage.app, cell.stage
        pairs = []
        for n in range(1, results["settings"]["repeat"] + 1):
            run = results["runs"].get(cell.run_key(system, n))
            disk = results["runs"].get(disk_key(cell, n))
            if run and disk:
                pairs.append((run, disk))
        self.pairs = pairs
        costs = Costs.of(results["calibration"].get(stage.calibration, []))
        self.quiet = all(run["quiet"] for pair in pairs for run in pair)
        self.disk_s = Spread(d["seconds"] for _, d in pairs)
        self.dodo_s = Spread(r["seconds"] for r, _ in pairs)
        self.speedup = Spread(d["seconds"] / r["seconds"] for r, d in pairs)
        self.ideal = self.of_ideal = self.of_bound = Spread(())
        if costs:
            best = [(r, d, ideal_s(app, r, d, costs, fits(cell))) for r, d in pairs]
            self.ideal = Spread(d["seconds"] / s for _, d, s in best)
            self.of_ideal = Spread(s / r["seconds"] for r, _, s in best)
        if app == "lu":
            self.of_bound = Spread(d["seconds"] / r["seconds"] / lu_bound(r, d) for r, d in pairs)

    def label(self):
        """Its name, with a mark if the machine was not quiet."""
        return self.name if self.quiet else self.name + " *"

    def share(self, which):
        """Of the bytes read, those from there [percent], in all repetitions."""
        total = sum(r["local_bytes"] + r["remote_bytes"] + r["file_bytes"] for r, _ in self.pairs)
        return 100 * sum(r[f"{which}_bytes"] for r, _ in self.pairs) / total if total else 0

    def paper(self):
        """What the paper has, UDP and U-Net; for 1 GB where it tells no more."""
        return PAPER.get(self.name) or PAPER.get(self.cell.pattern)


def fits(cell):
    """Has remote memory room for all of its data?"""
    return cell.data <= HOSTS * cell.stage.bytes_of(POOL)


def disk_key(cell, repetition):
    """Of the run with the disk alone that belongs to it: perhaps another profile's."""
    profile = cell.stage.profile
    return cell.run_key("disk", repetition).replace(f"{profile.name}/", f"{profile.baseline}/", 1)


def rows(cells, results):
    made = [Row(c, s, results) for c in cells for s in c.systems if s != "disk"]
    return [r for r in made if r.pairs]


class Target:
    def __init__(self, what, wanted, value, reached):
        self.what, self.wanted, self.value, self.reached = what, wanted, value, reached


def at_least(what, spread, limit, of):
    return Target(what, f"at least {limit:g} of {of}" if of else f"at least {limit:g}", spread.text(),
                  spread.median >= limit)


def direction(what, one, two, more):
    word = "more" if more else "less"
    reached = (two.median > one.median) if more else (two.median < one.median)
    return Target(what, f"{word} than with 1 GB", f"{two.text()} beside {one.text()}", reached)


def targets(table):
    """Of the paper's profile alone."""
    found = {r.name: r for r in table if r.cell.stage.profile.name == "paper" and not r.cell.only_once}
    result = []
    if "dmine second" in found and found["dmine second"].of_ideal:
        result.append(at_least("dmine, second run", found["dmine second"].of_ideal, OF_IDEAL, "its ideal"))
    if "lu" in found:
        result.append(at_least("lu", found["lu"].of_bound, OF_LU_BOUND, "1/(1-s(1-t_dodo/t_disk))"))
    for name, row in found.items():
        if row.cell.pattern in ("random", "hotcold") and name.endswith("1G") and row.of_ideal:
            result.append(at_least(name, row.of_ideal, OF_IDEAL, "its ideal"))
    for name, row in found.items():
        if row.cell.pattern == "sequential":
            result.append(at_least(name, row.speedup, SEQUENTIAL, ""))
    for pattern, more in (("random", False), ("hotcold", True)):
        for request in ("8K", "32K"):
            one, two = (found.get(f"{pattern} {request} {n}G") for n in (1, 2))
            if one and two:
                result.append(direction(f"{pattern} {request}, 2 GB", one.speedup, two.speedup, more))
    return result

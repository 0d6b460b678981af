# SPDX-License-Identifier: MIT
"""The figures of an evaluation, out of its runs, and what was to be reached. Pure."""
from evaluate_ideal import Costs, Spread, least_s
from evaluate_plan import PAPER

# (profile, run, what of it, at least): numbers that stand before anything has run.
TARGETS = (
    *(("paper", f"{pattern} {request} 1G", "speedup", least)
      for pattern, request, least in (("random", "8K", 2.0), ("random", "32K", 2.1),
                                      ("hotcold", "8K", 1.5), ("hotcold", "32K", 1.5))),
    *(("paper", f"{pattern} {request} 1G", "of_ideal", 0.95)
      for pattern in ("random", "hotcold") for request in ("8K", "32K")),
    *(("paper", f"sequential {request} {data}", "speedup", 0.98) for data in ("1G", "2G") for request in ("8K", "32K")),
    ("paper", "dmine second", "of_ideal", 0.95),
    ("paper", "lu", "speedup", 1.1),
    ("today-1g", "dmine first", "speedup", 0.98),
    ("today-1g", "dmine second", "speedup", 0.98),
)


class Row:
    """A bar: a cell and one of its runs through Dodo, over all repetitions."""

    def __init__(self, cell, system, results):
        self.cell, self.system = cell, system
        self.name = f"dmine {system}" if cell.name == "dmine" else cell.name
        pairs = []
        for n in range(1, results["settings"]["repeat"] + 1):
            run = results["runs"].get(cell.run_key(system, n))
            disk = results["runs"].get(disk_key(cell, n))
            if run and disk:
                pairs.append((run, disk))
        self.pairs = pairs
        self.costs = Costs.of(results["calibration"].get(cell.stage.calibration, []))
        self.quiet = all(run["quiet"] for pair in pairs for run in pair)
        self.disk_s = Spread(d["seconds"] for _, d in pairs)
        self.dodo_s = Spread(r["seconds"] for r, _ in pairs)
        self.speedup = Spread(d["seconds"] / r["seconds"] for r, d in pairs)
        self.least_s = self.ideal = self.of_ideal = Spread(())
        if self.costs:
            least = self.least_of(pairs)
            self.least_s = Spread(least)
            self.ideal = Spread(d["seconds"] / s for (_, d), s in zip(pairs, least))
            self.of_ideal = Spread(s / r["seconds"] for (r, _), s in zip(pairs, least))

    def least_of(self, pairs):
        """Of each repetition; where the disk run's computing does not count, one for all."""
        if self.cell.stage.app == "synthetic":
            return [least_s(self.cell, self.system, self.costs, None)] * len(pairs)
        return [least_s(self.cell, self.system, self.costs, d) for _, d in pairs]

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


def disk_key(cell, repetition):
    """Of the run with the disk alone that belongs to it: perhaps another profile's."""
    profile = cell.stage.profile
    return cell.run_key("disk", repetition).replace(f"{profile.name}/", f"{profile.baseline}/", 1)


def rows(cells, results):
    made = [Row(c, s, results) for c in cells for s in c.systems if s != "disk"]
    return [r for r in made if r.pairs]


def by_name(table, profile):
    """The rows of a profile, without those at another time scale."""
    return {r.name: r for r in table if r.cell.stage.profile.name == profile and not r.cell.only_once}


class Target:
    """@reached: None where nothing was run, or nothing is known of the testbed."""

    def __init__(self, table, profile, name, measure, least):
        row = by_name(table, profile).get(name)
        of, found = "of its ideal" if measure == "of_ideal" else "", getattr(row, measure, None)
        self.what = (row.label() if row else name) + ("" if profile == "paper" else f", {profile}")
        self.wanted = f"at least {least:g} {of}".strip()
        self.value = found.text("%.3f") if found else "-"
        self.reached = found.median >= least if found else None

    @property
    def verdict(self):
        return {True: "reached", False: "NOT REACHED", None: "not run"}[self.reached]


def targets(table):
    return [Target(table, *one) for one in TARGETS]

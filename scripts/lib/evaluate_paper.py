# SPDX-License-Identifier: MIT
"""What the paper says of its Figures 7 and 8, sentence by sentence, beside what was measured. Pure."""
from evaluate_ideal import Spread
from evaluate_targets import by_name

REACHED, MORE, MISSED, PART = "reached", "reached, and more", "NOT REACHED", "not all was run"
NONE = 0.05  # a speedup that differs less from 1 is virtually none
UDP_U_NET = "by UDP ({} by U-Net, which is not run here)"
HYPOTHESIS = " (hypothesis: large requests at 4.1 MB/s)"


class Statement:
    def __init__(self, what, says, measured, verdict):
        self.what, self.says, self.measured, self.verdict = what, says, measured, verdict

    def row(self):
        return self.what, self.says, self.measured, self.verdict


def size_and_data(row):
    return row.label().split(" ", 1)[1]


def at_least(found, name, what, says, least):
    row = found.get(name)
    if not row:
        return []
    verdict = REACHED if row.speedup.median >= least else MISSED
    return [Statement(what, says, row.speedup.text() + ("" if row.quiet else " *"), verdict)]


def no_speedup(names, found, what, says):
    """Reached if nothing is lost, too."""
    mine = [found[n] for n in names if n in found]
    if not mine:
        return []
    medians = [r.speedup.median for r in mine]
    verdict = PART if len(mine) < len(names) else MISSED if min(medians) < 1 - NONE else \
        MORE if max(medians) > 1 + NONE else REACHED
    measured = [r.speedup.text() if len(names) == 1 else f"{r.speedup.text()} ({size_and_data(r)})" for r in mine]
    return [Statement(what, says, ", ".join(measured), verdict)]


def two_to_three(pattern, found):
    names = [f"{pattern} {request} {data}" for data in ("1G", "2G") for request in ("8K", "32K")]
    mine = [found[n] for n in names if n in found]
    if not mine:
        return []
    verdict = PART if len(mine) < len(names) else REACHED if min(r.speedup.median for r in mine) >= 2 else MISSED
    measured = ", ".join(f"{r.speedup.median:.2f} ({size_and_data(r)})" for r in mine)
    return [Statement(pattern, "2 to 3", measured, verdict)]


def change(found, pairs, what, more):
    """From the first of each pair to the second the speedup rises, or falls."""
    mine = [(found[a], found[b]) for a, b in pairs if a in found and b in found]
    if not mine:
        return []
    right = [(b.speedup.median > a.speedup.median) == more and b.speedup.median != a.speedup.median for a, b in mine]
    measured = ", ".join(f"{a.speedup.median:.2f} to {b.speedup.median:.2f}{overlap(a.speedup, b.speedup)} "
                         f"({size_and_data(a)} to {size_and_data(b)})" for a, b in mine)
    verdict = PART if len(mine) < len(pairs) else REACHED if all(right) else MISSED
    return [Statement(what, "more" if more else "less", measured, verdict)]


def overlap(a, b):
    """A difference that a single repetition could turn round is named."""
    return ", which may be chance" if len(a.values) > 1 and a.low <= b.high and b.low <= a.high else ""


def io_shares(found, hypothesis):
    row = found.get("lu")
    if not row:
        return []
    disk, dodo = (Spread(100 * run["io_share"] for run in (pair[i] for pair in row.pairs)) for i in (1, 0))
    return [Statement("lu's time in I/O" + hypothesis, "9 %, which fits Dodo over U-Net, and then 24 % without Dodo",
                      f"{dodo.text('%.0f')} % with Dodo, {disk.text('%.0f')} % without", "")]


def figure_7(found, hypothesis=""):
    return [*at_least(found, "lu", "lu" + hypothesis, "1.15 " + UDP_U_NET.format("1.2"), 1.15),
            *io_shares(found, hypothesis),
            *at_least(found, "dmine second", "dmine, later runs" + hypothesis, "2.6 " + UDP_U_NET.format("3.2"), 2.6),
            *no_speedup(["dmine first"], found, "dmine, first run" + hypothesis, "no speedup")]


def figure_8(found):
    def sizes(pattern):
        return [(f"{pattern} 8K {data}", f"{pattern} 32K {data}") for data in ("1G", "2G")]

    def data(pattern):
        return [(f"{pattern} {request} 1G", f"{pattern} {request} 2G") for request in ("8K", "32K")]
    sequential = [name for pair in sizes("sequential") for name in pair]
    return [*no_speedup(sequential, found, "sequential", "virtually no speedup"),
            *two_to_three("hotcold", found), *two_to_three("random", found),
            *change(found, sizes("random"), "random, from 8K to 32K", False),
            *change(found, sizes("hotcold"), "hotcold, from 8K to 32K", False),
            *change(found, sizes("sequential"), "sequential, from 8K to 32K", True),
            *change(found, data("random"), "random, from 1 GB to 2 GB", False),
            *change(found, data("sequential"), "sequential, from 1 GB to 2 GB", False),
            *change(found, data("hotcold"), "hotcold, from 1 GB to 2 GB", True)]


def statements(table):
    paper = by_name(table, "paper")
    return [*figure_7(paper), *figure_7(by_name(table, "paper-large"), HYPOTHESIS), *figure_8(paper)]

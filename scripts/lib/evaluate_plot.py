# SPDX-License-Identifier: MIT
"""The plot of scripts/evaluate: bars of speedup, beside the ideal and what the paper has. Pure."""
from evaluate_plan import PROFILES
from plot import axis, legend, line, panel, picture, text

BAR, GAP, HEIGHT, LEFT, TOP, BELOW = 14, 12, 190, 46, 30, 104
TITLE_CHARACTER = 7  # the width of one, about
DODO, IDEAL, PAPER = "#c1121f", "#9aa5b1", "#1f6fb4"


def bar(x, top, colour):
    return f'<rect x="{x:.1f}" y="{top:.1f}" width="{BAR}" height="{HEIGHT - top:.1f}" fill="{colour}"/>'


def bars(x, row, y_of):
    out = []
    if row.ideal:
        out.append(bar(x + BAR, y_of(row.ideal.median), IDEAL))
    out.append(bar(x, y_of(row.speedup.median), DODO))
    out.append(line(x + BAR / 2, y_of(row.speedup.low), x + BAR / 2, y_of(row.speedup.high), "#000", 1.5))
    paper = row.paper() if row.cell.stage.profile.timed else None
    if paper:
        out += [line(x - 3, y_of(value), x + 2 * BAR + 3, y_of(value), PAPER, 2.5) for value in paper]
    label = f' transform="rotate(-45 {x + BAR:.1f} {HEIGHT + 14})"'
    out.append(text(x + BAR, HEIGHT + 14, row.label(), "end", 10, label))
    return out


def speedups(title, table):
    most = max(max(s.high for s in (r.speedup, r.ideal) if s) for r in table)
    paper = [max(r.paper()) for r in table if r.cell.stage.profile.timed and r.paper()]
    most = max([most, 1.5, *paper]) * 1.05
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100) if most / s <= 8)

    def y_of(value):
        return HEIGHT * (1 - value / most)
    width = len(table) * (2 * BAR + GAP) + GAP
    out = [text(0, -12, title, "start", 13)]
    out += axis([i * step for i in range(int(most / step) + 1)], width, y_of)
    for i, row in enumerate(table):
        out += bars(GAP + i * (2 * BAR + GAP), row, y_of)
    out.append(line(0, y_of(1), width, y_of(1), "#000"))
    return out, width


def svg(table):
    panels = []
    for profile in PROFILES.values():
        mine = [r for r in table if r.cell.stage.profile == profile]
        if mine:
            panels.append(speedups(profile.title, mine))
    titles = [TITLE_CHARACTER * len(r.cell.stage.profile.title) for r in table]
    width = LEFT + max([w for _, w in panels] + titles, default=0) + 150
    height = len(panels) * (TOP + HEIGHT + BELOW) + 10
    out = []
    for i, (drawn, _) in enumerate(panels):
        out += panel(LEFT, TOP + i * (TOP + HEIGHT + BELOW), drawn)
    out += legend(width - 140, TOP, [(DODO, 8, "speedup by Dodo"), (IDEAL, 8, "ideal"), (PAPER, 2.5, "the paper's")])
    return picture(width, height, "Speedup over the disk alone: medians, from the lowest to the highest repetition", out)

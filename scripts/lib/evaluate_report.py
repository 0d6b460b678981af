# SPDX-License-Identifier: MIT
"""What scripts/evaluate found, as tables: to the terminal, and as Markdown into a document."""
import os
import sys

import evaluate_plan as plan
import evaluate_plot
import evaluate_quiet as quiet
from evaluate_ideal import Spread, disk_alone_s
from evaluate_paper import statements
from evaluate_targets import rows, targets

BEGIN, END = "<!-- evaluate: begin -->", "<!-- evaluate: end -->"
HEAD = ("run", "disk, s", "Dodo, s", "speedup", "ideal", "of ideal", "local/remote/disk", "paper")


def table_row(row):
    paper = row.paper() if row.cell.stage.profile.timed else None
    return (row.label(), row.disk_s.text(), row.dodo_s.text(), row.speedup.text(), row.ideal.text(),
            row.of_ideal.text(), " / ".join(f"{row.share(w):.0f}" for w in ("local", "remote", "file")) + " %",
            "-" if not paper else f"{paper[0]:g}" if paper[0] == paper[1] else f"{paper[0]:g}, {paper[1]:g}"
            if row.cell.stage.app != "synthetic" else f"{paper[0]:g} to {paper[1]:g}")


def markdown(head, lines):
    return ["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
            *("| " + " | ".join(line) + " |" for line in lines)]


def plain(head, lines):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    return ["  " + "  ".join(f"{cell:<{w}}" if i == 0 else f"{cell:>{w}}" for i, (cell, w) in
                             enumerate(zip(line, widths))).rstrip() for line in [head, *lines]]


def calibration_rows(results):
    lines = []
    for name, measured in sorted(results["calibration"].items()):
        for line in quiet.counted(measured):
            asked = line["asked"]
            every = [x for c in results["calibrations"] if c["name"] == name for x in quiet.counted(c["lines"])
                     if x["what"] == line["what"]]
            offs = sorted((quiet.off(x) for x in every), key=abs) if asked else []
            lines.append((name, line["what"], f"{asked:.4g}" if asked else "-", f"{line['measured']:.4g}",
                          line["unit"], f"{100 * quiet.off(line):+.1f} %" if asked else "-",
                          f"{100 * offs[-1]:+.1f} %" if offs else "-", str(len(every))))
    return lines


def scale_rows(table):
    """The cell that was run at another time scale, too."""
    lines = []
    for row in table:
        if not row.cell.only_once:
            continue
        for other in table:
            if other.cell.name == row.cell.name and other is not row and \
               other.cell.stage.profile == row.cell.stage.profile:
                for r in (other, row):
                    lines.append((f"{r.label()}, T = {r.cell.stage.time:g}", r.speedup.text(), r.ideal.text(),
                                  r.of_ideal.text()))
    return lines


def target_rows(table):
    """Those that can be judged, and how many there are besides."""
    every = targets(table)
    judged = [(t.what, t.wanted, t.value, t.verdict) for t in every if t.reached is not None]
    others = len(every) - len(judged)
    return judged + ([(f"{others} others", "", "", "not run")] if others and judged else [])


def disk_rows(table):
    """The baseline, as the calibration has it: the kernel's memory, and one access at a time."""
    lines = []
    for row in table:
        if row.costs and row.cell.stage.profile.timed and row.cell.pattern in ("random", "hotcold"):
            told = disk_alone_s(row.cell, row.costs)
            lines.append((f"{row.label()}, T = {row.cell.stage.time:g}", f"{told:.2f}", row.disk_s.text(),
                          f"{100 * (row.disk_s.median / told - 1):+.0f} %", f"{told / row.least_s.median:.2f}"))
    return lines


def conditions(results):
    settings, loads = results["settings"], Spread(r["load"] for r in results["runs"].values())
    whole = f"{settings['size_scale']:g}"
    order, files = plan.lu_shape(settings["size_scale"])
    lines = [
        quiet.verdict(results),
        f"From {results['started']} to {results.get('ended', '?')}; build {', '.join(results['builds'])}; "
        f"{results['machine']}; load average at the ends of the runs: {loads.text('%.1f')}.",
        f"Sizes are 1/{whole} of the paper's (--size-scale {whole}), lu's matrix is {order} x {order} in {files} "
        f"files. In the paper's profile disk, links and computing are {settings['time_scale']:g} times as fast "
        f"(--time-scale), for dmine {max(1, settings['time_scale'] / plan.DMINE_SLOWER):g} times. "
        f"Repetitions: {settings['repeat']}; figures are medians (lowest to highest).",
        f"{len(results['runs'])} runs, the result of each checked; {len(results['failed'])} failed."]
    lines += [f"NO RUN: {f['run']}: {f['why']}" for f in results["failed"]]
    return lines + [f"SKIPPED: {s}" for s in results["skipped"]]


def sections(results, cells):
    """(title, head, rows) of each table."""
    table = rows(cells, results)
    made = []
    for profile in plan.PROFILES.values():
        mine = [table_row(r) for r in table if r.cell.stage.profile == profile and not r.cell.only_once]
        if mine:
            made.append((profile.title[0].upper() + profile.title[1:], HEAD, mine))
    judged, said, alone = target_rows(table), [s.row() for s in statements(table)], disk_rows(table)
    if judged:
        made.append(("What was to be reached", ("run", "wanted", "is", ""), judged))
    if said:
        made.append(("What the paper says of its Figures 7 and 8", ("of", "the paper says", "here", ""), said))
    if alone:
        made.append(("The disk alone, as the calibration predicts it",
                     ("run", "predicted, s", "measured, s", "off by", "ideal, predicted"), alone))
    scaled = scale_rows(table)
    if scaled:
        made.append(("The same at another time scale", ("run", "speedup", "ideal", "of ideal"), scaled))
    if results["calibration"]:
        made.append(("Calibration: what the testbed was asked for, and gave",
                     ("profile@T", "what", "asked", "measured", "unit", "off by", "at worst", "times"),
                     calibration_rows(results)))
    return made


def as_text(results, cells):
    lines = ["", *conditions(results),
             "docs/evaluation.md tells what each run is, what the ideal is, and why this scaling is fair."]
    for title, head, body in sections(results, cells):
        lines += ["", title + ":", *plain(head, body)]
    return lines


def as_markdown(results, cells, plot):
    lines = [BEGIN, "", *(line + "\n" for line in conditions(results)), f"![Speedups]({plot})"]
    for title, head, body in sections(results, cells):
        lines += ["", f"### {title}", "", *markdown(head, body)]
    return lines + ["", END]


def around(document):
    """What is before and after the document's section."""
    try:
        with open(document, encoding="utf-8") as f:
            text = f.read()
    except OSError as error:
        sys.exit(f"evaluate: {document}: {error.strerror}")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"evaluate: {document} has no lines '{BEGIN}' and '{END}'")
    return before, after


def replace(document, lines):
    """Puts the lines where the document's section is."""
    before, after = around(document)
    with open(document, "w", encoding="utf-8") as f:
        f.write(before + "\n".join(lines) + after)


def write(results, cells, json_path, report):
    print("\n".join(as_text(results, cells)))
    table = [r for r in rows(cells, results) if not r.cell.only_once]
    svg = (os.path.splitext(report or json_path)[0]) + ".svg"
    with open(svg, "w", encoding="utf-8") as f:
        f.write(evaluate_plot.svg(table))
    print(f"\nThe runs are in {json_path}, the plot is {svg}.")
    if report:
        replace(report, as_markdown(results, cells, os.path.basename(svg)))
        print(f"The tables are in {report}.")

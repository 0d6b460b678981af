# SPDX-License-Identifier: MIT
"""The plot of scripts/bench-peers: times in times of raw UDP, by size, as SVG."""
import math
import statistics

from bench_peers_data import ORDER, p50, size_text
from plot import axis, legend, line, panel, picture, text

COLOURS = {'dodo': '#c1121f', 'dodo-poll': '#f08080', 'dodo-sealed': '#7b2cbf',
           'udp-poll': '#999999', 'udp-sealed': '#b8a1d9', 'tcp': '#000000',
           'memcached': '#2a9d3a', 'redis': '#e07a00', 'nbdkit': '#1f6fb4'}
PANELS = ((1500, 'read'), (9000, 'read'), (1500, 'write'), (9000, 'write'))
WIDTH, HEIGHT, LEFT, TOP, GAP, LEGEND = 380, 260, 50, 34, 50, 130
TICKS = (0.25, 0.5, 1, 2, 4, 8)


def y_of(ratio):
    low, high = math.log(TICKS[0]), math.log(TICKS[-1])
    at = (math.log(min(max(ratio, TICKS[0]), TICKS[-1])) - low) / (high - low)
    return HEIGHT * (1 - at)


def series(rows, sizes, who, x_of):
    """A line through the medians; a bar from the lowest round to the highest."""
    colour, points, out = COLOURS[who], [], []
    for size in sizes:
        row = rows[size]
        found = row[who].ratios(row['udp'], p50) if who in row else []
        if not found:
            continue
        x, y = x_of(size), y_of(statistics.median(found))
        points.append('%.1f,%.1f' % (x, y))
        out.append(line(x, y_of(min(found)), x, y_of(max(found)), colour))
        out.append('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (x, y, colour))
    out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="%s"/>' % (
        ' '.join(points), colour, '2.5' if who == 'dodo' else '1.2'))
    return out


def calls(table, mtu, op):
    rows = {key[3]: row for key, row in table.items()
            if key[1:3] == (mtu, op) and key[4] == 1 and 'udp' in row}
    sizes = sorted(rows)
    step = WIDTH / max(len(sizes), 1)

    def x_of(size):
        return step * (sizes.index(size) + 0.5)
    out = [text(WIDTH / 2, -10, '%ss, MTU %d' % (op, mtu), size=13), *axis(TICKS, WIDTH, y_of)]
    out += [text(x_of(s), HEIGHT + 16, size_text(s)) for s in sizes]
    for who in ORDER:
        if who in COLOURS:
            out += series(rows, sizes, who, x_of)
    return out


def write(table, path):
    whos = [w for w in ORDER if w in COLOURS and any(w in row for row in table.values())]
    width, height = 2 * (WIDTH + GAP) + LEFT + LEGEND, 2 * (HEIGHT + GAP) + TOP
    out = []
    for i, (mtu, op) in enumerate(PANELS):
        out += panel(LEFT + i % 2 * (WIDTH + GAP), TOP + i // 2 * (HEIGHT + GAP),
                     calls(table, mtu, op))
    x = LEFT + 2 * (WIDTH + GAP) - 20
    out += [text(x, TOP, 'times raw UDP, p50', 'start', 12),
            *legend(x, TOP + 20, [(COLOURS[who], 3, who) for who in whos])]
    with open(path, 'w', encoding='utf-8') as f:
        f.write(picture(width, height, 'Time of a call in times of raw UDP\'s of the same shape: '
                        'medians of rounds, bars from the lowest to the highest round', out))

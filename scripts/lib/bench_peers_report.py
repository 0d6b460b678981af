# SPDX-License-Identifier: MIT
"""What scripts/bench-peers says of its runs: tables, targets, a JSON file and a plot.

Usage: bench_peers_report.py DIRECTORY OUTPUT.json
"""
import json
import os
import sys

import bench_peers_plot
import bench_peers_targets
from bench_peers_data import (ORDER, best_peer, cpu, load, mb_s, p50, p99, size_text, spread,
                              table_of)

LINE_BYTES_S = 125e6  # 1 Gbit/s, as tbf counts: frames with their Ethernet header


def heading(text):
    print()
    print(text)


def times(table, mtu, op):
    rows = {key[3]: row for key, row in table.items() if key[1:3] == (mtu, op) and key[4] == 1}
    whos = [w for w in ORDER if any(w in row for row in rows.values())]
    if not rows:
        return
    heading('%s, MTU %d: p50 (p99), us' % (op.capitalize() + 's', mtu))
    print('%-16s' % '' + ''.join('%15s' % size_text(s) for s in sorted(rows)))
    for who in whos:
        print('%-16s' % who + ''.join(
            '%15s' % ('%.1f (%.0f)' % (row[who].median(p50), row[who].median(p99))
                      if who in row else '-') for _, row in sorted(rows.items())))


def ratios(table, poll_base):
    """Dodo's of its limit and its best peer, within rounds."""
    heading('Times within rounds: median (lowest-highest)')
    print('%-17s%20s%23s%29s%20s' % ('', 'dodo / udp', 'poll / ' + poll_base, 'dodo / best peer',
                                     'sealed / sealed'))
    for (_, mtu, op, size, threads), row in sorted(table.items()):
        if threads > 1 or 'dodo' not in row:
            continue
        peer = best_peer(row, p50)
        cells = []
        for who, base, width in (('dodo', 'udp', 20), ('dodo-poll', poll_base, 23),
                                 ('dodo', peer, 29), ('dodo-sealed', 'udp-sealed', 20)):
            there = who in row and base in row
            words = spread(row[who].ratios(row[base], p50)) if there else '-'
            cells.append((words + ' ' + peer if base == peer and there else words).rjust(width))
        print('%-5s %4s %6d' % (op, size_text(size), mtu) + ''.join(cells))


def columns(table, title, of, digits, chosen):
    """Peers down, things across: medians."""
    rows = [(key, row) for key, row in sorted(table.items()) if chosen(key)]
    if not rows:
        return
    heading(title)
    print('%-16s' % '' + ''.join('%16s' % ('%s %s %d' % (k[2], size_text(k[3]), k[1]))
                                 for k, _ in rows))
    for who in ORDER:
        if any(who in row for _, row in rows):
            print('%-16s' % who + ''.join(
                '%16s' % ('%.*f' % (digits, row[who].median(of)) if who in row else '-')
                for _, row in rows))


def link_table(table, title, line_mb_s):
    if not table:
        return
    heading('%s; the line carries %.1f MB/s of data in datagrams of this shape' %
            (title, line_mb_s))
    print('%-20s%12s%12s%12s%12s%26s' % ('', 'MB/s', 'p50, ms', 'p99, ms', 'frames lost',
                                         'of the line'))
    for (link, *_), row in sorted(table.items(), key=lambda i: (len(i[0][0]), i[0])):
        for who in [w for w in ORDER if w in row]:
            cell = row[who]
            print('%-8s %-11s%12.1f%12.2f%12.2f%12d%26s' % (
                link, who, cell.median(mb_s), cell.median(p50) / 1e3, cell.median(p99) / 1e3,
                cell.median(lambda r: r['link_lost']),
                spread([v / line_mb_s for v in cell.figures(mb_s)])))


def verdicts(targets):
    heading('Targets: ratio within rounds, median (lowest-highest)')
    for t in targets:
        print('%-44s / %-15s %5.2f (%.2f-%.2f)  %s %.2f: %s' % (
            t['what'], t['beside'], t['median'], t['least'], t['most'], t['wanted'], t['limit'],
            'reached' if t['reached'] else 'NOT REACHED'))
    print('%d of %d targets reached.' % (sum(t['reached'] for t in targets), len(targets)))


def summary(parts):
    rows = []
    for part, table in sorted(parts.items()):
        for (link, mtu, op, size, outstanding), row in sorted(table.items()):
            for who, cell in row.items():
                rows.append({'part': part, 'link': link, 'mtu': mtu, 'op': op, 'size': size,
                             'outstanding': outstanding, 'who': who, 'p50_us': cell.median(p50),
                             'p99_us': cell.median(p99), 'mb_s': cell.median(mb_s),
                             'cpu_us_mib': round(cell.median(cpu), 2)})
    return rows


def main(directory, output):
    results = load(directory)
    with open(os.path.join(directory, 'notes'), encoding='utf-8') as f:
        notes = f.read().splitlines()
    with open(os.path.join(directory, 'shape'), encoding='utf-8') as f:
        shape = json.load(f)
    with open(os.path.join(directory, 'poll'), encoding='utf-8') as f:
        poll_base = f.read().strip()
    parts = table_of(results)
    wire = parts.get('wire', {})
    line_mb_s = LINE_BYTES_S / 1e6 * shape['data'] / (shape['mtu'] + 14)
    for mtu in (1500, 9000):
        for op in ('read', 'write'):
            times(wire, mtu, op)
    if wire:
        ratios(wire, poll_base)
    columns(wire, 'Four threads, MB/s', mb_s, 0, lambda k: k[4] > 1)
    columns(wire, 'CPU of both ends, us a MiB', cpu, 0,
            lambda k: k[4] == 1 and k[3] in (8192, 131072))
    link_table(parts.get('link'), '16 reads of 64K outstanding at 1 Gbit/s', line_mb_s)
    link_table(parts.get('loss'), 'The same, deep queue, with frames lost', line_mb_s)
    incast = parts.get('incast')
    if incast:
        link_table(incast, '12 hosts to one at 1 Gbit/s, 12 reads of %s' % size_text(min(incast)[3]), line_mb_s)
    targets = bench_peers_targets.judge(parts, line_mb_s, poll_base)
    verdicts(targets)
    runs = [r['run'] for r in results]
    print('Raw UDP lost %d transfers, which are not in its times; sockets had no room for %d '
          'datagrams in all.' % (sum(r['lost'] for r in runs), sum(r['dropped'] for r in runs)))
    with open(output, 'w', encoding='utf-8') as f:
        json.dump({'conditions': notes, 'shape': shape, 'line_mb_s': round(line_mb_s, 2),
                   'targets': targets, 'medians': summary(parts), 'runs': results}, f, indent=1)
        f.write('\n')
    if wire:
        plot = output.removesuffix('.json') + '.svg'
        bench_peers_plot.write(wire, plot)
        print('The plot is in %s.' % plot)


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])

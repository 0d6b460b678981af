# SPDX-License-Identifier: MIT
"""What scripts/bench-wire says of its runs: tables, a sentence a figure, and a JSON file.

Usage: bench_wire_report.py DIRECTORY OUTPUT.json
"""
import json
import os
import statistics
import sys

COST_LIMIT, SEALED_LIMIT, SLOW_LIMIT = 1.3, 2.0, 1.2
FIGURE_SIZE = 8192


def load(directory):
    with open(os.path.join(directory, 'results'), encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def size_text(size):
    return '%dK' % (size >> 10) if size < 1 << 20 else '%dM' % (size >> 20)


class Cell:
    """One kind of call: its figures by round."""

    def __init__(self):
        self.rounds = {}

    def figures(self, name):
        return [run[name] for run in self.rounds.values()]

    def median(self, name):
        return statistics.median(self.figures(name))

    def ratios(self, base):
        """By round, of the medians of the calls; @base may be several cells: the slowest counts."""
        return [run['p50_us'] / max(cell.rounds[n]['p50_us'] for cell in base)
                for n, run in sorted(self.rounds.items())]


def cells(results, part):
    """(op, size) -> who -> Cell"""
    table = {}
    for r in results:
        if r['part'] != part:
            continue
        row = table.setdefault((r['run']['op'], r['run']['size']), {})
        row.setdefault(r['who'], Cell()).rounds[r['round']] = r['run']
    return table


def spread(values, digits=2):
    return '%.*f (%.*f-%.*f)' % (digits, statistics.median(values), digits, min(values), digits,
                                 max(values))


def cost_table(table, whos):
    print()
    print('%-10s' % '' + ''.join('%22s' % who for who in whos) + '   p50 (p99), us')
    for (op, size), row in sorted(table.items()):
        print('%-5s %4s' % (op, size_text(size)) + ''.join(
            '%22s' % ('%.1f (%.1f)' % (row[who].median('p50_us'), row[who].median('p99_us')))
            for who in whos))
    print()
    print('%-10s' % '' + ''.join('%22s' % who for who in whos[1:]) + '   times raw UDP')
    for (op, size), row in sorted(table.items()):
        print('%-5s %4s' % (op, size_text(size)) + ''.join(
            '%22s' % spread(row[who].ratios([row['raw']])) for who in whos[1:]))
    if 'other' in whos:
        print()
        print('%-10s%22s%22s   times the other build' % ('', 'dodo', 'sealed'))
        for (op, size), row in sorted(table.items()):
            print('%-5s %4s%22s%22s' % (
                op, size_text(size), spread(row['dodo'].ratios([row['other']]), 3),
                spread(row['sealed'].ratios([row['other-sealed']]), 3)))


def slow_table(table):
    whos = ['file', 'remote', 'both']
    print()
    print('%-10s' % 'mwrite' + ''.join('%12s' % who for who in whos) + '   p50, ms' +
          '%22s' % 'times the slower')
    for (_, size), row in sorted(table.items()):
        print('%10s' % size_text(size) + ''.join(
            '%12.2f' % (row[who].median('p50_us') / 1e3) for who in whos) +
            '%32s' % spread(row['both'].ratios([row['file'], row['remote']])))


def verdict(number, text, ratios, limit):
    median = statistics.median(ratios)
    reached = median <= limit
    print('(%d) %s: %.2f times (%.2f to %.2f); wanted: at most %.1f: %s.' % (
        number, text, median, min(ratios), max(ratios), limit,
        'reached' if reached else 'not reached'))
    return {'figure': number, 'text': text, 'ratio': round(median, 3), 'least': round(min(ratios), 3),
            'most': round(max(ratios), 3), 'limit': limit, 'reached': reached}


def verdicts(cost, slow):
    found = []
    row = cost.get(('read', FIGURE_SIZE))
    if row:
        found.append(verdict(1, 'An 8 KiB mread, beside raw UDP',
                             row['dodo'].ratios([row['raw']]), COST_LIMIT))
        found.append(verdict(2, 'A sealed 8 KiB mread, beside raw UDP',
                             row['sealed'].ratios([row['raw']]), SEALED_LIMIT))
    worst = None
    for (_, size), row in sorted(slow.items()):
        ratios = row['both'].ratios([row['file'], row['remote']])
        if worst is None or statistics.median(ratios) > statistics.median(worst[1]):
            worst = (size, ratios)
    if worst:
        found.append(verdict(3, 'An mwrite with file and network both slow, beside the slower '
                             '(the worst size, %s)' % size_text(worst[0]), worst[1], SLOW_LIMIT))
    return found


def summary(table, base):
    rows = []
    for (op, size), row in sorted(table.items()):
        for who, cell in row.items():
            entry = {'op': op, 'size': size, 'who': who}
            for name in ('p50_us', 'p99_us'):
                entry[name] = round(cell.median(name), 3)
            others = [row[b] for b in base if b != who]
            if who not in base:
                entry['ratios'] = [round(x, 4) for x in cell.ratios(others)]
            rows.append(entry)
    return rows


def main(directory, output):
    results = load(directory)
    with open(os.path.join(directory, 'notes'), encoding='utf-8') as f:
        notes = f.read().splitlines()
    cost, slow = cells(results, 'cost'), cells(results, 'slow')
    if cost:
        first = next(iter(cost.values()))
        cost_table(cost, [w for w in ('raw', 'dodo', 'sealed', 'other', 'other-sealed')
                          if w in first])
    if slow:
        slow_table(slow)
    print()
    found = verdicts(cost, slow)
    lost = sum(r['run']['lost'] for r in results if r['who'] == 'raw')
    if lost:
        print('Raw UDP lost %d transfers; they are not in its times.' % lost)
    with open(output, 'w', encoding='utf-8') as f:
        json.dump({'conditions': notes, 'figures': found, 'cost': summary(cost, ['raw']),
                   'slow': summary(slow, ['file', 'remote']), 'runs': results}, f, indent=1)
        f.write('\n')


if __name__ == '__main__':
    main(sys.argv[1], sys.argv[2])

# SPDX-License-Identifier: MIT
"""What Dodo is wanted to reach, and whether it did. A target is a ratio within the rounds."""
import statistics

from bench_peers_data import best_peer, cpu, mb_s, p50, p99, size_text

K, M = 1 << 10, 1 << 20
# size: (of raw UDP, of the best peer, the same polling)
READ = {4 * K: (1.15, 1.0, 0.65), 8 * K: (1.15, 1.0, 0.65), 32 * K: (1.10, 1.0, None),
        128 * K: (1.10, 1.1, None), 512 * K: (1.10, {1500: 1.3, 9000: 0.9}, None),
        1 * M: (1.10, {1500: 1.3, 9000: 0.9}, None)}
WRITE = (1.15, 1.0)
THREADS = (0.9, 1.2)       # 4 threads, 8K, MB/s: of raw UDP, of the best peer
CPU = (1.15, 0.9)          # 8K reads: of raw UDP, of memcached
LINK = {'deep': 0.98, 'shallow': 0.95}
LOSS = ('1%', 0.9)         # MB/s of what it is without loss
INCAST = (0.9, 2.0)        # of the line's payload; p99 in times of all the line holds
SEALED = (1.15, 0.4)       # 128K reads: of raw UDP sealed; of the unsealed rate


class Targets:
    def __init__(self):
        self.all = []

    def add(self, what, beside, values, limit, most=True):
        """@most: at most the limit is wanted, else at least."""
        if not values:
            return
        median = statistics.median(values)
        self.all.append({
            'what': what, 'beside': beside, 'median': round(median, 3),
            'least': round(min(values), 3), 'most': round(max(values), 3), 'limit': limit,
            'wanted': 'at most' if most else 'at least',
            'reached': median <= limit if most else median >= limit})

    def add_ratio(self, what, row, who, base, of, limit, most=True):
        if limit is not None and who in row and base in row:
            self.add(what, base, row[who].ratios(row[base], of), limit, most)


def reads(targets, row, mtu, size, poll_base):
    limits = READ.get(size)
    if not limits:
        return
    what = 'read %s, MTU %d' % (size_text(size), mtu)
    peer = best_peer(row, p50)
    of_peer = limits[1].get(mtu) if isinstance(limits[1], dict) else limits[1]
    targets.add_ratio(what, row, 'dodo', 'udp', p50, limits[0])
    targets.add_ratio(what, row, 'dodo', peer, p50, of_peer)
    targets.add_ratio(what + ', polling', row, 'dodo-poll', poll_base, p50, limits[0])
    targets.add_ratio(what + ', polling', row, 'dodo-poll', peer, p50, limits[2])
    if 'dodo-poll-both' in row:
        targets.add_ratio(what + ', both poll', row, 'dodo-poll-both', 'udp-poll', p50, limits[0])
        targets.add_ratio(what + ', both poll', row, 'dodo-poll-both', peer, p50, limits[2])
    if size == 8 * K:
        what = 'CPU of both ends, read 8K, MTU %d' % mtu
        targets.add_ratio(what, row, 'dodo', 'udp', cpu, CPU[0])
        targets.add_ratio(what, row, 'dodo', 'memcached', cpu, CPU[1])
    if size == 128 * K:
        what = 'sealed read 128K, MTU %d' % mtu
        targets.add_ratio(what, row, 'dodo-sealed', 'udp-sealed', p50, SEALED[0])
        if 'dodo-sealed' in row and 'dodo' in row:  # the rate, so the other way round
            targets.add(what + ', rate', 'dodo', row['dodo'].ratios(row['dodo-sealed'], p50),
                        SEALED[1], most=False)


def wire(targets, table, poll_base):
    for (_, mtu, op, size, threads), row in sorted(table.items()):
        if threads > 1:
            if size == 8 * K and op == 'read':
                what = '%d threads, read 8K, MTU %d, MB/s' % (threads, mtu)
                targets.add_ratio(what, row, 'dodo', 'udp', mb_s, THREADS[0], most=False)
                targets.add_ratio(what, row, 'dodo', best_peer(row, mb_s, least=False), mb_s,
                                  THREADS[1], most=False)
        elif op == 'read':
            reads(targets, row, mtu, size, poll_base)
        else:
            what = 'write %s, MTU %d' % (size_text(size), mtu)
            targets.add_ratio(what, row, 'dodo', 'udp', p50, WRITE[0])
            targets.add_ratio(what, row, 'dodo', best_peer(row, p50), p50, WRITE[1])


def links(targets, parts, line_mb_s, who):
    """@who: dodo (threads) or dodo-queue (one thread)."""
    by = ' (queue)' if who == 'dodo-queue' else ''
    for (link, *_, outstanding), row in sorted(parts.get('link', {}).items()):
        if who in row:
            targets.add('%d reads of 64K, 1 Gbit/s, %s%s' % (outstanding, link, by), 'the line',
                        [v / line_mb_s for v in row[who].figures(mb_s)], LINK[link], most=False)
    loss = {key[0]: row for key, row in parts.get('loss', {}).items()}
    if who in loss.get(LOSS[0], {}) and who in loss.get('0%', {}):
        targets.add('the same, %s lost%s' % (LOSS[0], by), 'no loss',
                    loss[LOSS[0]][who].ratios(loss['0%'][who], mb_s), LOSS[1], most=False)
    for (link, _, _, size, outstanding), row in sorted(parts.get('incast', {}).items()):
        if who not in row:
            continue
        what = '%d hosts to one, %s%s' % (outstanding, link, by)
        all_us = outstanding * size / line_mb_s
        targets.add(what, 'the line', [v / line_mb_s for v in row[who].figures(mb_s)],
                    INCAST[0], most=False)
        targets.add(what + ', p99', 'all at once', [v / all_us for v in row[who].figures(p99)],
                    INCAST[1])


def judge(parts, line_mb_s, poll_base):
    targets = Targets()
    wire(targets, parts.get('wire', {}), poll_base)
    for who in ('dodo', 'dodo-queue'):
        links(targets, parts, line_mb_s, who)
    return targets.all

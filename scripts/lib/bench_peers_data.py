# SPDX-License-Identifier: MIT
"""The results of scripts/bench-peers: who took how long for what, by round."""
import json
import os
import statistics

PEERS = ('memcached', 'redis', 'nbdkit')
ORDER = ('dodo', 'dodo-poll', 'dodo-poll-both', 'dodo-queue', 'dodo-sealed', 'udp',
         'udp-poll-client', 'udp-poll', 'udp-sealed', 'tcp') + PEERS


def load(directory):
    with open(os.path.join(directory, 'results'), encoding='utf-8') as f:
        return [json.loads(line) for line in f]


def size_text(size):
    return '%dK' % (size >> 10) if size < 1 << 20 else '%dM' % (size >> 20)


def spread(values, digits=2):
    return '%.*f (%.*f-%.*f)' % (digits, statistics.median(values), digits, min(values), digits,
                                 max(values))


def cpu(run):
    """Both ends: on a veth the receiver's work is done in the sender's context."""
    return run['client_cpu_us_mib'] + run['server_cpu_us_mib']


class Cell:
    """One peer's figures for one thing, by round."""

    def __init__(self):
        self.rounds = {}

    def figures(self, of):
        return [of(run) for _, run in sorted(self.rounds.items())]

    def median(self, of):
        return statistics.median(self.figures(of))

    def ratios(self, base, of):
        """Of the rounds that both have."""
        return [of(run) / of(base.rounds[n]) for n, run in sorted(self.rounds.items())
                if n in base.rounds and of(base.rounds[n]) > 0]


def p50(run):
    return run['p50_us']


def p99(run):
    return run['p99_us']


def mb_s(run):
    return run['mb_s']


def table_of(results):
    """part -> (link, mtu, op, size, outstanding) -> who -> Cell"""
    table = {}
    for r in results:
        run = r['run']
        run['link_lost'] = r['link_lost']
        key = (r['link'], run['mtu'], run['op'], run['size'], run['depth'] or run['threads'])
        row = table.setdefault(r['part'], {}).setdefault(key, {})
        row.setdefault(r['who'], Cell()).rounds[r['round']] = run
    return table


def best_peer(row, of, least=True):
    """The one whose median over the rounds is best; None: there is none."""
    there = [who for who in PEERS if who in row]
    if not there:
        return None
    return (min if least else max)(there, key=lambda who: row[who].median(of))

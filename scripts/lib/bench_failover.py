# SPDX-License-Identifier: MIT
"""What scripts/bench-failover asks of the new manager, and what it prints.

wait DODO ADDRESS PID AT SECONDS REGIONS at-least|exactly: until that manager has these regions; a line of JSON
round ROUNDS: the round on standard input, in words
report: all rounds on standard input, as a table; status 1 if something failed or was lost
"""
import json
import re
import statistics
import subprocess
import sys
import time


def cpu_ns(pid):
    with open(f'/proc/{pid}/schedstat', encoding='ascii') as f:
        return int(f.read().split()[0])


def memory_kib(pid, name):
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return int(re.search(rf'^{name}:\s+(\d+) kB', f.read(), re.M)[1])


def status_of(dodo, address):
    """None: it does not answer, or stands by."""
    asked = subprocess.run([dodo, 'status', '--json', '--timeout', '2s', '--manager', address],
                           stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if asked.returncode != 0:
        return None
    status = json.loads(asked.stdout)
    return status if status['active'] else None


def wait(dodo, address, pid, at, seconds, regions, how):
    until = time.monotonic() + float(seconds)
    known, hosts, reached = -1, 0, False
    while not reached and time.monotonic() < until:
        status = status_of(dodo, address)
        if status:
            known, hosts = status['regions'], len(status['hosts'])
            reached = known == int(regions) if how == 'exactly' else known >= int(regions)
        if not reached:
            time.sleep(0.1)
    print(json.dumps({'reached': reached, 'known': known, 'hosts': hosts, 'after_s': time.monotonic() - float(at),
                      'cpu_ns': cpu_ns(pid), 'rss_kib': memory_kib(pid, 'VmRSS'), 'hwm_kib': memory_kib(pid, 'VmHWM')}))


def percentile(values, part):
    """The value below or at which that part of the values is."""
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else float('nan')


def cpu_of(r):
    return (r['collected']['cpu_ns'] - r['cpu_before_ns']) / 1e9


def tell_round(line, rounds):
    r = json.loads(line)
    look, came, rests = r['look'], r['collected'], r['settled']
    print(f"round {r['round']} of {rounds}: the first open after {look['first_ms'] / 1e3:.2f} s, of the last thread after "
          f"{max(look['openers']) / 1e3:.2f} s; {came['known']} regions after {came['after_s']:.1f} s and {cpu_of(r):.1f} s of its "
          f"processor, {came['rss_kib'] >> 10} MiB; {rests['known']} known and {r['count']['live']} live of {r['regions']} at the "
          f"end; failed: {look['opens_failed']} opens, {look['failed']} reads and writes so far", flush=True)


def spread(values, form='{:.2f}'):
    return f'{form.format(statistics.median(values))} ({form.format(min(values))}-{form.format(max(values))})'


def tails(ms):
    return f'{percentile(ms, .5) / 1e3:.2f} / {percentile(ms, .99) / 1e3:.2f} / {max(ms) / 1e3:.2f}'


def report(lines):
    rounds = [json.loads(line) for line in lines]
    sweep = [r for r in rounds if 'sweep' in r]
    rounds = [r for r in rounds if 'sweep' not in r]
    looks = [r['look'] for r in rounds]
    openers = [ms for l in looks for ms in l['openers']]
    never = sum(ms < 0 for ms in openers)
    waits = [ms for l in looks for ms in l['waits']]
    last = looks[-1]
    print(f'\n{len(rounds)} kills; medians (lowest-highest), or p50 / p99 / worst')
    for name, text in (
            ('the first open after the kill, s', spread([l['first_ms'] / 1e3 for l in looks])),
            (f"a thread's first open after it, s, {len(openers)} of them", tails(openers)),
            (f'waits of opens in the gap, s, {len(waits)} of them', tails(waits)),
            ('the longest wait of a later one, s', spread([l['later_worst_ms'] / 1e3 for l in looks])),
            ('opens since the kills, failed', f"{sum(l['opens'] for l in looks)}, {sum(l['opens_failed'] for l in looks)}"),
            ('reads and writes, failed, wrong bytes', f"{last['reads'] + last['writes']}, {last['failed']}, {last['wrong']}"),
            ('a read or write within 10 s of it, p99, ms', spread([l['calls_p99_us'] / 1e3 for l in looks])),
            ('the longest of them, ms', spread([l['calls_worst_us'] / 1e3 for l in looks], '{:.0f}')),
            ('all regions known again after, s', spread([r['collected']['after_s'] for r in rounds], '{:.1f}')),
            ("the new manager's processor time by then, s", spread([cpu_of(r) for r in rounds], '{:.1f}')),
            ('its resident memory then, MiB', spread([r['collected']['rss_kib'] / 1024 for r in rounds], '{:.0f}')),
            ('regions known at the end of each round', ' '.join(str(r['settled']['known']) for r in rounds)),
            ('regions that programs have memory for', ' '.join(str(r['count']['live']) for r in rounds)),
            ('when all were read: reads that failed, known then',
             ' '.join(f"{s['sweep']['failed']}, {s['settled']['known']}" for s in sweep) or 'not tried')):
        print(f'  {name:50} {text}')
    bad = (never + sum(l['opens_failed'] for l in looks) + last['failed'] + last['wrong'] + last['closes_failed'] +
           sum(abs(r['regions'] - r['settled']['known']) + r['regions'] - r['count']['live'] for r in rounds) +
           sum(s['sweep']['failed'] + abs(rounds[0]['regions'] - s['settled']['known']) for s in sweep))
    if bad:
        print('something failed, or was lost')
    return bad > 0


if __name__ == '__main__':
    if sys.argv[1] == 'wait':
        wait(*sys.argv[2:])
    elif sys.argv[1] == 'round':
        tell_round(sys.stdin.read(), sys.argv[2])
    else:
        sys.exit(report(sys.stdin))

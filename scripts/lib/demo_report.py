# SPDX-License-Identifier: MIT
"""What scripts/demo says of its runs: a line, and in the end a table and a JSON file.

Usage: demo_report.py line RUN.json
       demo_report.py report DIRECTORY OUTPUT.json
"""
import glob
import json
import os
import sys
import textwrap

ROWS = [('data mining, second run', 'mine-disk', 'mine-second'),
        ('data mining, first run', 'mine-disk', 'mine-first'),
        ('dodo run sqlite3, again', 'lookup-disk', 'lookup-second'),
        ('dodo run sqlite3, first', 'lookup-disk', 'lookup-first'),
        ('hotcold', 'hotcold-disk', 'hotcold-dodo'),
        ('random', 'random-disk', 'random-dodo'),
        ('random, dodo_prefetch', 'random-disk', 'random-prefetch'),
        ('random, libmanage', 'random-disk', 'random-manage'),
        ('random, a host killed', 'random-disk', 'random-killed'),
        ('sequential, libmanage', 'sequential-disk', 'sequential-manage')]


def load(path):
    with open(path, encoding='utf-8') as f:
        return json.load(f)


def remote_share(run):
    """Of the bytes that it read; None where nobody counts them: in a program that knows nothing of Dodo."""
    if 'remote_bytes' not in run:
        return None
    return run['remote_bytes'] / (run['local_bytes'] + run['remote_bytes'] + run['file_bytes'])


def line(run):
    text = '%6.1f s' % run['seconds']
    if 'answer' in run:
        return text
    if run['backend'] == 'dodo':
        text += ', %.0f %% from remote memory' % (100 * remote_share(run))
    if run['regions_lost']:
        of = ' of %d' % -(-run['size_bytes'] // run['region_bytes']) if 'size_bytes' in run else ''
        text += ', %d%s regions lost with their host' % (run['regions_lost'], of)
    if 'itemsets' in run:
        return text + ', %d scans, %d itemsets' % (len(run['pass_seconds']), run['itemsets'])
    return text + ', %d wrong bytes' % run['wrong_bytes']


def explain(runs):
    """Plain words on why the ratios are what they are, from the figures themselves."""
    disk, dodo, prefetch = runs['random-disk'], runs['random-dodo'], runs['random-prefetch']
    first = 100 * (1 - remote_share(dodo))
    return (
        'Why: a random request took %.2f ms on the disk, and %.2f ms from remote memory '
        '(medians). A region fills as it is read, so what is read for the first time comes from '
        'the disk with Dodo too: %.0f %% of the bytes. Were remote memory free, %.1f times would '
        'be the most here; more iterations gain more. Where the program announces each region that '
        'it opens (dodo_prefetch), a read that finds nothing in remote memory brings the whole '
        'megabyte, for one movement of the head: only %.0f %% of the bytes that it asked for had to '
        'come from the disk. libmanage finds that out by itself, once a part of the time of its reads has '
        'paid for the first such megabytes. Sequential reading has nothing to gain, as '
        'in the paper (Figure 8): the disk itself delivered %.0f MB/s, and libmanage leaves such '
        'reads to it. Data mining scans, too, but with a slow disk, and its second run had %.0f %% '
        'of its bytes from the file.'
        % (disk['request_us_p50'] / 1e3, dodo['request_us_p50'] / 1e3, first,
           100 / max(first, 1), 100 * (1 - remote_share(prefetch)), runs['sequential-disk']['mb_per_s'],
           100 * (1 - remote_share(runs['mine-second']))))


def load_run(directory, name):
    """The run of that name; of several, NAME-1 and so on, the one with the median time."""
    path = os.path.join(directory, name + '.json')
    if os.path.exists(path):
        return load(path)
    found = sorted((load(each) for each in glob.glob(os.path.join(directory, name + '-[0-9]*.json'))),
                   key=lambda run: run['seconds'])
    if not found:
        sys.exit('%s: there is no such run' % name)
    return found[len(found) // 2]


def has_run(directory, name):
    return os.path.exists(os.path.join(directory, name + '.json'))


def report(directory, output):
    shown = [row for row in ROWS if 'lookup' not in row[1] or has_run(directory, row[1])]
    names = sorted({name for row in shown for name in row[1:]})
    runs = {name: load_run(directory, name) for name in names}
    with open(os.path.join(directory, 'notes'), encoding='utf-8') as f:
        notes = f.read().splitlines()
    for name, run in runs.items():
        if run['backend'] == 'dodo' and run['remote_bytes'] == 0:
            sys.exit('%s: not one byte came from remote memory' % name)
    if len({json.dumps([run['by_size'], run['support_sums']]) for run in runs.values() if 'itemsets' in run}) > 1:
        sys.exit('data mining found something else through Dodo than on the disk')
    if len({run['answer'] for run in runs.values() if 'answer' in run}) > 1:
        sys.exit('sqlite3 found something else through Dodo than on the disk')
    print()
    print('%-24s %12s %12s %9s %8s' % ('', 'plain disk', 'Dodo', 'speedup', 'remote'))
    rows = []
    for title, disk, dodo in shown:
        speedup = runs[disk]['seconds'] / runs[dodo]['seconds']
        share = remote_share(runs[dodo])
        print('%-24s %10.1f s %10.1f s %8.1fx %8s' % (
            title, runs[disk]['seconds'], runs[dodo]['seconds'], speedup,
            '-' if share is None else '%.0f %%' % (100 * share)))
        rows.append({'title': title, 'disk_seconds': runs[disk]['seconds'],
                     'dodo_seconds': runs[dodo]['seconds'], 'speedup': round(speedup, 3),
                     'remote_share': None if share is None else round(share, 4)})
    print()
    verified = sum(run.get('verified_bytes', 0) for run in runs.values())
    wrong = sum(run.get('wrong_bytes', 0) for run in runs.values())
    text = explain(runs)
    for paragraph in (text, 'All of this is a model on one machine, as said above; a cluster of '
                      'real hosts has figures of its own. Bytes verified in all runs: %d; wrong: '
                      '%d.' % (verified, wrong)):
        print(textwrap.fill(paragraph, 96))
    with open(output, 'w', encoding='utf-8') as f:
        json.dump({'modelled': notes, 'rows': rows, 'runs': runs}, f, indent=1)
        f.write('\n')


if __name__ == '__main__':
    if sys.argv[1] == 'line':
        print(line(load(sys.argv[2])))
    else:
        report(sys.argv[2], sys.argv[3])

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tables in docs/metrics.md are those of the daemons, which the program that is given prints: names, labels,
types, units and meanings, none more and none less, in the same order."""
import os
import re
import subprocess
import sys

PROGRAM = os.path.abspath(sys.argv[1])
PAGE = 'docs/metrics.md'
os.chdir(os.path.join(os.path.dirname(__file__), '..', '..'))
NAME = re.compile(r'dodo_(cmd|imd|rmd)(_[a-z]+)+')
SECRET = re.compile(r'console|touched|logged|session_of')
failures = []


def measured():
    """(name, label, type, unit, meaning), as the daemons have them."""
    text = subprocess.run(PROGRAM, stdout=subprocess.PIPE, check=True).stdout.decode()
    rows = []
    for line in text.splitlines():
        name, label, values, kind, unit, meaning = line.split('\t')
        check_row(name, label, values.split(), kind, unit, meaning)
        rows.append((name, label, kind, unit, meaning))
    return rows


def check_row(name, label, values, kind, unit, meaning):
    family = re.sub(r'_(total|info)$', '', name)
    if not NAME.fullmatch(name):
        failures.append('%s: no name for a metric' % name)
    if (unit != '-') != family.endswith(('_bytes', '_seconds')) or (unit != '-' and not family.endswith('_' + unit)):
        failures.append('%s: its name should end with its unit (%s), and only then' % (name, unit))
    if (kind == 'counter') != name.endswith('_total'):
        failures.append('%s: _total is for counters' % name)
    if (label == '-') != (not values) or len(set(values)) != len(values):
        failures.append('%s: a label has values, each once' % name)
    if not meaning or meaning.endswith('.') or '|' in meaning:
        failures.append('%s: its help is a phrase, without a full stop and |' % name)
    if SECRET.search(name):
        failures.append('%s: tells of the owner' % name)


def page():
    """The same, as the tables have them."""
    rows = []
    with open(PAGE, encoding='utf-8') as f:
        for line in f:
            cells = [c.strip() for c in line.strip().strip('|').split('|')]
            m = re.fullmatch(r'`(\w+)(?:\{(\w+)\})?`', cells[0])
            if m and len(cells) == 4:
                rows.append((m.group(1), m.group(2) or '-', cells[1], cells[2], cells[3]))
    return rows


def main():
    takes, told = measured(), page()
    names = [row[0] for row in takes]
    if len(set(names)) != len(names) or len(names) < 40:
        failures.append('a name is there twice, or the program prints too few')
    for row in takes:
        if row not in told:
            failures.append('%s: %s does not have it so: %s' % (row[0], PAGE, ' | '.join(row)))
    for row in told:
        if row not in takes:
            failures.append('%s: no daemon has it so: %s' % (row[0], ' | '.join(row)))
    if not failures and told != takes:
        failures.append('%s: the order is not that of the tables' % PAGE)
    print('\n'.join(failures))
    return bool(failures)


sys.exit(main())

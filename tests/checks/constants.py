#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tables in dodo.conf(5) are true: their keys, types and defaults are those of proto/conf/conf_keys.c,
whose table the program that is given prints; and each constant of proto/conf/defaults.h that names its key
has that key's default."""
import os
import re
import subprocess
import sys

KEYS = os.path.abspath(sys.argv[1])
os.chdir(os.path.join(os.path.dirname(__file__), '..', '..'))
UNITS = {'us': 10**3, 'ms': 10**6, 's': 10**9, 'min': 60 * 10**9, 'h': 3600 * 10**9,
         'K': 2**10, 'M': 2**20, 'G': 2**30, '': 1}
failures = []


def text_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def number(text):
    """'5s', '4M', '4096' -> nanoseconds, bytes, count; None for anything else."""
    m = re.fullmatch(r'(\d+(?:\.\d+)?)([a-zA-Z]*)', text)
    if not m or m.group(2) not in UNITS:
        return None
    return (float(m.group(1)) if '.' in m.group(1) else int(m.group(1))) * UNITS[m.group(2)]


def defaults():
    """(group, key) -> value, of the defines that say which key they are."""
    found = {}
    for comment, value in re.findall(r'/\* (\[.*?)\*/\s*#define DEFAULT_\w+ (.+)',
                                     text_of('proto/conf/defaults.h')):
        m = re.match(r'\[(\w+)\] (\w+)\b', comment)
        if m.group(2) in ('listen', 'metrics'):
            continue  # the port of an address, not the address
        value = re.sub(r'(\d)ull\b', r'\1', value)
        value = re.sub(r'\bNS_PER_(US|MS|S)\b', lambda u: str(UNITS[u.group(1).lower()]), value)
        found[m.group(1), m.group(2)] = (value.strip('"') if value.startswith('"')
                                         else eval(value))  # pylint: disable=eval-used
    return found


def page():
    """(group, key) -> (default, meaning), as in the tables."""
    found, group, text = {}, None, text_of('docs/dodo.conf.5')
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.startswith(('.SS', '.SH')):
            m = re.match(r'\.SS Group \[(\w+)\]', line)
            group = m and m.group(1)
        cells = line.split('\t')
        if group and len(cells) == 3 and cells[1] != 'default':
            meaning = ' '.join(lines[i + 1:lines.index('T}', i)])
            found[group, cells[0]] = cells[1].replace('\\-', '-'), meaning
    return found


def table():
    """(group, key) -> (variable, type, default), as the programs have them."""
    found = {}
    for line in subprocess.run(KEYS, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines():
        group, key, *rest = line.split('\t')
        found[group, key] = rest
    return found


def check_key(key, told, variable, kind, default):
    shown, meaning = told
    if default not in (shown, str(number(shown))):
        failures.append('[%s] %s: dodo.conf(5) has the default %s, the table %s' % (*key, shown, default))
    said = re.match(r'(time|size|number):', meaning)
    wanted = kind if kind in ('time', 'size', 'number') else None
    if (said and said.group(1)) != wanted:
        failures.append('[%s] %s: is a %s; its text in dodo.conf(5) starts with "%s"'
                        % (*key, kind, meaning[:12]))
    if variable != '-' and variable not in text_of('docs/dodo.conf.5'):
        failures.append('[%s] %s: dodo.conf(5) does not tell of %s' % (*key, variable))


def main():
    told, takes, constants = page(), table(), defaults()
    for key in sorted(set(takes) - set(told)):
        failures.append('[%s] %s is taken, but not in dodo.conf(5)' % key)
    for key in sorted(set(told) - set(takes)):
        failures.append('[%s] %s is in dodo.conf(5), but nobody takes it' % key)
    for key in sorted(set(told) & set(takes)):
        check_key(key, told[key], *takes[key])
    for key, value in sorted(constants.items()):
        default = takes.get(key, ['', '', 'nothing'])[2]
        if str(value) not in (default, str(number(default))):
            failures.append('[%s] %s: proto/conf/defaults.h has %s, the table %s' % (*key, value, default))
    if len(constants) < 20 or len(takes) < 50:
        failures.append('proto/conf/defaults.h or the table was not understood')
    print('\n'.join(failures))
    return bool(failures)


sys.exit(main())

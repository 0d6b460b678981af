#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The table of constants in dodo.conf(5) is true: its keys are those that the programs take, its
defaults those of base/defaults.h."""
import os
import re
import sys

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
                                     text_of('base/defaults.h')):
        m = re.match(r'\[(\w+)\] (\w+)\b', comment)
        if m.group(2) == 'listen':
            continue  # the port of an address, not the address
        value = re.sub(r'(\d)ull\b', r'\1', value)
        value = re.sub(r'\bNS_PER_(US|MS|S)\b', lambda u: str(UNITS[u.group(1).lower()]), value)
        found[m.group(1), m.group(2)] = (value.strip('"') if value.startswith('"')
                                         else eval(value))  # pylint: disable=eval-used
    return found


def page():
    """(group, key) -> default, as in the tables."""
    found, group = {}, None
    for line in text_of('docs/dodo.conf.5').splitlines():
        if line.startswith(('.SS', '.SH')):
            m = re.match(r'\.SS Group \[(\w+)\]', line)
            group = m and m.group(1)
        cells = line.split('\t')
        if group and len(cells) == 3 and cells[1] != 'default':
            found[group, cells[0]] = cells[1].replace('\\-', '-')
    return found


def taken():
    """The keys that daemons and library take."""
    found = set()
    for path in ('daemon/config.c', 'cmd/options.c', 'imd/options.c', 'rmd/options.c'):
        found |= set(re.findall(r'\{"(dodo|daemon|imd|cmd|rmd)", "(\w+)",\s*(?:NULL|"DODO_)', text_of(path)))
    library = text_of('libdodo/settings.c')
    client = library[library.index('static int set_client'):]
    found |= {('client', k) for k in re.findall(r'strcmp\(key, "(\w+)"\)', client)}
    found |= {('client', k) for k in re.findall(r'\{"(\w+)", offsetof', library)}
    manage = text_of('libmanage/settings.c')
    found |= {('manage', k) for k in re.findall(r'strcmp\(key, "(\w+)"\)', manage)
              if k != 'manager'}
    return found


def main():
    told, takes, constants = page(), taken(), defaults()
    for key in sorted(takes - set(told)):
        failures.append('[%s] %s is taken, but not in dodo.conf(5)' % key)
    for key in sorted(set(told) - takes):
        failures.append('[%s] %s is in dodo.conf(5), but nobody takes it' % key)
    for key, value in sorted(constants.items()):
        shown = told.get(key, '')
        if value not in (shown, number(shown)):
            failures.append('[%s] %s: dodo.conf(5) says %s, base/defaults.h %s'
                            % (*key, shown or 'nothing', value))
    if len(constants) < 20:
        failures.append('base/defaults.h was not understood')
    print('\n'.join(failures))
    return bool(failures)


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The errors that a public header tells of each call are those in the ERRORS section of its page."""
import glob
import os
import re
import sys

os.chdir(os.path.join(os.path.dirname(__file__), '..', '..'))
# A page may leave these to the pages of the system calls.
SYSTEM = {'EDQUOT', 'EFBIG', 'EIO', 'EMFILE', 'ENFILE', 'ENOSPC'}
ERRNO = re.compile(r'\bE[A-Z0-9]{3,}\b')


def text_of(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def header_errors():
    """call -> errnos told in its comment."""
    found = {}
    for path in sorted(glob.glob('include/dodo/*.h')):
        for name, comment in re.findall(r'/\*\*\s+\* (dodo_\w+)\(\) - (.*?)\*/',
                                        text_of(path), re.S):
            found[name] = set(ERRNO.findall(comment))
    return found


def page_of(name):
    """The page that documents the call: its own, or the one that it is .so'ed to."""
    path = 'docs/%s.3' % name
    text = text_of(path)
    m = re.match(r'\.so (?:man3/)?(\S+)', text)
    return os.path.join('docs', m.group(1)) if m else path


def main():
    failures, by_page = [], {}
    for name, errors in header_errors().items():
        by_page.setdefault(page_of(name), []).append((name, errors))
    for path, calls in sorted(by_page.items()):
        m = re.search(r'\.SH ERRORS\n(.*?)(?=\n\.SH |\Z)', text_of(path), re.S)
        told = set(ERRNO.findall(m.group(1))) if m else set()
        wanted = set().union(*(errors for _, errors in calls))
        names = ', '.join(name for name, _ in calls)
        if m and 'Other errors are those of' in m.group(1):
            told |= wanted & SYSTEM
        for errno in sorted(wanted - told):
            failures.append('%s: %s is in the header (%s), not in ERRORS' % (path, errno, names))
        for errno in sorted(told - wanted):
            failures.append('%s: %s is in ERRORS, not in the header (%s)' % (path, errno, names))
    if not by_page:
        failures.append('the headers were not understood')
    print('\n'.join(failures))
    return bool(failures)


sys.exit(main())

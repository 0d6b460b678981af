#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""knots.py ARCHIVE...: in each part the files call each other in one direction.

Of all archives of one folder: which object uses what another one defines. More than two objects
that use each other in a circle are a knot.
"""
import os
import subprocess
import sys
from collections import defaultdict

def objects(archive):
    """Name, defined and undefined symbols of each member."""
    text = subprocess.run(["nm", archive], capture_output=True, text=True, check=True).stdout
    name, defined, undefined = None, set(), set()
    for line in text.splitlines():
        words = line.split()
        if line.endswith(".o:"):
            if name:
                yield name, defined, undefined
            name, defined, undefined = line[:-1], set(), set()
        elif len(words) == 2 and words[0] == "U":
            undefined.add(words[1])
        elif len(words) == 3 and words[1] in "TDBRVW":
            defined.add(words[2])
    if name:
        yield name, defined, undefined


def edges(archives):
    """Which object uses which others."""
    found = [o for archive in archives for o in objects(archive)]
    owner = {s: name for name, defined, _ in found for s in defined}
    return {
        name: {owner[s] for s in undefined if s in owner} - {name} for name, _, undefined in found
    }


def reachable(graph, start):
    """All that can be reached from @start, by one step at least."""
    seen, todo = set(), list(graph[start])
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo.extend(graph[at])
    return seen


def knots(graph):
    """Sets of objects that all reach each other."""
    reach = {name: reachable(graph, name) for name in graph}
    circles = {frozenset(o for o in reach[n] if n in reach[o]) for n in graph if n in reach[n]}
    return [sorted(c) for c in circles if len(c) > 2]


def main():
    parts = defaultdict(list)
    for archive in sys.argv[1:]:
        parts[os.path.basename(os.path.dirname(archive))].append(archive)
    failures = 0
    for part, archives in sorted(parts.items()):
        graph = edges(archives)
        if not graph:
            print(f"{part}: no objects; build it first (ninja)")
            failures += 1
        for knot in knots(graph):
            print(f"{part}: {len(knot)} files call each other in a circle: {' '.join(knot)}")
            failures += 1
    print(f"{failures} found")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())

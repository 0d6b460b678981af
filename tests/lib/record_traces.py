#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""record_traces.py EXAMPLES >tests/lib/cache_trace_recorded.h: what dmine and lu read of their
files, as strace sees it, in pieces of the cache. EXAMPLES is the directory of the built programs."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PIECE = 16384
PIECES = 1024  # TRACE_PIECES
LENGTH = 16384  # TRACE_LEN
PREAD = re.compile(r"pread64\(\d+<([^>]*)>, .*, (\d+), (\d+)\) = (\d+)$")


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def record(directory, *command):
    """The reads of files below @directory: (path, offset, bytes)."""
    log = directory / "strace"
    run("strace", "-f", "-y", "-s", "0", "-e", "trace=pread64", "-o", str(log), *command)
    lines = [PREAD.search(line) for line in log.read_text().splitlines()]
    return [(f[1], int(f[3]), int(f[4])) for f in lines
            if f and Path(f[1]).parent == directory / "data" and int(f[4]) > 0]


def runs(directory, reads):
    """Of consecutive pieces: [first, count]; the files lie one behind the other, in whole pieces."""
    base, end = {}, 0
    for path in sorted((directory / "data").iterdir()):
        base[str(path)] = end
        end += -(-path.stat().st_size // PIECE)
    if end > PIECES:
        sys.exit(f"record_traces.py: {end} pieces, more than {PIECES}")
    found = []
    for path, offset, count in reads:
        first = base[path] + offset // PIECE
        last = base[path] + (offset + count - 1) // PIECE
        if found and sum(found[-1]) == first:
            found[-1][1] += last + 1 - first
        else:
            found.append([first, last + 1 - first])
    if sum(r[1] for r in found) > LENGTH:
        sys.exit(f"record_traces.py: more than {LENGTH} reads of pieces")
    return found


def dmine(directory, examples):
    data = str(directory / "data" / "transactions")
    run(f"{examples}/dmine-generate", "--output", data, "--format", "binary",
        "--transactions", "463000")
    return record(directory, f"{examples}/dmine", "--input", data, "--backend", "disk",
                  "--min-support", "0.005")


def lu(directory, examples):
    return record(directory, f"{examples}/lu", "--dir", str(directory / "data"), "--backend",
                  "disk", "--order", "1408", "--files", "8", "--slab", "64", "--generate", "7")


def main():
    print("/* SPDX-License-Identifier: MIT */")
    print("/* Written by tests/lib/record_traces.py: first piece and count of each run. */")
    print("#include <stdint.h>")
    print("/* clang-format off */")
    for program in dmine, lu:
        with tempfile.TemporaryDirectory() as name:
            directory = Path(name).resolve()
            (directory / "data").mkdir()
            found = runs(directory, program(directory, sys.argv[1]))
        print(f"static const uint16_t recorded_{program.__name__}[][2] = {{")
        line = ""
        for first, count in found:
            item = f"{{{first},{count}}},"
            if len(line) + len(item) > 99:
                print(line)
                line = ""
            line += item
        print(line)
        print("};")
    print("/* clang-format on */")


main()

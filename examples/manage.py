#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The smallest program in Python that uses the region cache: pieces of a file in random order, most
of them from local memory, or from another host's where there are some. It needs no cluster to run.
With Dodo installed: DODO_CACHE_SIZE=1M DODO_MANAGER=HOST:PORT DODO_KEY=FILE ./manage.py FILE"""
import random
import sys

import dodo

PIECE, READS = 16 << 10, 20000


def main(path):
    piece = bytearray(PIECE)  # or a numpy array, or any other buffer
    with dodo.CachedRegion(path) as region:  # all of the file; it may be larger than the cache
        for i in range(READS):
            at = random.randrange(len(region) // PIECE) * PIECE
            region.readinto(piece, at)  # from wherever it is
            if i % 100 == 0:
                region.pwrite(piece, at)  # to local memory
        region.sync()  # now the disk has it
        st = dodo.stats()
    print(f"{READS} reads: {st['local_hits']} from local memory, {st['remote_hits']} from remote "
          f"memory, {st['disk_reads']} from the file")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: manage.py FILE    (that may be written, of 16 KiB at least)")
    main(sys.argv[1])

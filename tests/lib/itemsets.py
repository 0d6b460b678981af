#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""itemsets.py FILE SHARE [CONFIDENCE]: the frequent itemsets of a text file of transactions, found
without Apriori: the transactions of each set are the common ones of its parts (maps of bits, a
depth-first search). Prints what dmine --json does of them."""
import json
import sys
from collections import Counter
from fractions import Fraction


def grow(prefix, tails, least, found):
    """All frequent sets that begin with prefix; tails: (item, its transactions with the prefix)."""
    for i, (item, tids) in enumerate(tails):
        itemset = prefix + (item,)
        found[itemset] = tids.bit_count()
        more = [(other, tids & rest) for other, rest in tails[i + 1 :]]
        grow(itemset, [m for m in more if m[1].bit_count() >= least], least, found)


def parts(itemset):
    """Every way to part a set in two."""
    for mask in range(1, (1 << len(itemset)) - 1):
        yield tuple(x for i, x in enumerate(itemset) if mask >> i & 1)


def read(path):
    with open(path, encoding="ascii") as f:
        for line in f:
            yield set(map(int, line.split()))


def main(path, share, confidence=None):
    counts, transactions = Counter(), 0
    for items in read(path):
        counts.update(items)
        transactions += 1
    exact = Fraction(share) * transactions
    least = max(1, -(-exact.numerator // exact.denominator))
    bits = {item: bytearray(transactions // 8 + 1) for item, n in counts.items() if n >= least}
    for number, items in enumerate(read(path)):
        for item in items & bits.keys():
            bits[item][number >> 3] |= 1 << (number & 7)
    found = {}
    grow((), [(item, int.from_bytes(bits[item], "little")) for item in sorted(bits)], least, found)
    sizes = range(1, max(map(len, found), default=0) + 1)
    result = {
        "transactions": transactions,
        "min_count": least,
        "itemsets": len(found),
        "by_size": [sum(len(s) == n for s in found) for n in sizes],
        "support_sums": [sum(c for s, c in found.items() if len(s) == n) for n in sizes],
    }
    if confidence is not None:
        result["rules"] = sum(
            count >= Fraction(confidence) * found[left]
            for itemset, count in found.items()
            for left in parts(itemset)
        )
    print(json.dumps(result))


main(*sys.argv[1:])

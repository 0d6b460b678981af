#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""itemsets.py FILE SHARE [CONFIDENCE]: the frequent itemsets of a text file of transactions, found
without Apriori: the transactions of each set are the common ones of its parts (sets of numbers, a
depth-first search). Prints what dmine --json does of them. For files that are small."""
import json
import sys
from fractions import Fraction


def grow(prefix, tails, least, found):
    """All frequent sets that begin with prefix; tails: (item, its transactions with the prefix)."""
    for i, (item, tids) in enumerate(tails):
        itemset = prefix + (item,)
        found[itemset] = len(tids)
        more = [(other, tids & rest) for other, rest in tails[i + 1 :]]
        grow(itemset, [m for m in more if len(m[1]) >= least], least, found)


def parts(itemset):
    """Every way to part a set in two."""
    for mask in range(1, (1 << len(itemset)) - 1):
        yield tuple(x for i, x in enumerate(itemset) if mask >> i & 1)


def main(path, share, confidence=None):
    with open(path, encoding="ascii") as f:
        transactions = [set(map(int, line.split())) for line in f]
    exact = Fraction(share) * len(transactions)
    least = max(1, -(-exact.numerator // exact.denominator))
    tids = {}
    for number, items in enumerate(transactions):
        for item in items:
            tids.setdefault(item, set()).add(number)
    found = {}
    grow((), sorted((i, t) for i, t in tids.items() if len(t) >= least), least, found)
    sizes = range(1, max(map(len, found), default=0) + 1)
    result = {
        "transactions": len(transactions),
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

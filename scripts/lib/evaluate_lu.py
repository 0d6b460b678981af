# SPDX-License-Identifier: MIT
"""What lu reads, writes and computes, counted from its layout as examples/lu_factor.c goes through it. Pure."""
from dataclasses import dataclass

NUMBER = 8  # bytes of a double


@dataclass(frozen=True)
class LuTraffic:
    first: int       # bytes of the matrix, each read once before anything is known of it
    again: tuple     # bytes of the slabs before it, of each slab in turn; at last those of the last pass
    written: int
    operations: int  # of floating point

    @property
    def read(self):
        return self.first + sum(self.again)


def traffic(order, slab):
    """@order is a multiple of @slab: so are all that are run here."""
    row, slabs = slab * NUMBER, order // slab
    again, operations = [], 0
    for j in range(slabs):
        again.append(row * sum(order - k * slab for k in range(j)))
        operations += sum((2 * (order - k * slab) - slab) * slab * slab for k in range(j))
        operations += (order - j * slab) * slab * slab
    below = row * sum(order - (k + 1) * slab for k in range(slabs))
    return LuTraffic(order * order * NUMBER, (*again, below), order * order * NUMBER + below, operations)

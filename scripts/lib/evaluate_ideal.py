# SPDX-License-Identifier: MIT
"""What a run through Dodo could take at best: out of what disk and network of the testbed give, of the
sizes and of the program's pattern, and of nothing that such a run did. docs/evaluation.md tells why no
run takes less. Pure."""
import statistics

from evaluate_lu import traffic
from evaluate_plan import COMPUTE_S, HOSTS, ITERATIONS, LU_SLAB, MEMORY, POOL, lu_rate, lu_shape

K = 1 << 10
HOT, HOT_DRAWS = 20, 80  # percent of the data, of the requests


class Costs:
    """What the testbed's disk and network give, by `scripts/testbed measure --json` of it."""

    @staticmethod
    def of(lines):
        """None where the disk has no model, or nothing could be measured."""
        try:
            return Costs([line for line in lines if line["measured"]])
        except KeyError:
            return None

    def __init__(self, lines, source="h1", sink="client"):
        found = {line["what"]: line["measured"] for line in lines}
        self.rtt_s = found[f"{source} to {sink}, there and back"] / 1e6
        self.net_bytes_s = found[f"{source} to {sink}"] * 1e6
        self.disk_bytes_s = found[f"disk of {sink}, sequential"] * 1e6
        small, large = (n / (found[f"disk of {sink}, random {n // K}K"] * 1e6) for n in (8 * K, 32 * K))
        self.random_byte_s = max(0.0, (large - small) / (24 * K))
        self.random_s = small - 8 * K * self.random_byte_s

    def random(self, size):
        """A request to the disk, at a place that nobody knew before."""
        return self.random_s + size * self.random_byte_s

    def remote(self, size):
        """The same to remote memory, or to the disk where that is sooner."""
        return min(self.rtt_s + size / self.net_bytes_s, self.random(size))

    @property
    def far_bytes_s(self):
        """Of what remote memory holds, in an order that is known: the faster of network and disk."""
        return max(self.net_bytes_s, self.disk_bytes_s)


def room(stage):
    """Bytes of data that fit at best into the host's own memory (the cache of the program and the kernel's
    together), and into all other hosts'."""
    return stage.bytes_of(MEMORY), HOSTS * stage.bytes_of(POOL)


# ---- places that nobody can know before: random, hotcold ------------------------------------------

def parts_of(pattern, data):
    """(bytes, share of the requests), what is read most often first."""
    if pattern == "hotcold":
        return [(data * HOT / 100, HOT_DRAWS / 100), (data * (100 - HOT) / 100, 1 - HOT_DRAWS / 100)]
    return [(data, 1.0)]


def share_of(parts, held):
    """Of all requests, those to the first @held bytes."""
    found = 0
    for size, share in parts:
        found += share * min(1, held / size)
        held = max(0, held - size)
    return found


def sooner_s(begin, length, most):
    """The mean of the lesser of @most and a time that lies anywhere from @begin on for @length."""
    if begin >= most:
        return most
    within = min(length, most - begin)
    return (within * (begin + within / 2) + (length - within) * most) / length


def unread_s(parts, read, keep, costs, size):
    """A request's mean wait for what is still unread of the first @keep bytes: for the reading in order,
    which has got to @read, or for an access of its own."""
    wait, begin, speed = 0, 0, costs.disk_bytes_s
    for part, share in parts:
        first, end = max(begin, read), min(begin + part, keep)
        if end > first:
            one = sooner_s((first - read) / speed, (end - first) / speed, costs.random(size))
            wait += share * (end - first) / part * one
        begin += part
    return wait


def request_s(cell, parts, read, keep, costs):
    """The mean of a request when @read bytes have been read."""
    local, _ = room(cell.stage)
    near, here = share_of(parts, min(local, read)), share_of(parts, read)
    beyond = 1 - share_of(parts, keep)  # for which no memory has room
    return (here - near) * costs.remote(cell.request) + unread_s(parts, read, keep, costs, cell.request) + \
        beyond * costs.random(cell.request)


def computing_s(stage):
    """Between two requests of a synthetic benchmark."""
    return COMPUTE_S / stage.time if stage.profile.timed else 0


def requests_of(cell):
    return ITERATIONS * -(-cell.data // cell.request)


def least_random_s(cell, costs):
    parts, keep = parts_of(cell.pattern, cell.data), min(cell.data, sum(room(cell.stage)))
    now = 0
    for done in range(requests_of(cell)):
        read = min(keep, now * costs.disk_bytes_s)
        one = computing_s(cell.stage) + request_s(cell, parts, read, keep, costs)
        if read == keep:
            return now + (requests_of(cell) - done) * one
        now += one
    return now


def disk_alone_s(cell, costs):
    """The same program without Dodo, where the kernel holds what is read most often."""
    held = share_of(parts_of(cell.pattern, cell.data), room(cell.stage)[0])
    return requests_of(cell) * (computing_s(cell.stage) + (1 - held) * costs.random(cell.request))


# ---- an order that can be known: sequential, dmine, lu ----------------------------------------------

def least_scans_s(computing, data, rooms, costs, retained):
    """Scans of the same data, with so much computing in each; @retained: remote memory has it already."""
    local, remote = rooms
    total = 0
    for i, compute in enumerate(computing):
        near = min(local, data) if i > 0 else 0
        far = min(remote, data - near) if i > 0 or retained else 0
        total += max(compute, far / costs.far_bytes_s, (data - near - far) / costs.disk_bytes_s)
    return total


def least_sequential_s(cell, costs):
    computing = [computing_s(cell.stage) * requests_of(cell) / ITERATIONS] * ITERATIONS
    return least_scans_s(computing, cell.data, room(cell.stage), costs, False)


def least_dmine_s(cell, system, costs, disk_run):
    """Data and passes as the program reports them; its computing is that of the run with the disk alone."""
    computing = [a - b for a, b in zip(disk_run["pass_seconds"], disk_run["pass_read_seconds"])]
    data = sum(disk_run[f"{k}_bytes"] for k in ("local", "remote", "file")) / len(computing)
    return least_scans_s(computing, data, room(cell.stage), costs, system == "second")


def least_lu_s(cell, costs, disk_run):
    stage = cell.stage
    local, _ = room(stage)  # all of the matrix fits into remote memory
    moved = traffic(lu_shape(stage.size)[0], LU_SLAB)
    compute = moved.operations / lu_rate(stage) if lu_rate(stage) else disk_run["compute_seconds"]
    # Within a pass no byte is read twice: at most what local memory holds at its beginning comes from there.
    far = sum(max(0, n - local) for n in moved.again)
    disk = max(0, moved.first - local) + moved.written  # lu has made the matrix: the kernel may hold its end
    return max(compute, far / costs.far_bytes_s, disk / costs.disk_bytes_s)


def least_s(cell, system, costs, disk_run):
    if cell.stage.app == "dmine":
        return least_dmine_s(cell, system, costs, disk_run)
    if cell.stage.app == "lu":
        return least_lu_s(cell, costs, disk_run)
    return least_sequential_s(cell, costs) if cell.pattern == "sequential" else least_random_s(cell, costs)


class Spread:
    """Median, lowest and highest of the repetitions."""

    def __init__(self, values):
        self.values = list(values)
        self.median = statistics.median(self.values) if self.values else None
        self.low = min(self.values, default=None)
        self.high = max(self.values, default=None)

    def __bool__(self):
        return bool(self.values)

    def text(self, form="%.2f"):
        if not self:
            return "-"
        if len(self.values) == 1:
            return form % self.median
        return f"{form % self.median} ({form % self.low}-{form % self.high})"

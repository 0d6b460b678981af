# SPDX-License-Identifier: MIT
"""What a run through Dodo could have been at best: the same computing, its bytes from local memory for
nothing, from remote memory at the network's speed, from the disk at the disk's. Pure."""
import statistics

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
        self.sequential_bytes_s = found[f"disk of {sink}, sequential"] * 1e6
        small, large = (n / (found[f"disk of {sink}, random {n // K}K"] * 1e6) for n in (8 * K, 32 * K))
        self.random_byte_s = max(0.0, (large - small) / (24 * K))
        self.random_s = small - 8 * K * self.random_byte_s

    def network(self, size):
        return self.rtt_s + size / self.net_bytes_s

    def random(self, size):
        return self.random_s + size * self.random_byte_s


def compute_s(app, run):
    """What a run spent on all but reading and writing."""
    if app == "dmine":
        return sum(run["pass_seconds"]) - sum(run["pass_read_seconds"])
    if app == "lu":
        return run["compute_seconds"]
    return run["seconds"] - run["read_seconds"]


def first_touches(pattern, places, draws):
    """How many of so many places are expected to be read at all, in so many requests."""
    if pattern == "sequential":
        return min(places, draws)
    if pattern == "random":
        return touched(places, draws)
    hot = places * HOT // 100
    return touched(hot, draws * HOT_DRAWS / 100) + touched(places - hot, draws * (100 - HOT_DRAWS) / 100)


def touched(places, draws):
    return places * (1 - (1 - 1 / places) ** draws)


def best_places(run, fits):
    """Bytes from remote memory and from the file, at best. Where all data fits into remote memory only
    what is read for the first time is the disk's to give; else it is as it was in this run."""
    remote, file = run["remote_bytes"], run["file_bytes"]
    if not fits or run["pattern"] == "sequential":
        return remote, file
    size = run["request_bytes"]
    first = size * first_touches(run["pattern"], run["size_bytes"] // size, run["requests"])
    return max(0, run["verified_bytes"] - run["local_bytes"] - first), first


def ideal_s(app, run, disk_run, costs, fits=False):
    """Of a run through Dodo: the least time for its bytes, each from the place where it was; of a synthetic
    benchmark whose data @fits from where it could have been."""
    remote, file = best_places(run, fits) if app == "synthetic" else (run["remote_bytes"], run["file_bytes"])
    if app == "synthetic":
        size = run["request_bytes"]
        if run["pattern"] == "sequential":
            disk = file / costs.sequential_bytes_s
        else:
            disk = file / size * costs.random(size)
    elif app == "dmine":
        size = 128 * K
        disk = file / costs.sequential_bytes_s
    else:  # lu: the disk is as fast as it was without Dodo, reading and writing
        size = run["read_bytes"] / run["reads"]
        disk = file * disk_run["io_seconds"] / disk_run["read_bytes"]
    return compute_s(app, disk_run) + remote / size * costs.network(size) + disk


def lu_bound(run, disk_run):
    """1 / (1 - s (1 - t_dodo / t_disk)): s is I/O's share without Dodo, the t are times of I/O."""
    share = disk_run["io_share"]
    return 1 / (1 - share * (1 - run["io_seconds"] / disk_run["io_seconds"]))


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

# SPDX-License-Identifier: MIT
"""What scripts/evaluate runs: the paper's section 5, scaled. Pure: it reads and starts nothing.

A cell is one bar of the paper's figures in one profile. Its runs are those of one program with the
disk alone ("disk") and through Dodo ("dodo"; of dmine "first" and "second"). Cells that have their
hosts, links, disk and memory in common are a stage, which is one testbed.
"""
import math
from dataclasses import dataclass, field

import testbed_model
from evaluate_lu import traffic

VERSION = 4  # of what is run, and how: figures of another one are no figures of the same
K, M, G = 1 << 10, 1 << 20, 1 << 30
HOSTS = 12
# The paper's 5.1: pool of each host, the program's cache, the memory of its host.
POOL, CACHE, MEMORY = 100 * M, 80 * M, 128 * M
COMPUTE_S = 10e-3  # between two requests of a synthetic benchmark, 5.2.2
ITERATIONS = 4
# 5.2.1: 10 million transactions of 20 items, 1 GB.
TRANSACTIONS = 10_000_000
LU_ORDER, LU_FILES, LU_SLAB = 8192, 8, 64
# 5.3: lu runs "over 6 hours", and "spends only 9% of its time doing I/O". Without Dodo it cannot be
# 9 %, since Dodo could then gain 1.1 at most, and 1.15 and 1.2 were measured. If it is the share with
# Dodo over U-Net, where 1.2 was gained, the disk run's is (1.2 - 0.91) / 1.2.
LU_SECONDS, LU_IO_SHARE = 6 * 3600, 0.24
LU_FLOPS = 2 / 3 * LU_ORDER**3 / (LU_SECONDS * (1 - LU_IO_SHARE))  # a second
SUPPORT = "0.01"
SEED = 1
# What the programs themselves take of memory, whatever the size of the data, the kernel's tables for
# them included; of lu besides its slabs. And what Dodo's libraries take in them, without their cache,
# with a part of a file that is filled, and for each region. More would be memory for data, which at
# small sizes is much beside the paper's share; with less the kernel ends them. Measured of the
# libraries: dmine 2000 K; synthetic, as it reads in order, is ended with 1900 K in two of nine runs,
# and with 2600 K in none of ten; lu is ended with 2400 K, and runs with 2900 K. A run that is ended
# says nothing, and its regions keep others out until the manager gives it up. [bytes]
PROGRAM = {"synthetic": 1600 * K, "dmine": 2600 * K, "lu": 2 * M}
LU_SLABS_HELD = 3
LIBRARY = {"synthetic": 2600 * K, "dmine": 2300 * K, "lu": 3000 * K}
LIBRARY_REGION = 15 * K
# dmine's computing is this machine's own, whatever T is. With a slower disk and link it has the
# small share of the time that it has where disks are slow beside processors.
DMINE_SLOWER = 4

PATTERNS = ("sequential", "hotcold", "random")
# What the paper tells of its Figures 7 and 8 in words and numbers: UDP, U-Net.
PAPER = {"lu": (1.15, 1.2), "dmine second": (2.6, 3.2), "dmine first": (1.0, 1.0),
         "sequential": (1.0, 1.0), "hotcold": (2.0, 3.0), "random": (2.0, 3.0)}
APPS = ("synthetic", "dmine", "lu")


@dataclass(frozen=True)
class Profile:
    name: str
    title: str
    disk: str          # the testbed's model
    rate: str          # of links; empty: as fast as this machine copies
    timed: bool        # --time-scale counts, and the paper's time to compute
    disk_of: str = ""  # its runs with the disk alone are those of that profile
    apps: tuple = APPS

    @property
    def baseline(self):
        return self.disk_of or self.name


PROFILES = {p.name: p for p in (
    Profile("paper", "the paper's disk, 100 Mbit/s", "paper", "100mbit", True),
    Profile("paper-large", "a hypothesis, not the paper's figure: its disk at 4.1 MB/s for large requests, 100 Mbit/s",
            "paper-large", "100mbit", True, apps=("dmine", "lu")),
    Profile("today-10g", "a cloud volume, unshaped links", "cloud", "", False),
    Profile("today-1g", "a cloud volume, 1 Gbit/s", "cloud", "1gbit", False, "today-10g"))}
PROFILE_WORDS = {"paper": ("paper",), "paper-large": ("paper-large",), "today": ("today-10g", "today-1g")}


@dataclass(frozen=True)
class Stage:
    """One testbed: time and size are how many times faster and smaller than told it is."""
    profile: Profile
    app: str
    time: float
    size: float
    data: int = G  # that synthetic benchmarks read, the paper's bytes; their stages differ in memory

    @property
    def name(self):
        return f"{self.profile.name}/{self.app}@{self.time:g}"

    @property
    def calibration(self):
        """What its links and disk depend on."""
        return f"{self.profile.name}@{self.time:g}"

    def bytes_of(self, full):
        return max(1, int(full / self.size))

    def region(self):
        """Of the programs; the paper does not tell its own. A pool has room for some of them."""
        size = M
        while size > 64 * K and 4 * size > self.bytes_of(POOL):
            size //= 2
        return size

    def regions(self):
        """As many as the program opens, at most."""
        if self.app == "lu":
            order, files = lu_shape(self.size)
            return order // LU_SLAB * files
        return -(-data_bytes(self.data, self.size) // self.region())

    def memory(self, system):
        """The paper's share, and beside it what the program takes for itself."""
        slabs = LU_SLABS_HELD * lu_shape(self.size)[0] * LU_SLAB * 8 if self.app == "lu" else 0
        extra = LIBRARY[self.app] + self.regions() * LIBRARY_REGION if system == "dodo" else 0
        return self.bytes_of(MEMORY) + PROGRAM[self.app] + slabs + extra

    def up_options(self):
        """Of `scripts/testbed up`: the host "plain" is the one whose programs have no Dodo."""
        return [*self.calibration_options(), "--hosts", str(HOSTS), "--pool", str(self.bytes_of(POOL)),
                "--memory", str(self.memory("dodo")),
                "--host", f"plain disk={self.profile.disk} memory={self.memory('disk')}"]

    def calibration_options(self):
        """Links and disk alone: what measures them does not fit into the program's memory."""
        words = ["--hosts", "1", "--disk", self.profile.disk, "--time-scale", f"{self.time:g}"]
        return words + (["--rate", self.profile.rate, "--gso"] if self.profile.rate else [])


@dataclass(frozen=True)
class Cell:
    stage: Stage
    name: str                        # "random 8K 1G", "lu", "dmine"
    systems: tuple = ("disk", "dodo")
    pattern: str = ""
    request: int = 0
    data: int = 0                    # bytes, scaled; of synthetic
    only_once: bool = field(default=False)

    @property
    def key(self):
        return f"{self.stage.name}/{self.name}"

    def run_key(self, system, repetition):
        return f"{self.key}/{system}/{repetition}"

    def runs(self):
        """(system, what it depends on) in this profile; who has the disk of another does not repeat it."""
        if self.stage.profile.disk_of:
            return tuple(s for s in self.systems if s != "disk")
        return self.systems


def lu_shape(size):
    """Order and files: fewer files with as many columns each, so that requests are as long as the paper's."""
    files = math.ceil(LU_FILES / math.sqrt(size) - 1e-9)
    return LU_ORDER * files // LU_FILES, files


def lu_size(size):
    """How many times smaller than the paper's the matrix really is."""
    order, _ = lu_shape(size)
    return (LU_ORDER / order) ** 2


def lu_rate(stage):
    """Floating-point operations a second for --compute-rate; 0: as this machine computes."""
    return LU_FLOPS * stage.time if stage.profile.timed else 0


def data_bytes(full, size):
    return max(256 * K, int(full / size) // (256 * K) * 256 * K)


def synthetic_cells(profile, time, size):
    for data in (G, 2 * G):
        stage = Stage(profile, "synthetic", time, size, data)
        for request in (8 * K, 32 * K):
            for pattern in PATTERNS:
                name = f"{pattern} {request // K}K {data // G}G"
                yield Cell(stage, name, pattern=pattern, request=request, data=data_bytes(data, size))


def cells(profiles, time, size, check_scale):
    """All of them, in the order in which they run."""
    result = []
    for name in profiles:
        profile = PROFILES[name]
        t = time if profile.timed else 1
        slower = max(1, t / DMINE_SLOWER)
        made = list(synthetic_cells(profile, t, size))
        made.append(Cell(Stage(profile, "dmine", slower, size), "dmine", ("disk", "first", "second")))
        made.append(Cell(Stage(profile, "lu", t, lu_size(size)), "lu"))
        result += [c for c in made if c.stage.app in profile.apps]
        if profile.timed and "synthetic" in profile.apps and check_scale and t > DMINE_SLOWER:
            # The same once more, less scaled: what does scaling change?
            stage = Stage(profile, "synthetic", t / DMINE_SLOWER, size)
            result.append(Cell(stage, "random 32K 1G", pattern="random", request=32 * K,
                               data=data_bytes(G, size), only_once=True))
    return result


def in_turn(items, repetition):
    """Who comes first changes; first and second run of dmine stay in their order."""
    items = list(items)
    return items if repetition % 2 or len(items) < 2 else items[1:] + items[:1]


# ---- how long it takes, for the time that is left ------------------------------------------------

RANDOM_S = {8 * K: 14.37e-3, 32 * K: 20.7e-3}
CLOUD_S = {8 * K: 0.45e-3, 32 * K: 0.6e-3}
LU_MACHINE_FLOPS = 10e9  # what a core of today computes at least, with the library for it
MINER_S, MINER_BYTES = 32e-6, 350  # the other miner, of a transaction


def expected_s(cell, system):
    """A run's time as the models have it; roughly."""
    stage = cell.stage
    paper, rate = stage.profile.timed, testbed_model.disk(stage.profile.disk, stage.time)["bandwidth"]
    extra = 1.5
    if stage.app == "lu":
        moved = traffic(lu_shape(stage.size)[0], LU_SLAB)
        return moved.operations / (lu_rate(stage) or LU_MACHINE_FLOPS) + (moved.read + moved.written) / rate + 5
    if stage.app == "dmine":
        return 8 * G / stage.size / rate * (0.7 if system == "second" else 1) + extra
    requests = ITERATIONS * cell.data / cell.request
    one = (RANDOM_S if paper else CLOUD_S)[cell.request] / stage.time
    if cell.pattern == "sequential":
        one = cell.request / rate
    elif system == "dodo":
        one *= 0.4
    return requests * (one + (COMPUTE_S / stage.time if paper else 0)) + extra


# ---- how much room it takes ------------------------------------------------------------------------

def file_bytes(size):
    """Of the data of all runs: 1 and 2 GB, the transactions, a matrix on each of two hosts."""
    return int((4 * G + 2 * LU_ORDER**2 * 8) / size)


def memory_bytes(size):
    """Of the hosts, and of the other miner."""
    return int((HOSTS * POOL + 2 * MEMORY + TRANSACTIONS * MINER_BYTES) / size)

# SPDX-License-Identifier: MIT
"""A testbed for scripts/evaluate, and programs that run in it."""
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

from evaluate_plan import CACHE, ITERATIONS, LU_SLAB, SEED, SUPPORT, lu_rate, lu_shape

PRIORITY = -15  # of all that is measured, before other programs of this machine


class Failed(Exception):
    """A run that is none: its program failed, or its result is wrong."""


def descendants(root):
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                    children.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
            except OSError:
                pass  # it has ended
    found, todo = [], [root]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def preferred(words):
    """The command, in a session of its own that goes before other programs, where that is allowed."""
    return ["setsid", "-w", "sh", "-c", f'{{ echo {PRIORITY} >/proc/self/autogroup; }} 2>/dev/null; exec "$@"',
            "sh", *words]


def processor_ticks():
    """How the processors' time was spent until now; evaluate_quiet.stolen_share takes two of these."""
    with open("/proc/stat", encoding="utf-8") as f:
        return [int(word) for word in f.readline().split()[1:]]


class Stops:
    """How long this process did not run at most, while the with statement lasts."""
    TICK_S = 0.05

    def __enter__(self):
        self.longest_s, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def look(self):
        before = time.monotonic()
        while not self.over.wait(self.TICK_S):
            now = time.monotonic()
            self.longest_s, before = max(self.longest_s, now - before - self.TICK_S), now


class Testbed:
    """Up as long as the with statement lasts; `plain` and `client` have the same files on their disks."""

    def __init__(self, top, build, up_options, work, name="testbed"):
        self.command = [os.path.join(top, "scripts/testbed")]
        self.build, self.up_options = build, up_options
        self.dir = os.path.join(work, name)
        self.data = os.path.join(work, "data")
        self.skipped = []

    def testbed(self, *words, **options):
        return subprocess.run(self.words(*words), check=False, stdin=subprocess.DEVNULL, text=True, **options)

    def words(self, command, *words):
        return [*self.command, command, "--dir", self.dir, *words]

    def __enter__(self):
        try:
            self.up()
        except BaseException:  # an interruption, too
            self.__exit__()
            raise
        return self

    def up(self):
        up = self.testbed("up", "--build", self.build, "--while", str(os.getpid()), "--data", self.data,
                          *self.up_options, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if up.returncode != 0:
            sys.exit(f"evaluate: no testbed can be made here:\n{up.stdout}")
        self.skipped = [line.partition("SKIPPED: ")[2] for line in up.stdout.splitlines() if "SKIPPED: " in line]
        self.prefer()

    def __exit__(self, *_):
        """Not to be interrupted: who is impatient would leave something behind."""
        ends = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = [signal.signal(number, signal.SIG_IGN) for number in ends]
        self.testbed("down", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for number, handler in zip(ends, before):
            signal.signal(number, handler)

    def prefer(self):
        """The cluster goes before other programs, where that is allowed: it stands for machines of its own."""
        try:
            with open(os.path.join(self.dir, "keeper"), encoding="utf-8") as f:
                for pid in descendants(int(f.read().split()[0])):
                    with open(f"/proc/{pid}/autogroup", "w", encoding="utf-8") as group:
                        group.write(str(PRIORITY))
        except OSError:
            pass  # no root, or no autogroups: on a quiet machine it makes no difference

    def path(self, host, name):
        return os.path.join(self.data, host, name)

    def measure(self, seconds):
        """With the priority that the programs have, too."""
        out = subprocess.run(preferred(self.words("measure", "--json", "--seconds", str(seconds))), check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if out.returncode != 0:
            raise Failed("measuring the testbed failed")
        return json.loads(out.stdout)

    def run(self, host, words, environment, timeout):
        """One program's JSON; what it says on its standard error besides."""
        settings = [f"{k}={v}" for k, v in environment.items()]
        command = preferred(self.words("exec", host, "--", "env", *settings, "sh", "-c", " ".join(words)))
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        try:
            out, errors = process.communicate()
        finally:
            timer.cancel()
            process.kill()
            process.wait()
        if process.returncode != 0:
            told = errors.strip()[-400:] or "nothing"
            raise Failed(f"status {process.returncode} within {timeout:.0f} s; it says: {told}")
        return json.loads(out), errors


def counters(errors):
    """libmanage's line of DODO_STATS=1, as numbers."""
    for line in errors.splitlines():
        if line.startswith("dodo manage:"):
            return {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
    return {}


# ---- data ------------------------------------------------------------------------------------------

def make_once(testbed, name, program, words, log):
    """A file on the disks of both hosts, made on one of them, outside the modelled disk."""
    path, other = testbed.path("client", name), testbed.path("plain", name)
    if not os.path.exists(path):
        log(f"making {name}")
        made = subprocess.run([os.path.join(testbed.build, program), *words, path + ".new"],
                              check=False, stdin=subprocess.DEVNULL)
        if made.returncode != 0:
            sys.exit(f"evaluate: {name} could not be made in {testbed.data}")
        os.rename(path + ".new", path)
    if not os.path.exists(other):
        os.link(path, other)


def prepare(testbed, cell, transactions, log):
    if cell.stage.app == "synthetic":
        make_once(testbed, f"data.{cell.data}", "bench/dodo-synthetic",
                  ["--make", "--size", str(cell.data), "--file"], log)
    elif cell.stage.app == "dmine":
        make_once(testbed, f"transactions.{transactions}", "examples/dmine-generate",
                  ["--transactions", str(transactions), "--seed", str(SEED), "--output"], log)
    else:
        warm(testbed)


def warm(testbed):
    """Reads lu and its mathematics, which are larger than some of the hosts' memories, outside of these."""
    with tempfile.TemporaryDirectory(dir=testbed.data) as work:
        subprocess.run([os.path.join(testbed.build, "examples/lu"), "--dir", work, "--generate", str(SEED), "--order",
                        str(2 * LU_SLAB), "--slab", str(LU_SLAB), "--files", "1", "--backend", "disk", "--json"],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def words_of(cell, system, transactions):
    """The command, for a shell on the host."""
    stage = cell.stage
    backend = "disk" if system == "disk" else "manage"
    if stage.app == "synthetic":
        words = ["dodo-synthetic", "--file", f'"$TESTBED_DISK/data.{cell.data}"', "--size", cell.data,
                 "--request", cell.request, "--iterations", ITERATIONS, "--pattern", cell.pattern,
                 "--region-size", stage.region(), "--seed", SEED]
        if stage.profile.timed:
            words += ["--compute-time", f"{round(10000 / stage.time)}us"]
    elif stage.app == "dmine":
        words = ["dmine", "--input", f'"$TESTBED_DISK/transactions.{transactions}"', "--min-support", SUPPORT,
                 "--region-size", stage.region()]
        words += ["--policy", "first-in"] if backend == "manage" else []
    else:
        order, files = lu_shape_of(stage)
        words = ["lu", "--dir", '"$TESTBED_DISK"', "--generate", SEED, "--order", order, "--slab", LU_SLAB,
                 "--files", files, "--check"]
        if lu_rate(stage):
            words += ["--compute-rate", round(lu_rate(stage))]
    return [str(w) for w in words + ["--backend", backend, "--json"]]


def lu_shape_of(stage):
    return lu_shape(stage.size)


def cold_words(cell, transactions):
    """What makes the kernel forget the file before, as after a night; lu makes its own."""
    name = {"synthetic": f"data.{cell.data}", "dmine": f"transactions.{transactions}"}.get(cell.stage.app)
    return ["dd", f'"if=$TESTBED_DISK/{name}"', "iflag=nocache", "count=0", "status=none", "&&"] if name else []


def environment_of(cell):
    return {"DODO_STATS": 1, "DODO_CACHE_SIZE": cell.stage.bytes_of(CACHE)}


def run_cell(testbed, cell, system, transactions, timeout):
    host = "plain" if system == "disk" else "client"
    words = [*cold_words(cell, transactions), *words_of(cell, system, transactions)]
    result, errors = testbed.run(host, words, environment_of(cell), timeout)
    result["counters"] = counters(errors)
    return result


def shown(cell, system, transactions):
    return shlex.join(words_of(cell, system, transactions))

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""scripts.py: the programs of scripts/ know --help, and end with 2 and a word when the command line is wrong, before they
install, build or make anything; also from another directory, without HOME, and with blanks in the names of directories."""
import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

top = pathlib.Path(__file__).resolve().parents[2]
failures = 0


def complain(text):
    global failures
    failures += 1
    print(text)


def run(dir, *command, **more):
    env = {k: v for k, v in os.environ.items() if k != "HOME"} | {"TMPDIR": str(dir / "t m p"), "LC_ALL": "C"} | more
    return subprocess.run([str(c) for c in command], cwd="/", env=env, text=True, timeout=60, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def refused(dir, script, *words):
    got = run(dir, script, *words)
    if got.returncode != 2 or got.stderr == "":
        complain(f"{script.name} {' '.join(words)}: status {got.returncode}, and says {got.stderr!r}; expected 2 and a word")


def valued(text):
    """The options of a help text that take a value."""
    return re.findall(r"^ {1,20}(--[a-z-]+) (?:[A-Z]|\"[A-Z])", text, re.M)


def steps(dir, common):
    """What `step` says where it cannot keep the output of a command."""
    script = f'. "{common}"; build() {{ step Building sh -c "echo why; exit 3" || return; }}; build || die "not built"'
    got = run(dir, "bash", "-euo", "pipefail", "-c", script)
    if got.returncode != 1 or "why" not in got.stdout:
        complain(f"step does not show what failed: {got}")
    got = run(dir, "bash", "-euo", "pipefail", "-c", script, TMPDIR=str(dir / "absent"))
    if got.returncode != 1 or "unbound" in got.stderr or "TMPDIR" not in got.stderr:
        complain(f"step without a directory for temporary files: {got}")


def turns(dir, common):
    """A script that finds a build of the same directory under way waits for it."""
    build = common.parents[2] / "build"
    build.mkdir()
    held = os.open(build, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    script = f'. "{common}"; build_tree "$top/build"'
    with subprocess.Popen(["bash", "-uo", "pipefail", "-c", script], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as second:
        first = second.stdout.readline()
        os.close(held)
        rest = second.stdout.read()
    if "Waiting" not in first or "Configuring build" not in rest:
        complain(f"two builds of one directory: {first!r}, {rest!r}")


def main():
    with tempfile.TemporaryDirectory() as name:
        dir = pathlib.Path(name)
        (dir / "t m p").mkdir()
        tree = dir / "a b"
        shutil.copytree(top / "scripts", tree / "scripts")
        for script in sorted(p for p in (tree / "scripts").iterdir() if p.is_file()):
            told = run(dir, script, "--help")
            if told.returncode != 0 or told.stderr or "sage" not in told.stdout:
                complain(f"{script.name} --help: status {told.returncode}, and says {told.stderr!r}")
            refused(dir, script, "--nonsense")
            before = ("up",) if script.name == "testbed" else ()
            for option in valued(told.stdout):
                if (script.name, option) != ("mutate", "--slowest"):
                    refused(dir, script, *before, option)
        refused(dir, tree / "scripts/test", "release", "no-such-build")
        refused(dir, tree / "scripts/package", "--as", "no version")
        refused(dir, tree / "scripts/wheel", "--to")
        refused(dir, tree / "scripts/test-package", "--packages", str(dir / "t m p"))
        for size in ("0", "-5M", "much", "16K"):
            refused(dir, tree / "scripts/demo", "--size", size)
        refused(dir, tree / "scripts/demo", "--request", "0")
        steps(dir, tree / "scripts/lib/common.sh")
        turns(dir, tree / "scripts/lib/common.sh")
    return failures > 0


sys.exit(main())

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""outputs.py BUILD: programs whose results are lost on the way say so and fail, as on a full disk; and what they
print gets into no file of theirs, whichever of the standard descriptors they are started without. (hello needs a
cluster: tests/net/normal.sh.)"""
import filecmp
import pathlib
import subprocess
import sys
import tempfile

build = pathlib.Path(sys.argv[1])
failures = 0
programs = [build / p for p in ("bench/dodo-synthetic", "cmd/cmd", "examples/dmine", "examples/dmine-generate", "examples/lu",
                                "imd/imd", "rmd/rmd", "tools/dodo", "usocket/helper/dodo-socket")]


def complain(text):
    global failures
    failures += 1
    print(text)


def lost(*command):
    with open("/dev/full", "w", encoding="utf-8") as full:
        run = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    if run.returncode != 1 or "cannot write to the standard output" not in run.stderr:
        complain(f"{' '.join(map(str, command))} >/dev/full: status {run.returncode}, {run.stderr!r}")


def without(descriptors, *command):
    subprocess.run(["sh", "-c", 'exec "$@" ' + " ".join(f"{fd}>&-" for fd in descriptors), "sh", *command],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300)


def same(dir, name):
    for file in sorted((dir / "wanted").iterdir()):
        if not filecmp.cmp(file, dir / name / file.name, shallow=False):
            complain(f"{name}: {file.name} has other bytes")


def compare(dir, *command):
    """command DIRECTORY: makes the same files there without the standard descriptors."""
    dir.mkdir()
    for name, descriptors in (("wanted", ()), ("without-output", (1,)), ("without-errors", (2,)),
                              ("without-both", (1, 2)), ("without-any", (0, 1, 2))):
        (dir / name).mkdir()
        without(descriptors, *command, str(dir / name))
        same(dir, name)


def compare_example(dir, *command):
    """command FILE: leaves the file as it is."""
    data = bytes(range(256)) * 256
    for descriptors in ((1,), (2,), (1, 2), (0, 1, 2)):
        (dir / "example").write_bytes(data)
        without(descriptors, *command, dir / "example")
        if (dir / "example").read_bytes() != data:
            complain(f"{command[0]} without {descriptors}: its file has other bytes")


def lost_by_client(program, server, *client):
    """server: it says where it is; client: @ stands for that."""
    with subprocess.Popen([program, *server], stdout=subprocess.PIPE, text=True) as serving:
        address = serving.stdout.readline().split()[-1]
        lost(program, *(address if word == "@" else word for word in client))
        serving.kill()


def main():
    there = [p for p in programs if p.exists()]
    for program in there:
        lost(program, "--help")
        lost(program, "--version")
    with tempfile.TemporaryDirectory() as name:
        dir = pathlib.Path(name)
        lu, generate, dmine, synthetic = (build / p for p in ("examples/lu", "examples/dmine-generate", "examples/dmine",
                                                              "bench/dodo-synthetic"))
        if lu.exists():
            compare(dir / "lu", lu, "--generate", "1", "--order", "50", "--backend", "disk", "--progress", "--dir")
            lost(lu, "--dir", dir / "lu/wanted", "--check")
            lost(lu, "--dir", dir / "lu/wanted", "--check", "--json")
        compare(dir / "dmine", "sh", "-c", 'exec "$0" --transactions 5000 --progress --output "$1/sales"', generate)
        if dmine.exists():
            lost(dmine, "--input", dir / "dmine/wanted/sales", "--backend", "disk")
            subprocess.run([synthetic, "--make", "--size", "1M", "--file", dir / "data"], check=True)
            lost(synthetic, "--size", "1M", "--backend", "disk", "--file", dir / "data")
            lost(synthetic, "--size", "1M", "--backend", "disk", "--json", "--file", dir / "data")
        for example in (build / "examples" / p for p in ("manage", "policy", "queue")):
            if example.exists():
                compare_example(dir, example)
                lost(example, dir / "example")
        ucopy = build / "examples/ucopy"
        compare_example(dir, ucopy, "take", "127.0.0.1:0")
        lost(ucopy, "take", "127.0.0.1:0", dir / "copy")
        lost_by_client(ucopy, ("take", "127.0.0.1:0", dir / "copy"), "give", "@", dir / "example")
        lost_by_client(build / "examples/uping", ("serve", "127.0.0.1:0"), "-n", "1", "@")
    return failures > 0


sys.exit(main())

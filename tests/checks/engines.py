#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""engines.py: the scripts for Slurm ask for a node's memory back when a job begins, and allow its lending after the last one
has ended, also when the node was started again meanwhile and nothing is known of the jobs. They never fail."""
import os
import pathlib
import subprocess
import sys
import tempfile

top = pathlib.Path(__file__).resolve().parents[2]
failures = 0


class Node:
    def __init__(self, dir):
        self.dir = dir
        self.said = dir / "said"
        for name in ("dodo", "logger"):
            program = dir / "bin" / name
            program.parent.mkdir(parents=True, exist_ok=True)
            program.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.said}"\n', encoding="utf-8")
            program.chmod(0o755)

    def expect(self, script, job, wanted):
        global failures
        self.said.write_text("", encoding="utf-8")
        env = {"PATH": f"{self.dir}/bin:{os.environ['PATH']}", "DODO_SLURM_JOBS": str(self.dir / "run/dodo slurm")}
        if job:
            env["SLURM_JOB_ID"] = job
        run = subprocess.run([top / f"packaging/engines/slurm/{script}.sh"], env=env, stderr=subprocess.PIPE, text=True)
        said = self.said.read_text(encoding="utf-8").strip()
        if run.returncode != 0 or not (said == wanted or wanted == "logger" and said.startswith("logger -t dodo-")):
            failures += 1
            print(f"{script} of job {job}: status {run.returncode}, {said!r} instead of {wanted!r}: {run.stderr}")

    def start_again(self):
        subprocess.run(["rm", "-rf", self.dir / "run"], check=True)
        (self.dir / "run").mkdir()


def main():
    with tempfile.TemporaryDirectory() as name:
        node = Node(pathlib.Path(name))
        node.start_again()
        node.expect("prolog", "1", "dodo owner --never")
        node.expect("prolog", "2", "dodo owner --never")
        node.expect("epilog", "1", "")
        node.expect("epilog", "2", "dodo owner --allow")
        node.expect("prolog", "", "logger")
        node.expect("epilog", "", "logger")
        node.expect("prolog", "3", "dodo owner --never")
        node.start_again()
        node.expect("epilog", "3", "dodo owner --allow")
    return failures > 0


sys.exit(main())

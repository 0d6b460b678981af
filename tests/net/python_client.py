#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""python_client.py lives|dies FILE PID: a program in Python on a cluster whose one host is the
process PID. It verifies every byte."""
import errno
import os
import pathlib
import signal
import sys
import threading
import time

import dodo

PATIENCE = 150  # seconds
PIECE = 64 << 10


def must(what, condition):
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"python_client: did not happen: {what}")
        time.sleep(0.01)
    print(what, flush=True)


class Client:
    def __init__(self, path, host):
        self.path, self.host = pathlib.Path(path), host
        self.content = bytearray(self.path.read_bytes())
        self.buffer = bytearray(PIECE)

    def read_all(self, region):
        for at in range(0, len(self.content), PIECE):
            n = region.readinto(self.buffer, at)
            if self.buffer[:n] != self.content[at:at + PIECE]:
                sys.exit(f"python_client: wrong bytes at {at}")
        return True

    def filled(self, region):
        return self.read_all(region) and region.stat()["filled_bytes"] == len(self.content)

    def reads_and_writes(self):
        with dodo.Region(self.path) as r:
            must("all of the region is in remote memory", lambda: self.filled(r))
            before = r.stat()
            self.read_all(r)
            after = r.stat()
            assert after["hits"] - before["hits"] == len(self.content), (before, after)
            assert after["misses"] == before["misses"] and after["active"], (before, after)
            self.content[70000:70000 + 5000] = bytes(5000)
            assert r.pwrite(bytes(5000), 70000) == 5000
            assert self.path.read_bytes() == self.content
            r.sync()
            self.read_all(r)
        with dodo.open(self.path) as f:
            assert f.read() == self.content
        self.waits_alone()

    def host_is_stopped(self):
        tasks = pathlib.Path(f"/proc/{self.host}/task").iterdir()
        return all((t / "stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "T" for t in tasks)

    def waits_alone(self):
        """A read waits for a host that is stopped: another thread lets it go on."""
        got = []
        with dodo.Region(self.path, readonly=True) as r:
            must("all of it is there again", lambda: self.filled(r))
            os.kill(self.host, signal.SIGSTOP)
            must("all threads of the host stand still", self.host_is_stopped)
            reader = threading.Thread(target=lambda: got.append(r.pread(PIECE, PIECE)))
            reader.start()
            task = pathlib.Path(f"/proc/self/task/{reader.native_id}/syscall")
            futex = "202 "  # what a thread waits in for the interpreter's lock
            must("a read waits in the library", lambda: not got
                 and task.read_text(encoding="ascii")[0].isdigit()
                 and not task.read_text(encoding="ascii").startswith(futex))
            hits = r.stat()["hits"]
            os.kill(self.host, signal.SIGCONT)
            reader.join()
            assert got == [self.content[PIECE:2 * PIECE]]
            assert r.stat()["hits"] == hits + PIECE  # from the host, so that it has waited

    def status(self):
        status = dodo.status()
        assert [h["state"] for h in status["hosts"]] == ["idle"], status

    def host_dies(self):
        with dodo.Region(self.path, fallback=True, readonly=True) as safe:
            with dodo.Region(self.path, readonly=True) as plain:
                must("two regions are in remote memory",
                     lambda: self.filled(safe) and self.filled(plain))
                os.kill(self.host, signal.SIGKILL)
                try:
                    self.read_all(plain)
                except OSError as error:
                    assert error.errno == errno.ENOMEM and "host" in error.strerror, error
                else:
                    sys.exit("python_client: a dead host answers")
                self.read_all(safe)
                assert not plain.stat()["active"] and not safe.stat()["active"]
        print("the host has died, and every byte was right")


def main(what, path, pid):
    client = Client(path, int(pid))
    if what == "lives":
        client.status()
        client.reads_and_writes()
    else:
        client.host_dies()


main(*sys.argv[1:])

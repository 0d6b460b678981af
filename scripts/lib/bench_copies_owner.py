#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The owner of a host, for scripts/bench-copies: starts an imd as rmd does, and takes memory back.

bench_copies_owner.py MODE POOL-BYTES LEFT-BYTES IMD OPTION...

SIGUSR1: the owner is back. MODE limit: no more than LEFT-BYTES of the pool may hold data from then on; MODE leave: imd
leaves; MODE save: LEFT-BYTES may move to other hosts before it leaves, within 10 s. SIGUSR2: the owner is away. The limit
grows by 64 MiB a second, as rmd lets it; or imd is started again."""
import signal
import socket
import subprocess
import sys

mode, pool, left, imd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
signals = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)


class Lent:
    """An imd, and its owner's end of the socket between them."""

    def __init__(self):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self.socket = ours
        self.process = subprocess.Popen(imd + ["--owner-fd", str(theirs.fileno())], pass_fds=[theirs.fileno()],
                                        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, signals))
        theirs.close()

    def say(self, text):
        try:
            while True:
                self.socket.recv(256)
        except OSError:
            pass
        try:
            self.socket.send(text.encode())
        except OSError:
            pass

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.socket.close()


lent, limit, away = Lent(), pool, True
while True:
    got = signal.sigtimedwait(signals, 1)
    if got and got.si_signo == signal.SIGTERM:
        if lent:
            lent.end()
        sys.exit(0)
    if got:
        away = got.si_signo == signal.SIGUSR2
        if mode == "leave" and not away and lent:
            lent = lent.end()
        elif mode == "save" and not away and lent:
            lent.say(f"save {left} 10000")
        elif mode != "limit" and away:
            if lent:
                lent.end()
            lent = Lent()
        elif mode == "limit" and not away:
            limit = left
    elif away:
        limit = min(pool, limit + (64 << 20))
    if lent and mode == "save" and lent.process.poll() is not None:
        lent = lent.end()
    if lent:
        lent.say("beat")
        if mode == "limit":
            lent.say(f"limit {limit}")

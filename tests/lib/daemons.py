# SPDX-License-Identifier: MIT
"""Real daemons of a test, and what they print. A test is started with the paths of CMD IMD [DODO]."""
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

CMD, IMD, DODO = (*map(os.path.abspath, sys.argv[1:4]), None)[:3]
PATIENCE = 150  # seconds that anything may take, on a busy machine too


class Program:
    """One in the background. Its output is a file, so it never waits for us."""

    def __init__(self, path, command):
        self.path = path
        with open(path, 'wb') as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def said(self):
        with open(self.path, encoding='utf-8') as f:
            return f.read()

    def says(self, pattern):
        """What the pattern's group is in its output, as soon as it is there."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            over = self.process.poll() is not None
            found = re.search(pattern, self.said())
            if found:
                return found.group(1)
            if over:
                break
            select.select([], [], [], 0.02)
        raise AssertionError('not %s but %s' % (pattern, self.said()))

    def metrics(self):
        """Where its metrics are."""
        host, port = self.says(r'metrics url=http://(.*)/metrics').rsplit(':', 1)
        return host.strip('[]'), int(port)

    def end(self, how=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(PATIENCE)


class Relay(threading.Thread):
    """Between a tool and the manager, until it is deaf: then it only says that something has come."""

    def __init__(self, manager):
        super().__init__()
        host, port = manager.rsplit(':', 1)
        self.front, self.back = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.front.bind(('127.0.0.1', 0))
        self.back.connect((host, int(port)))
        self.address = '%s:%d' % self.front.getsockname()
        self.deaf, self.came, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.waker, self.wakes = socket.socketpair()
        self.start()

    def run(self):
        asker = None
        while not self.ended.is_set():
            ready = select.select([self.front, self.back, self.wakes], [], [])[0]
            if self.front in ready:
                datagram, asker = self.front.recvfrom(65536)
                if self.deaf.is_set():
                    self.came.set()
                else:
                    self.back.send(datagram)
            if self.back in ready:
                self.front.sendto(self.back.recv(65536), asker)

    def end(self):
        self.ended.set()
        self.waker.send(b'x')
        self.join()
        for s in (self.front, self.back, self.waker, self.wakes):
            s.close()


class Case(unittest.TestCase):
    """Nothing of the user's settings is there, and all that it starts ends with it."""

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix='dodo-test.')
        self.addCleanup(shutil.rmtree, self.work)
        self.programs = []
        self.config = os.path.join(self.work, 'dodo.conf')
        self.write(self.config, '')
        for name in ('DODO_MANAGER', 'DODO_KEY', 'DODO_INSECURE', 'DODO_LOG'):
            os.environ.pop(name, None)
        os.environ.update(DODO_CONFIG=self.config, XDG_STATE_HOME=self.work, XDG_RUNTIME_DIR=self.work)

    @staticmethod
    def write(path, text, mode=0o600):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(path, mode)

    def start(self, *command):
        program = Program(os.path.join(self.work, '%d.log' % len(self.programs)), command)
        self.programs.append(program)
        self.addCleanup(program.end, signal.SIGKILL)
        return program

    def start_cmd(self, *more, at='127.0.0.1:0'):
        """It is self.manager from now on."""
        cmd = self.start(CMD, '--listen', at, *more)
        self.manager = cmd.says(r'cmd ready: listen=(\S+)')
        return cmd

    def start_imd(self, *more):
        """It has joined self.manager. Its address, too."""
        imd = self.start(IMD, '--manager', self.manager, '--listen', '127.0.0.1:0', '--pool', '16M', '--nice', '0', *more)
        return imd, imd.says(r'imd ready: listen=(\S+)[^$]*joined')

    @staticmethod
    def run_dodo(*words):
        run = subprocess.run([DODO, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=PATIENCE, check=False)
        return run.returncode, run.stdout.decode(), run.stderr.decode()

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_top.py CMD IMD DODO: dodo top, on a terminal and without one, against real daemons."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import DODO, PATIENCE, Case, Relay


class Terminal:
    """dodo top on a terminal of 24 lines, at which this test sits."""

    def __init__(self, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(0, 1)  # until the terminal has its size
            os.execv(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.fd)
        os.write(self.fd, b'\n')
        self.text = ''
        self.status = None

    def shows(self, pattern):
        """Reads until it does; what was read is gone then."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            if not self.read():
                break
        raise AssertionError('not %s but %r' % (pattern, self.text))

    def read(self):
        """What has come; '' if it has ended, None if nothing came."""
        if not select.select([self.fd], [], [], PATIENCE)[0]:
            return None
        try:
            more = os.read(self.fd, 4096).decode()
        except OSError:  # it has ended
            more = ''
        self.text += more
        return more

    def end(self):
        """Its status, as subprocess has it; and whether the terminal is as it was."""
        deadline = time.monotonic() + PATIENCE
        while self.read() != '':
            if time.monotonic() > deadline:
                raise AssertionError('it does not end')
        self.status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.status, termios.tcgetattr(self.fd) == self.before

    def close(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class Top(Case):
    def setUp(self):
        super().setUp()
        self.cmd = self.start_cmd()
        _, self.host = self.start_imd()

    def top(self, *words):
        terminal = Terminal(DODO, 'top', '--manager', self.manager, *words)
        self.addCleanup(terminal.close)
        return terminal

    def run_top(self, *words):
        return self.run_dodo('top', *words)

    def test_once(self):
        status, out, err = self.run_top('--manager', self.manager, '--once')
        self.assertEqual((status, err), (0, ''))
        lines = out.splitlines()
        self.assertEqual(len(lines), 5, out)
        self.assertRegex(lines[0], r'^manager %s, up \S+: 0 regions, 0 clients$' % re.escape(self.manager))
        self.assertEqual(lines[1], '1 host: 1 idle, 0 busy, 0 silent, 0 leaving')
        self.assertEqual(lines[2], 'lent 16M, used 0B; read 0B, written 0B')
        self.assertEqual(lines[4].split(), [self.host, 'idle', '16M', '0B', '0', '0B', '0B'])

    def test_it_cannot(self):
        status, out, err = self.run_top('--manager', self.manager)
        self.assertEqual((status, out), (2, ''))
        self.assertIn('give --once', err)
        self.assertEqual(self.run_top('--once', 'word')[0], 2)
        status, out, err = self.run_top('--once')
        self.assertEqual((status, out), (1, ''))
        self.assertIn('manager', err)

    def test_q_and_signals_end_it(self):
        for key, number, expected in ((b'xq', None, 0), (b'\x03', None, 0), (None, signal.SIGTERM, -signal.SIGTERM)):
            terminal = self.top()
            terminal.shows(re.escape(self.host) + ' +idle ')
            self.assertNotEqual(termios.tcgetattr(terminal.fd), terminal.before)
            if number:
                os.kill(terminal.pid, number)
            else:
                os.write(terminal.fd, key)
            self.assertEqual(terminal.end(), (expected, True))

    def test_ctrl_c_without_a_keyboard(self):
        command = 'exec "$0" "$@" </dev/null'
        terminal = Terminal('/bin/sh', '-c', command, DODO, 'top', '--manager', self.manager)
        self.addCleanup(terminal.close)
        terminal.shows(re.escape(self.host) + ' +idle ')
        os.write(terminal.fd, b'\x03')
        self.assertEqual(terminal.end(), (0, True))

    def relay(self):
        relay = Relay(self.manager)
        self.addCleanup(relay.end)
        return relay

    def ends_at_once(self, terminal, relay):
        """While a request is under way, which nobody answers."""
        self.assertTrue(relay.came.wait(PATIENCE))
        os.write(terminal.fd, b'xq')
        self.assertEqual(terminal.end(), (0, True))

    def test_q_waits_for_no_first_answer(self):
        relay = self.relay()
        relay.deaf.set()
        self.ends_at_once(self.top('--manager', relay.address, '--timeout', '1h'), relay)

    def test_q_waits_for_no_answer(self):
        relay = self.relay()
        terminal = self.top('--manager', relay.address, '--timeout', '1h')
        terminal.shows(re.escape(self.host) + ' +idle ')
        relay.deaf.set()
        self.ends_at_once(terminal, relay)

    def test_frames(self):
        """Rates from the second frame on; what the shell did to a stopped one's terminal is undone."""
        terminal = self.top()
        terminal.shows(r'\x1b\[2J\x1b\[Hmanager [^\x1b]*\x1b\[K\r\n')
        terminal.shows(r'; read 0B, written 0B\x1b\[K\r\n')
        terminal.shows(r'\x1b\[J\x1b\[Hmanager ')
        terminal.shows(r'; read 0B/s, written 0B/s\x1b\[K\r\n')
        ours = termios.tcgetattr(terminal.fd)
        os.kill(terminal.pid, signal.SIGSTOP)
        os.waitpid(terminal.pid, os.WUNTRACED)
        termios.tcsetattr(terminal.fd, termios.TCSANOW, terminal.before)
        _, other = self.start_imd()  # only a frame after the stop can show it
        os.kill(terminal.pid, signal.SIGCONT)
        terminal.shows(re.escape(other) + ' +idle ')
        self.assertEqual(termios.tcgetattr(terminal.fd), ours)
        os.write(terminal.fd, b'q')
        self.assertEqual(terminal.end(), (0, True))

    def test_a_manager_that_does_not_answer_for_a_while(self):
        terminal = self.top('--timeout', '1s')
        terminal.shows(re.escape(self.host))
        self.cmd.process.send_signal(signal.SIGSTOP)
        terminal.shows(re.escape(self.manager) + r' does not answer within 1s')
        terminal.shows(re.escape(self.host) + ' +idle ')  # as it was seen last
        self.cmd.process.send_signal(signal.SIGCONT)
        terminal.shows('lent 16M, used 0B; ')
        os.write(terminal.fd, b'q')
        self.assertEqual(terminal.end(), (0, True))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

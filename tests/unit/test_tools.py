#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_tools.py CMD IMD DODO: what subcommands of dodo say and end with where something is wrong."""
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import DODO, PATIENCE, Case, Relay

HELLO, HELLO_ACK, RESET, REQUEST, REPLY, ROLE_CMD, OP_STATUS = 1, 2, 3, 32, 33, 3, 6
DENIED = 8
HEADER, HELLO_BODY, REPLY_HEAD, STATUS_REPLY = '<BBBBIQ', '<Q16s16s16sQIB3x8x8x16x', '<QHH4x', '<QQQQI'


class Manager(threading.Thread):
    """One of this test's own, without a key: answers STATUS with each of these pages in turn, and then no more.
    None is no page: it starts again there."""

    def __init__(self, pages):
        super().__init__()
        self.pages = list(pages)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(('127.0.0.1', 0))
        self.address = '%s:%d' % self.socket.getsockname()
        self.answers = {}  # to requests, which may come again
        self.starts = 0
        self.start()

    def answer(self, kind, body):
        if kind == HELLO:
            self.tag, salt = struct.unpack_from('<Q16s', body)
            return HELLO_ACK, struct.pack(HELLO_BODY, self.starts + 1, bytes(16), salt, b'%016d' % self.starts, 0, 0,
                                          ROLE_CMD)
        number, _, op = struct.unpack_from('<QQH', body)
        if kind == REQUEST and op != OP_STATUS:
            return REPLY, struct.pack(REPLY_HEAD, number, op, DENIED)
        if kind != REQUEST or (number not in self.answers and not self.pages):
            return None
        if number not in self.answers and self.pages[0] is None:
            self.pages.pop(0)
            self.starts += 1
            self.answers.clear()
            return RESET, struct.pack('<Q', self.starts)
        if number not in self.answers:
            self.answers[number] = struct.pack(REPLY_HEAD, number, OP_STATUS, 0) + self.pages.pop(0)
        return REPLY, self.answers[number]

    def run(self):
        while True:
            datagram, asker = self.socket.recvfrom(65536)
            if not datagram:
                break
            magic, version, kind, _, cluster, _ = struct.unpack_from(HEADER, datagram)
            answer = self.answer(kind, datagram[struct.calcsize(HEADER):])
            if answer:
                head = struct.pack(HEADER, magic, version, answer[0], 0, cluster, 0 if answer[0] == RESET else self.tag)
                self.socket.sendto(head + answer[1], asker)

    def end(self):
        self.socket.sendto(b'', self.socket.getsockname())
        self.join()
        self.socket.close()


class Tools(Case):
    def path(self, name):
        return os.path.join(self.work, name)

    def dodo(self, status, *words):
        """What it prints on either."""
        got, out, err = self.run_dodo(*words)
        self.assertEqual(got, status, out + err)
        return out + err

    def test_status_of_ping(self):
        """A key that is wrong and a manager that nobody has named are no faults of the command line."""
        self.write(self.path('key'), 'text')
        self.write(self.path('none'), '')
        for words, said in ((('--key', self.path('key'), '10.0.0.1'), 'expected 64 hexadecimal digits'),
                            (('--key', self.path('none'), '10.0.0.1'), 'holds no key'), ((), 'which manager?')):
            self.assertIn(said, self.dodo(1, 'ping', *words))
        self.assertIn('expected a name or an address', self.dodo(2, 'ping', 'a:b:c'))

    def test_managers_of_which_none_answers(self):
        for places, said in (('127.0.0.1:1', '127.0.0.1:1 does not answer within 300ms'),
                             ('127.0.0.1:1,127.0.0.1:2', 'none of 127.0.0.1:1, 127.0.0.1:2 answers within 300ms')):
            self.assertIn(said, self.dodo(1, 'status', '--manager', places, '--timeout', '300ms'))

    def test_a_list_of_hosts_that_does_not_go_on(self):
        page = struct.pack(STATUS_REPLY, 7, 0, 0, 0, 0)
        manager = Manager([page] * 9)
        self.addCleanup(manager.end)
        self.assertIn('the answer made no sense', self.dodo(1, 'status', '--manager', manager.address, '--timeout', '1s'))

    def test_a_list_of_hosts_whose_manager_starts_again(self):
        """Its cursors are others: half of the one list and half of the other are none."""
        more, last = (struct.pack(STATUS_REPLY, n, 0, 0, 0, 0) for n in (9, 0))
        for pages, status in (([more, last], 0), ([None, more, last], 0), ([more, None, last], 1)):
            manager = Manager(pages)
            self.addCleanup(manager.end)
            said = self.dodo(status, 'status', '--manager', manager.address, '--timeout', '5s')
            self.assertEqual('has started again' in said, status == 1, said)

    def test_hosts_of_both_families(self):
        """An imd has one of the addresses that its host's name has."""
        self.start_cmd()
        _, host = self.start_imd()
        port = host.rsplit(':', 1)[1]
        both = '[::1]:%s,%s' % (port, host)
        self.assertIn('%s: gets new regions' % host, self.dodo(0, 'drain', '--cancel', both, '--manager', self.manager))
        self.assertIn('0 regions', self.dodo(0, 'regions', '--host', both, '--manager', self.manager))
        self.assertIn('%s answers' % host, self.dodo(0, 'ping', both))

    def test_drain_ends_while_the_manager_is_silent(self):
        self.start_cmd()
        _, host = self.start_imd()
        relay = Relay(self.manager)
        self.addCleanup(relay.end)
        bench = self.start(DODO, 'bench', '--manager', self.manager, '--area', '64K', '--seconds', '1h', '--progress')
        bench.says('(filling)')
        drain = self.start(DODO, 'drain', host, '--manager', relay.address, '--timeout', '1h')
        drain.says(r'(1 region left)')
        relay.deaf.set()
        self.assertTrue(relay.came.wait(PATIENCE))
        self.assertEqual(drain.end(), 1)
        self.assertIn('is still being drained', drain.said())

    def limited(self, *words):
        """Where no file may grow."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        with open(self.path('out'), 'wb') as out:
            run = subprocess.run([DODO, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE,
                                 preexec_fn=limit, timeout=PATIENCE, check=False)
        return run.returncode, run.stderr.decode()

    def test_files_that_may_not_grow(self):
        status, said = self.limited('config')
        self.assertEqual(status, 1, said)
        self.assertIn('cannot write to the standard output: ', said)
        status, said = self.limited('keygen', self.path('key'))
        self.assertEqual(status, 1, said)
        self.assertIn('cannot make %s: File too large' % self.path('key'), said)
        self.assertFalse(os.path.exists(self.path('key')))

    def test_no_long_name_hides_what_to_do(self):
        long = self.path('d' * 600)
        self.start_cmd()
        for words, said in ((('bench', '--manager', self.manager, '--dir', long), 'see --dir and --area'),
                            (('bench', '--manager', self.manager, '--file', long), 'File name too long'),
                            (('keygen', long), 'File name too long')):
            self.assertIn(said, self.dodo(1, *words))

    def test_bench_waits_for_no_pipe(self):
        os.mkfifo(self.path('pipe'))
        self.start_cmd()
        bench = self.start(DODO, 'bench', '--manager', self.manager, '--file', self.path('pipe'))
        self.addCleanup(bench.end, signal.SIGKILL)
        bench.says('(expected a regular file)')
        self.assertEqual(bench.end(), 1)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

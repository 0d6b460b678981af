#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_events.py CMD IMD DODO: dodo events, against real daemons."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import DODO, PATIENCE, Case


class Events(Case):
    def setUp(self):
        super().setUp()
        os.environ['TZ'] = 'UTC'

    def events(self, *words):
        status, out, err = self.run_dodo('events', '--manager', self.manager, *words)
        self.assertEqual((status, err), (0, ''))
        return out

    def test_a_host_comes_and_goes(self):
        self.start_cmd()
        imd, host = self.start_imd()
        imd.end()
        lines = self.events().splitlines()
        self.assertEqual([line.split()[2] for line in lines], ['manager_started', 'host_joined', 'host_left'])
        for line in lines[1:]:
            self.assertRegex(line, r'^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  host_\w+ +%s +\w' % re.escape(host))
        told = [json.loads(line) for line in self.events('--json').splitlines()]
        self.assertEqual([e['number'] for e in told], [1, 2, 3])
        self.assertEqual([e['address'] for e in told], ['', host, host])
        self.assertEqual(told[1]['id'], told[2]['id'])
        self.assertTrue(all(e['reason'] for e in told))
        age = time.time() - time.mktime(time.strptime(told[2]['time'], '%Y-%m-%dT%H:%M:%SZ'))
        self.assertLess(abs(age - told[2]['age_ms'] / 1000), PATIENCE)

    def test_more_than_a_page(self):
        """Programs that come and go: all of them, in their order, each once."""
        self.start_cmd()
        self.start_imd()
        for _ in range(8):
            status, out, err = self.run_dodo('bench', '--manager', self.manager, '--area', '64K', '--region-size', '64K',
                                             '--dir', self.work, '--read', '--seconds', '1ms')
            self.assertEqual(status, 0, out + err)
        told = [json.loads(line) for line in self.events('--json').splitlines()]
        self.assertEqual([e['number'] for e in told], list(range(1, 19)))
        self.assertEqual([e['kind'] for e in told[2:]], ['client_came', 'client_left'] * 8)

    def test_a_stranger(self):
        ours, theirs = (os.path.join(self.work, name) for name in ('ours', 'theirs'))
        for path in (ours, theirs):
            self.assertEqual(self.run_dodo('keygen', path)[0], 0)
        self.start_cmd('--key', ours)
        self.assertEqual(self.run_dodo('status', '--manager', self.manager, '--key', theirs, '--timeout', '300ms')[0], 1)
        told = [json.loads(line) for line in self.events('--key', ours, '--json').splitlines()]
        self.assertEqual([e['kind'] for e in told], ['manager_started', 'stranger'])
        self.assertRegex(told[1]['address'], r'^127\.0\.0\.1:\d+$')
        self.assertIn('key', told[1]['reason'])

    def asked_again(self, beside):
        """Where the manager was, until it asked in vain twice: each time from another socket."""
        host, port = self.manager.rsplit(':', 1)
        seen = {beside}
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
            asked.settimeout(PATIENCE)
            asked.bind((host, int(port)))
            while len(seen) < 3:
                seen.add('%s:%d' % asked.recvfrom(2048)[1])

    def test_follow(self):
        """It goes on where it was, waits for a manager that is away, and ends with a signal."""
        cmd = self.start_cmd()
        follower = self.start(DODO, 'events', '--follow', '--manager', self.manager, '--timeout', '1s')
        follower.says('manager_started()')
        imd, host = self.start_imd()
        follower.says('host_joined +(%s)' % re.escape(host))
        cmd.end(signal.SIGKILL)
        follower.says(r'dodo events: (%s) does not answer' % re.escape(self.manager))
        self.asked_again(beside=host)
        self.start_cmd(at=self.manager)
        follower.says(r'(?s)manager_started.*manager_started.*host_joined +(%s)' % re.escape(host))
        imd.end()
        text = follower.says(r'(?s)(.*host_left.*\n)')
        for kind, times in (('manager_started', 2), ('host_joined', 2), ('host_left', 1), ('does not answer', 1)):
            self.assertEqual(text.count(kind), times, text)
        self.assertEqual(follower.end(), -signal.SIGTERM)

    def test_follow_ends_where_nobody_reads(self):
        self.start_cmd()
        process = subprocess.Popen([DODO, 'events', '--follow', '--manager', self.manager], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertIn(b'manager_started', process.stdout.readline())
        process.stdout.close()
        self.start_imd()
        self.assertIn(process.wait(PATIENCE), (0, -signal.SIGPIPE))

    def test_it_cannot(self):
        status, out, err = self.run_dodo('events')
        self.assertEqual((status, out), (1, ''))
        self.assertIn('which manager?', err)
        self.assertEqual(self.run_dodo('events', 'word')[0], 2)
        self.start_cmd()
        _, host = self.start_imd()
        status, out, err = self.run_dodo('events', '--manager', host, '--timeout', '300ms')
        self.assertEqual((status, out), (1, ''))
        self.assertIn('is another daemon, not the manager', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

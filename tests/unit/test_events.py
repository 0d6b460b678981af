#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_events.py CMD IMD DODO: dodo events, against real daemons."""
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CMD, IMD, DODO = sys.argv[1:4]
PATIENCE = 150  # seconds that anything may take, on a busy machine too


class Events(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix='dodo-events.')
        self.addCleanup(shutil.rmtree, self.work)
        config = os.path.join(self.work, 'dodo.conf')
        with open(config, 'w', encoding='utf-8'):
            pass
        for name in ('DODO_MANAGER', 'DODO_KEY', 'DODO_INSECURE', 'DODO_LOG'):
            os.environ.pop(name, None)
        os.environ.update(DODO_CONFIG=config, XDG_STATE_HOME=self.work, TZ='UTC')
        self.logs = 0

    def start(self, ready, *command):
        self.logs += 1
        path = os.path.join(self.work, '%d.log' % self.logs)
        with open(path, 'wb') as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, self.said(path, ready).group(1)

    def said(self, path, pattern):
        deadline = time.monotonic() + PATIENCE
        text = ''
        while time.monotonic() < deadline:
            with open(path, encoding='utf-8') as f:
                text = f.read()
            found = re.search(pattern, text)
            if found:
                return found
            select.select([], [], [], 0.02)
        self.fail('not %s but %s' % (pattern, text))

    def start_cmd(self, *more, at='127.0.0.1:0'):
        self.cmd, self.manager = self.start(r'cmd ready: listen=(\S+)', CMD, '--listen', at, *more)

    def start_imd(self, *more):
        return self.start(r'imd ready: listen=(\S+)[^$]*joined', IMD, '--listen', '127.0.0.1:0', '--pool', '16M',
                          '--manager', self.manager, *more)

    @staticmethod
    def run_dodo(*words):
        run = subprocess.run([DODO, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             timeout=PATIENCE, check=False)
        return run.returncode, run.stdout.decode(), run.stderr.decode()

    def events(self, *words):
        status, out, err = self.run_dodo('events', '--manager', self.manager, *words)
        self.assertEqual((status, err), (0, ''))
        return out

    def test_a_host_comes_and_goes(self):
        self.start_cmd()
        imd, host = self.start_imd()
        imd.terminate()
        imd.wait(PATIENCE)
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

    def test_follow(self):
        """It goes on where it was, waits for a manager that is away, and ends with a signal."""
        self.start_cmd()
        path = os.path.join(self.work, 'followed')
        with open(path, 'wb') as out:
            process = subprocess.Popen([DODO, 'events', '--follow', '--manager', self.manager, '--timeout', '1s'],
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.said(path, 'manager_started()')
        imd, host = self.start_imd()
        self.said(path, 'host_joined +(%s)' % re.escape(host))
        self.cmd.kill()
        self.cmd.wait(PATIENCE)
        self.said(path, r'dodo events: (%s) does not answer' % re.escape(self.manager))
        self.start_cmd(at=self.manager)
        self.said(path, r'(?s)manager_started.*manager_started.*host_joined +(%s)' % re.escape(host))
        imd.terminate()
        text = self.said(path, r'(?s).*(host_left).*\n').group(0)
        for kind, times in (('manager_started', 2), ('host_joined', 2), ('host_left', 1), ('does not answer', 1)):
            self.assertEqual(text.count(kind), times, text)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), -signal.SIGTERM)

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
        self.assertIn('does not answer', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_clients.py CMD IMD DODO PROGRAM: dodo clients, beside programs that use a real cluster, and without one."""
import json
import os
import re
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import Case

PROGRAM = os.path.abspath(sys.argv[4])
MIB = 1 << 20


class Clients(Case):
    def setUp(self):
        super().setUp()
        self.file = os.path.join(self.work, 'file')
        self.files = 0
        self.pages = os.path.join(self.work, 'dodo', 'programs')  # where that file system will do

    def use(self, how):
        self.files += 1  # nobody else has that range open
        file = self.file + str(self.files)
        with open(file, 'wb') as f:
            f.write(os.urandom(MIB))
        program = self.start(PROGRAM, file, how)
        program.says('(ready)')
        return program

    def shown(self):
        """By number: on this host others may run."""
        status, out, err = self.run_dodo('clients', '--json')
        self.assertEqual((status, err), (0, ''))
        return {p['pid']: p for p in json.loads(out)['programs']}

    def of(self, program):
        return self.shown()[program.process.pid]

    def assert_common(self, shown):
        self.assertEqual(shown['name'], 'clients_program')
        self.assertEqual(shown['uid'], os.geteuid())
        self.assertEqual('user' in shown, os.geteuid() == 0)
        self.assertEqual((shown['regions'], shown['writes'], shown['written_bytes']), (1, 1, 4096))
        self.assertEqual(sum(shown[part]['bytes'] for part in ('local', 'remote', 'file')), 2 * MIB)
        self.assertEqual(sum(shown[part]['reads'] for part in ('local', 'remote', 'file')), 512)
        self.assertAlmostEqual(sum(shown[part]['share'] for part in ('local', 'remote', 'file')), 1, places=3)
        self.assertLess(shown['runs_ms'], 1e6)

    def test_a_region_of_a_cluster(self):
        self.start_cmd()
        self.start_imd()
        os.environ['DODO_MANAGER'] = self.manager
        self.addCleanup(os.environ.pop, 'DODO_MANAGER', None)
        program = self.use('region')
        shown = self.of(program)
        self.assert_common(shown)
        self.assertEqual(shown['local']['reads'], 0)
        self.assertGreater(shown['file']['reads'], 0)
        self.assertGreater(shown['remote']['bytes'], 0)
        self.assertGreater(shown['remote_memory_bytes'], 0)
        self.assertGreater(shown['valued_reads'], 0)
        self.assertGreaterEqual(shown['saved_ns'], 0)
        self.assertEqual(program.end(), 0)
        self.assertNotIn(program.process.pid, self.shown())

    def test_a_cache_without_a_cluster(self):
        program = self.use('cache')
        shown = self.of(program)
        self.assert_common(shown)
        self.assertEqual((shown['remote']['reads'], shown['remote_memory_bytes']), (0, 0))
        self.assertEqual(shown['saved_remote_ns'] or 0, 0)
        status, out, err = self.run_dodo('clients')
        self.assertEqual((status, err), (0, ''))
        self.assertRegex(out, r'(?m)^ *%d clients_program .* 1 +0 B +2 MiB .* 4 KiB ' % program.process.pid)

    def test_it_goes_with_its_program(self):
        ends, killed, stays = self.use('cache'), self.use('cache'), self.use('cache')
        self.assertLessEqual({p.process.pid for p in (ends, killed, stays)}, set(self.shown()))
        self.assertEqual(ends.end(), 0)
        killed.end(signal.SIGKILL)
        left = set(self.shown())
        self.assertIn(stays.process.pid, left)
        self.assertFalse(left & {ends.process.pid, killed.process.pid})
        if os.path.isdir(self.pages):
            self.assertFalse([f for f in os.listdir(self.pages) if re.match('%d-' % killed.process.pid, f)])

    def test_a_directory_full_of_others(self):
        program = self.use('cache')
        if not os.path.isdir(self.pages):
            self.skipTest('programs are seen elsewhere')
        page = os.path.join(self.pages, os.listdir(self.pages)[0])
        with open(page, 'rb') as f:
            good = f.read()
        for i, content in enumerate((b'', good[:-1], good + b'x', bytes(len(good)), b'\xff' * len(good), good)):
            with open(os.path.join(self.pages, '%d-1' % (i + 1)), 'wb') as f:
                f.write(content)
        os.symlink(page, os.path.join(self.pages, '90-1'))
        os.symlink('/dev/zero', os.path.join(self.pages, '91-1'))
        os.mkfifo(os.path.join(self.pages, '92-1'))
        os.mkdir(os.path.join(self.pages, '93-1'))
        shown = self.shown()
        self.assertIn(program.process.pid, shown)
        self.assertFalse({1, 2, 3, 4, 5, 6, 90, 91} & set(shown))

    def test_no_directory_can_be(self):
        """The program works as ever."""
        os.environ['XDG_RUNTIME_DIR'] = self.config  # it is none
        program = self.use('cache')
        self.assertEqual(self.run_dodo('clients')[0], 0)
        self.assertEqual(program.end(), 0)

    def test_the_command_line(self):
        self.assertEqual(self.run_dodo('clients')[0::2], (0, ''))
        status, out, err = self.run_dodo('clients', 'word')
        self.assertEqual((status, out), (2, ''))
        self.assertIn('dodo clients', err)
        self.assertEqual(self.run_dodo('clients', '--absent')[0], 2)
        self.assertEqual(self.run_dodo('clients', '--help')[0], 0)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_check.py CMD IMD DODO: dodo check on a cluster of real daemons, in order and out of it."""
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import DODO, IMD, PATIENCE, Case

CHECKS = ['config', 'key', 'manager', 'hosts', 'memlock', 'buffers']


class Check(Case):
    def setUp(self):
        super().setUp()
        self.key = os.path.join(self.work, 'key')
        subprocess.run([DODO, 'keygen', self.key], check=True)
        self.set_up('')
        self.start_cmd()
        self.set_up('manager = %s\n' % self.manager)
        self.imd, self.host = self.start_imd()

    def set_up(self, manager, more=''):
        self.write(self.config, '[dodo]\nkey = %s\n%s%s' % (self.key, manager, more))

    def check(self, status, *words, timeout='%ds' % PATIENCE):
        """name -> [(state, text)] of what is printed; neither stream has a key in it."""
        run = subprocess.run([DODO, 'check', '--timeout', timeout, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False, timeout=PATIENCE * 2)
        out, err = run.stdout.decode(), run.stderr.decode()
        self.assertEqual(run.returncode, status, out + err)
        self.assertNotRegex(out + err, '[0-9a-f]{17}')
        if '--json' in words:
            told = json.loads(out)
            lines = [(c['check'], c['state'], c['text']) for c in told['checks']]
            self.assertEqual(told['faults'], sum(c[1] == 'fault' for c in lines))
        else:
            lines = [re.fullmatch(r'(\w+) +(\w+) +(.+)', line).groups() for line in out.splitlines()]
        self.assertEqual(status, int(any(c[1] == 'fault' for c in lines)), out + err)
        found = {}
        for name, state, text in lines:
            found.setdefault(name, []).append((state, text))
        self.assertEqual(list(found), CHECKS)
        return found

    def assert_fault(self, told, name, text):
        """One fault, and this."""
        self.assertEqual([c for n in CHECKS for c in told[n] if c[0] == 'fault'], told[name])
        self.assertEqual(len(told[name]), 1)
        self.assertIn(text, told[name][0][1])

    def test_in_order(self):
        for words in ((), ('--json',)):
            told = self.check(0, *words)
            self.assertEqual(told['config'], [('ok', self.config)])
            self.assertRegex(told['key'][0][1], r'%s: mode 0600, \w+:\w+, fingerprint [0-9a-f]{8}$' % self.key)
            self.assertRegex(told['manager'][0][1], r'%s answers in \S+, with the same key, up ' % self.manager)
            self.assertEqual(told['hosts'], [('ok', '1 known, all in order')])

    def test_two_keys(self):
        first = self.check(0)['key'][0][1]
        os.rename(self.key, self.key + '.old')
        subprocess.run([DODO, 'keygen', self.key], check=True)
        with open(self.key, 'a', encoding='utf-8') as f, open(self.key + '.old', encoding='utf-8') as old:
            f.write(old.read())
        both = self.check(0)['key'][0][1]  # the daemons have the old one still
        prints = re.findall('fingerprint ([0-9a-f]{8}), and ([0-9a-f]{8}), which is being replaced$', both)[0]
        self.assertEqual(prints[1], first[-8:])
        self.assertNotEqual(prints[0], prints[1])

    def test_another_key(self):
        os.unlink(self.key)
        subprocess.run([DODO, 'keygen', self.key], check=True)
        told = self.check(1, timeout='300ms')
        self.assert_fault(told, 'manager', 'does not answer within 300ms: is the daemon running there, with the same key')
        self.assertEqual(told['hosts'][0][0], 'unknown')

    def test_key_files(self):
        os.chmod(self.key, 0o640)
        self.assertIn(': mode 0640, ', self.check(0)['key'][0][1])
        os.chmod(self.key, 0o604)
        told = self.check(1)
        self.assert_fault(told, 'key', 'readable by others; run chmod o-rwx ' + self.key)
        self.assertEqual(told['manager'][0][0], 'unknown')
        os.unlink(self.key)
        self.assert_fault(self.check(1), 'key', 'make it with: dodo keygen ' + self.key)

    def test_configuration(self):
        self.set_up('manager = %s\n' % self.manager, '[imd]\nbeat = 1s\npol = 3G\n')
        told = self.check(1, '--json')
        self.assert_fault(told, 'config', '%s:6: unknown key "pol" in [imd]; see dodo.conf(5)' % self.config)
        self.set_up('manager = %s\n' % self.manager, '[rmd]\nlisten = 127.0.0.1\n[imd]\npopulate = yes\n')
        self.assert_fault(self.check(1), 'config', '[imd] populate is for hosts without an owner')
        self.set_up('manager = %s\n' % self.manager, '[imd]\npopulate = yes\n')
        self.check(0)
        odd = os.path.join(self.work, 'none "of\\ this\tname')
        told = self.check(1, '--json', '--config', odd)
        self.assert_fault(told, 'config', odd.replace('\t', '?') + ': No such file')
        self.assertEqual([told[name][0][0] for name in ('key', 'manager', 'hosts')], ['unknown'] * 3)

    def test_environment(self):
        self.addCleanup(os.environ.pop, 'DODO_MANAGER')
        os.environ['DODO_MANAGER'] = 'local host'
        self.assert_fault(self.check(1), 'config', 'DODO_MANAGER=local host: expected a name or an address')

    def test_environment_of_others(self):
        for variable in ('DODO_VERIFY=maybe', 'DODO_CACHE_SIZE=5Q', 'DODO_IMD_POLL=9', 'DODO_TRANSPORT=pigeon'):
            name, value = variable.split('=')
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)
            self.assert_fault(self.check(1), 'config', variable + ': expected ')
            os.environ[name] = ''

    def test_environment_against_the_file(self):
        self.set_up('manager = %s\n' % self.manager, '[manage]\ncache_size = 64M\n')
        self.addCleanup(os.environ.pop, 'DODO_READAHEAD')
        os.environ['DODO_READAHEAD'] = '1G'
        self.assert_fault(self.check(1), 'config', 'DODO_READAHEAD: [manage] readahead = 1 GiB must be at most')
        os.environ['DODO_READAHEAD'] = '64M'
        self.check(0)

    def test_buffers(self):
        """Of those who are set up here; each of them may ask for most."""
        for group, more in (('client', ''), ('imd', 'listen = 127.0.0.1\n'), ('cmd', 'listen = 127.0.0.1\n')):
            self.set_up('manager = %s\n' % self.manager, '[%s]\n%sreceive_buffer = 1G\n' % (group, more))
            told = self.check(1)
            self.assert_fault(told, 'buffers', '[%s] receive_buffer is 1 GiB, but sockets get' % group)
            self.assertIn('net.core.rmem_max=1073741824', told['buffers'][0][1])
        self.set_up('manager = %s\n' % self.manager, '[imd]\nreceive_buffer = 1G\n')
        self.check(0)

    def test_memlock(self):
        limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_MEMLOCK, limit)
        resource.setrlimit(resource.RLIMIT_MEMLOCK, (65536, limit[1]))
        self.set_up('manager = %s\n' % self.manager, '[imd]\nthreads = 2\n')
        self.assertEqual(self.check(0)['memlock'], [('ok', 'no pool of an imd is set here')])
        self.set_up('manager = %s\n' % self.manager, '[imd]\npool = 64M\n')
        if os.geteuid() == 0:
            self.assertEqual(self.check(0)['memlock'], [('ok', 'a pool of 64 MiB can be locked')])
        else:
            self.assert_fault(self.check(1), 'memlock', 'cannot lock its pool of 64 MiB, only 64 KiB')

    def test_no_manager(self):
        self.set_up('')
        self.assert_fault(self.check(1), 'manager', 'none is set')
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as deaf:
            deaf.bind(('127.0.0.1', 0))
            told = self.check(1, '--manager', '127.0.0.1:%d' % deaf.getsockname()[1], timeout='300ms')
        self.assert_fault(told, 'manager', 'does not answer within 300ms')
        told = self.check(1, '--manager', self.host)
        self.assert_fault(told, 'manager', self.host + ' is another daemon, not the manager')

    def test_no_lease(self):
        standby = self.start_cmd('--lease', '/bin/false')
        told = self.check(1, '--manager', self.manager)
        self.assert_fault(told, 'manager', 'does the command of its lease ([cmd] lease) get its lock? See the log there')
        standby.says('(lease_command_ended status="exit 1" fix=)')

    def test_a_host_that_does_not_answer(self):
        self.imd.process.send_signal(signal.SIGSTOP)
        told = self.check(1, timeout='2s')
        self.assert_fault(told, 'hosts', self.host + ' answers the manager, but not this host')
        self.imd.process.send_signal(signal.SIGCONT)
        self.assertEqual(self.check(0)['hosts'], [('ok', '1 known, all in order')])

    def test_no_host(self):
        self.assertEqual(self.imd.end(), 0)  # the manager remembers it for a while
        self.assertEqual(self.check(0)['hosts'], [('note', 'the manager knows none: no memory is lent')])

    def test_command_line(self):
        for words in (['--nonsense'], ['word'], ['--timeout', 'soon'], ['--manager', 'local host']):
            run = subprocess.run([DODO, 'check', *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
            self.assertEqual((run.returncode, run.stdout), (2, b''), words)
            self.assertIn(b'dodo check: ', run.stderr)


class Others(Case):
    """What other commands say of hosts and addresses that are not what they ask for."""

    def setUp(self):
        super().setUp()
        self.start_cmd()
        self.imd, self.host = self.start_imd()

    def refused(self, words, said):
        status, out, err = self.run_dodo(*words, '--manager', self.manager)
        self.assertEqual((status, out), (1, ''), err)
        self.assertIn(said, err)

    def test_another_daemon(self):
        """It answers, but not what it is asked."""
        self.manager = self.host
        for words in (['status'], ['status', '--json'], ['regions'], ['drain', self.host], ['ping']):
            self.refused(words, self.host + ' is another daemon, not the manager')
        data = self.imd.says(r'imd ready: .* data_ports=([0-9]+)')
        status, _, err = self.run_dodo('explain', '127.0.0.1:' + data)
        self.assertEqual(status, 1)
        self.assertIn('that is another daemon, not rmd', err)

    def test_a_data_port_in_use(self):
        """Of two imds on one host: the error names what to change."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(('127.0.0.1', 0))
            port = other.getsockname()[1]
            self.write(self.config, '[imd]\ndata_port = %d\nthreads = 1\n' % port)
            imd = self.start(IMD, '--manager', self.manager, '--listen', '127.0.0.1:0', '--pool', '1M')
            imd.says(r'(cannot listen on 127.0.0.1:%d: .*; choose another \[imd\] data_port, or 0 for any)' % port)

    def test_status_counts(self):
        _, out, err = self.run_dodo('status', '--manager', self.manager)
        self.assertRegex(out, r'^manager \S+, up \S+: 1 host, 0 regions, 0 clients\n', err)

    def test_regions_of_a_host(self):
        status, out, err = self.run_dodo('regions', '--manager', self.manager, '--host', self.host)
        self.assertEqual((status, out, err), (0, '0 regions, 0 B\n', ''))
        for words in (['regions', '--host'], ['regions', '--json', '--host'], ['drain']):
            self.refused([*words, '10.9.9.9'], ': the manager knows no host 10.9.9.9')


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

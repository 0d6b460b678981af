#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_rekey.py CMD IMD DODO: the key of a cluster of real daemons changes while it works."""
import os
import shutil
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import DODO, Case


class Rekey(Case):
    def setUp(self):
        super().setUp()
        self.key = self.key_of('manager')
        subprocess.run([DODO, 'keygen', self.key], check=True)
        os.chmod(self.key, 0o640)
        shutil.copy2(self.key, self.key_of('host'))
        self.cmd = self.start_cmd('--key', self.key)
        self.configure(self.manager)
        self.imd, self.host = self.start_imd('--key', self.key_of('host'))

    def configure(self, managers, known_after='1ms'):
        """What the command reads; the daemons' file says nothing of host_dead."""
        text = '[dodo]\nkey = %s\nmanager = %s\n' % (self.key, managers)
        self.write(self.config, text)
        self.write(self.config + '.own', text + '[cmd]\nhost_dead = %s\ngrace = 2h\n' % known_after)

    def key_of(self, name):
        return os.path.join(self.work, name + '.key')

    def rekey(self, status, *words):
        """What it prints; no key is in it, and nobody else can use the files."""
        got, out, err = self.run_dodo('rekey', '--config', self.config + '.own', '--timeout', '1s', *words)
        self.assertEqual(got, status, out + err)
        self.assertNotRegex(out + err, '[0-9a-f]{17}')
        for name in os.listdir(self.work):
            if '.key' in name:
                self.assertEqual(os.stat(os.path.join(self.work, name)).st_mode & 0o777, 0o640)
        return out + err

    def keys(self, name):
        with open(name, encoding='utf-8') as f:
            return f.read().split()

    def reload(self, program, times):
        program.process.send_signal(signal.SIGHUP)
        program.says('(?s)((?:reloaded .*){%d})' % times)

    def copy(self):
        """As people do."""
        shutil.copy2(self.key, self.key_of('host'))

    def test_what_was_left_in_the_way(self):
        """By one that was killed while it wrote."""
        self.write(self.key + '.new', 'half')
        os.chmod(self.key + '.new', 0o640)
        self.assertIn('manager.key.new: File exists; remove it, if', self.rekey(1, '--begin'))
        self.assertEqual(len(self.keys(self.key)), 1)
        os.unlink(self.key + '.new')
        self.rekey(0, '--begin')

    def test_a_link_to_the_file(self):
        """It stays one: others may know the file by its own name."""
        link = self.key_of('link')
        os.symlink(os.path.basename(self.key), link)
        self.rekey(0, '--begin', '--key', link)
        self.assertTrue(os.path.islink(link))
        _, new = self.keys(self.key)
        self.rekey(0, '--finish', '--force', '--key', link)
        self.assertTrue(os.path.islink(link))
        self.assertEqual(self.keys(self.key), [new])

    def test_from_one_key_to_the_next(self):
        first, = self.keys(self.key)
        self.assertIn('No change is under way', self.rekey(0, '--status'))
        self.assertIn('no change is under way', self.rekey(1, '--finish'))
        self.assertIn('one of --begin, --status and --finish is needed', self.rekey(2))
        self.assertIn('exclude each other', self.rekey(2, '--begin', '--finish'))
        self.assertIn('--force goes with --finish', self.rekey(2, '--status', '--force'))

        said = self.rekey(0, '--begin')
        self.assertIn('scp -p %s HOST:%s' % (self.key, self.key), said)
        old, new = self.keys(self.key)
        self.assertEqual(old, first)
        self.assertIn('a change is under way', self.rekey(1, '--begin'))
        self.reload(self.cmd, 1)
        self.cmd.says(r'reloaded (cmd=ready keys=2 changed="\[dodo\] key")\n')
        said = self.rekey(1, '--finish')
        self.assertIn('%-24s has only the old key' % self.host, said)
        self.assertIn('%-24s has the next key (the manager)' % self.manager, said)
        self.assertIn('not all have the next key', said)
        self.assertEqual(self.keys(self.key), [old, new])

        self.copy()
        self.reload(self.imd, 1)
        self.imd.says(r'reloaded (keys=2 [^"]* changed="\[dodo\] key")\n')
        self.assertIn('All have the next key', self.rekey(0, '--status'))
        self.rekey(0, '--finish')
        self.assertEqual(self.keys(self.key), [new])
        self.assertEqual(self.keys(self.key + '.old'), [old])
        self.assertIn('the last change is not over', self.rekey(1, '--begin'))

        self.reload(self.cmd, 2)
        self.cmd.says(r'reloaded (cmd=ready keys=1 changed="\[dodo\] key")\n')
        said = self.rekey(1, '--status')
        self.assertIn('%-24s takes the old key, too' % self.host, said)
        self.assertIn('%-24s has the new key alone' % self.manager, said)
        self.copy()
        self.reload(self.imd, 2)
        self.assertIn('Nobody takes the old key', self.rekey(0, '--status'))
        self.reload(self.cmd, 3)
        self.cmd.says(r'reloaded (cmd=ready keys=1 changed="nothing")\n')
        os.unlink(self.key + '.old')
        self.assertIn('No change is under way', self.rekey(0, '--status'))
        self.assertEqual(self.run_dodo('status')[0], 0)

    def test_manager_that_stands_by(self):
        """It becomes the active one some day: it needs the key, and knows no hosts."""
        active = self.manager
        shutil.copy2(self.key, self.key_of('standby'))
        standby = self.start_cmd('--key', self.key_of('standby'), '--lease', '/bin/sleep 1000')
        self.configure('%s, %s' % (self.manager, active))
        self.rekey(0, '--begin')
        self.copy()
        self.reload(self.cmd, 1)
        self.reload(self.imd, 1)
        said = self.rekey(1, '--finish')
        self.assertIn('%-24s has only the old key' % self.manager, said)
        self.assertIn('%-24s has the next key' % active, said)
        shutil.copy2(self.key, self.key_of('standby'))
        self.reload(standby, 1)
        self.assertIn('All have the next key', self.rekey(0, '--status'))
        self.cmd.end()
        self.assertIn('no manager is active', self.rekey(1, '--status'))

    def test_a_manager_that_has_just_started(self):
        """It does not know all hosts yet: one of those may lack the key."""
        self.configure(self.manager, known_after='1h')
        self.assertIn('No change is under way', self.rekey(0, '--status'))
        self.rekey(0, '--begin')
        self.copy()
        self.reload(self.cmd, 1)
        self.reload(self.imd, 1)
        self.assertRegex(self.rekey(1, '--status'), 'The manager has started .* ago, and may not know all hosts')
        self.rekey(1, '--finish')
        self.assertEqual(len(self.keys(self.key)), 2)
        self.configure(self.manager)
        self.rekey(0, '--finish')

    def test_force(self):
        self.rekey(0, '--begin')
        self.rekey(0, '--finish', '--force')
        self.assertEqual(len(self.keys(self.key)), 1)

    def test_command_line(self):
        for words in ((), ('--begin', '--finish'), ('--status', '--force'), ('--key',)):
            self.assertEqual(self.run_dodo('rekey', *words)[0], 2)
        self.write(self.config + '.own', '[dodo]\nmanager = %s\n' % self.manager)
        self.assertIn('which key file?', self.rekey(1, '--status'))


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1], verbosity=2)

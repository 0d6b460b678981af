#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_owner.py CMD IMD DODO: dodo owner, beside an rmd that stands still."""
import os
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from daemons import Case


class Owner(Case):
    def test_no_room_for_a_question(self):
        """Others have asked, and nobody has read it."""
        path = os.path.join(self.work, 'owner')
        self.write(self.config, '[rmd]\nowner_socket = %s\n' % path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as rmd, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
            rmd.bind(path)
            other.setblocking(False)
            other.connect(path)
            with self.assertRaises(BlockingIOError):
                while True:
                    other.send(b'status')
            status, out, err = self.run_dodo('owner')
        self.assertEqual((status, out), (1, ''))
        self.assertIn('Connection timed out: does dodo-rmd run on this host?', err)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])

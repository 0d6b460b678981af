#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The reader of metrics takes what OpenMetrics allows, and nothing else."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../lib'))

# pylint: disable=wrong-import-position
from openmetrics import parse

GOOD = '''# TYPE a_build info
# HELP a_build the program
a_build_info{version="0.1"} 1
# TYPE a_wait_seconds gauge
# UNIT a_wait_seconds seconds
# HELP a_wait_seconds a wait
a_wait_seconds 1.000000002
# TYPE a_reads counter
# HELP a_reads reads, by kind
a_reads_total{kind="long"} 7
a_reads_total{kind="short"} 0
# TYPE a_state stateset
# HELP a_state what it does
a_state{a_state="on"} 0
a_state{a_state="off"} 1
# EOF
'''


class Reading(unittest.TestCase):
    def test_good_text(self):
        samples = parse(GOOD)
        self.assertEqual(len(samples), 6)
        self.assertEqual(samples['a_wait_seconds', None], 1.000000002)
        self.assertEqual(samples['a_reads_total', 'kind="long"'], 7)

    def refused(self, old, new):
        self.assertEqual(GOOD.count(old), 1)
        with self.assertRaises(ValueError):
            parse(GOOD.replace(old, new))

    def test_the_end(self):
        self.refused('# EOF\n', '')
        self.refused('# EOF\n', '# EOF')
        self.refused('# EOF\n', '# EOF\n\n')
        self.refused('# EOF\n', '# EOF\n# EOF\n')
        self.refused('# EOF\n', '# EOF\na_wait_seconds 2\n# EOF\n')

    def test_lines(self):
        self.refused('a_wait_seconds 1.000000002', 'a_wait_seconds  1')
        self.refused('a_wait_seconds 1.000000002', 'a_wait_seconds 1 ')
        self.refused('a_wait_seconds 1.000000002', 'a_wait_seconds x')
        self.refused('a_wait_seconds 1.000000002', 'a_wait_seconds 01')
        self.refused('a_wait_seconds 1.000000002', 'a_wait_seconds 1\r')
        self.refused('a_wait_seconds 1.000000002', '')
        self.refused('a_wait_seconds 1.000000002', 'a-wait_seconds 1')
        self.refused('# HELP a_wait_seconds a wait', '# a comment')
        self.refused('# HELP a_wait_seconds a wait', '# HELP a_wait_seconds a\\wait')

    def test_families(self):
        self.refused('# TYPE a_wait_seconds gauge\n', '')
        self.refused('# HELP a_wait_seconds a wait\n', '')
        self.refused('# TYPE a_wait_seconds gauge', '# TYPE a_wait_seconds number')
        self.refused('# TYPE a_wait_seconds gauge', '# TYPE a_wait_seconds gauge\n# TYPE a_wait_seconds gauge')
        self.refused('# UNIT a_wait_seconds seconds', '# UNIT a_wait_seconds bytes')
        self.refused('a_wait_seconds 1.000000002', 'a_wait_seconds 1\n# UNIT a_wait_seconds seconds')
        self.refused('a_state{a_state="off"} 1', 'a_state{a_state="off"} 1\na_wait_seconds 1')
        self.refused('# EOF\n', '# TYPE a_reads gauge\n# HELP a_reads again\na_reads 1\n# EOF\n')

    def test_samples(self):
        self.refused('a_reads_total{kind="long"} 7', 'a_reads{kind="long"} 7')
        self.refused('a_reads_total{kind="long"} 7', 'a_reads_total{kind="long"} -7')
        self.refused('a_reads_total{kind="long"} 7', 'a_reads_total{kind="short"} 7')
        self.refused('a_reads_total{kind="long"} 7', 'a_reads_total{kind="long",kind="x"} 7')
        self.refused('a_reads_total{kind="long"} 7', 'a_reads_total{kind=long} 7')
        self.refused('a_reads_total{kind="long"} 7', 'a_reads_total{kind="lo\\ng\\x"} 7')
        self.refused('a_build_info{version="0.1"} 1', 'a_build_info{version="0.1"} 2')
        self.refused('a_state{a_state="on"} 0', 'a_state{a_state="on"} 1')
        self.refused('a_state{a_state="on"} 0', 'a_state{state="on"} 0')


if __name__ == '__main__':
    unittest.main()

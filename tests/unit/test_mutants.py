#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Which bugs scripts/mutate plants in a small C file, and that each stands alone."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../..')
sys.path.insert(0, os.path.join(TOP, 'scripts/lib'))

# pylint: disable=wrong-import-position
import mutants

SOURCE = '''/* a && b */
struct Pair {
    int left, right;
};

static int sum(const struct Pair *p, int limit)
{
    int count = 0;
    if (p->left < limit && limit)
        return 0;
    count += p->left;
    count *= limit + 1;
    return count;
}

int main(void)
{
    struct Pair pair = {3, 4};
    return sum(&pair, 2) == 9 ? 0 : 1;
}
'''
# The line and its bug; where two lines change, both.
EXPECTED = [
    (9, 'if (!(p->left < limit && limit))'),
    (9, 'if (p->left < limit)'),
    (9, 'if (limit)'),
    (9, 'if (p->left <= limit && limit)'),
    (9, 'if (p->right < limit && limit)'),
    (10, ';'),
    (11, ';'),
    (11, 'count += p->right;'),
    (11, 'count *= limit + 1; count += p->left;'),
    (12, ';'),
    (12, 'count *= limit;'),
    (19, 'return sum(2, &pair) == 9 ? 0 : 1;'),
    (19, 'return !(sum(&pair, 2) == 9) ? 0 : 1;'),
]


def changed(mutant):
    """The lines that @mutant changes, in one."""
    before, after = SOURCE.splitlines(), mutants.plant(SOURCE, mutant).splitlines()
    assert len(before) == len(after)
    return mutant.line, ' '.join(b.strip() for a, b in zip(before, after) if a != b)


class Mutants(unittest.TestCase):
    def setUp(self):
        self.found = mutants.mutants_of('small.c', SOURCE, {'': {'left': ['right']}})

    def test_of_each_kind(self):
        self.assertCountEqual([changed(m) for m in self.found], EXPECTED)

    def test_field_by_the_struct(self):
        self.assertEqual(mutants.siblings_in(SOURCE), {'left': ['right'], 'right': ['left']})

    def test_together(self):
        """All in one program: it is as it was until one is awake."""
        fit = [m for m in self.found if not changed(m)[1].startswith('return sum(2')]
        for i, m in enumerate(fit):
            m.number = i + 1
        source = '#include <stdlib.h>\nstatic int mutant(int n)\n{\n    return n == atoi(getenv("MUTANT"));\n}\n'
        with tempfile.TemporaryDirectory() as directory:
            program = os.path.join(directory, 'small')
            source += mutants.plant_all(SOURCE, fit)
            subprocess.run(['cc', '-xc', '-o', program, '-'], input=source, text=True, check=True)

            def status(number):
                return subprocess.run([program], env={'MUTANT': str(number)}, check=False).returncode
            self.assertEqual(status(0), 0)
            alive = [changed(m) for m in fit if status(m.number) == 0]
        self.assertEqual(alive, [(9, 'if (p->left < limit)'), (9, 'if (p->left <= limit && limit)'),
                                 (9, 'if (p->right < limit && limit)'), (10, ';')])


if __name__ == '__main__':
    unittest.main()

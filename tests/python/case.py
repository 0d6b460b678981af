# SPDX-License-Identifier: MIT
"""What the tests of the Python package share: results as TAP, a directory, and no cluster."""
import os
import pathlib
import random
import sys
import tempfile
import unittest

# Before the library is used, which reads it once.
os.environ.update(DODO_CONFIG="/dev/null", DODO_MANAGER="")


class Case(unittest.TestCase):
    """A case is a method named test_PART__WHAT_IS_SEEN."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.dir = pathlib.Path(temporary.name)

    def make(self, size, seed=1, name="file"):
        """A file, and its bytes."""
        content = random.Random(seed).randbytes(size)
        path = self.dir / name
        path.write_bytes(content)
        return path, content

    def refuses(self, error, call, *args, **kwargs):
        """An OSError with this errno and with a text of the library's."""
        with self.assertRaises(OSError) as raised:
            call(*args, **kwargs)
        self.assertEqual(raised.exception.errno, error)
        self.assertTrue(raised.exception.strerror)
        return raised.exception


class Tap(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0

    def _say(self, good, test, more=""):
        self.count += 1
        name = test.id().rpartition(".")[2].removeprefix("test_")
        print(f"{'' if good else 'not '}ok {self.count} - {name}{more}", flush=True)

    def addSuccess(self, test):
        self._say(True, test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say(True, test, f" # SKIP {reason}")

    def _failed(self, test, error):
        print("".join("# " + line for line in
                      self._exc_info_to_string(error, test).splitlines(keepends=True)))
        self._say(False, test)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._failed(test, error)

    def addError(self, test, error):
        super().addError(test, error)
        self._failed(test, error)


def run():
    """Runs the cases of the program, or those that are named after it."""
    suite = unittest.TestLoader().loadTestsFromModule(sys.modules["__main__"])
    cases = [case for group in suite for case in group
             if not sys.argv[1:] or case.id().rpartition(".")[2].removeprefix("test_") in sys.argv]
    print(f"1..{len(cases)}", flush=True)
    result = Tap()
    unittest.TestSuite(cases).run(result)
    sys.exit(not result.wasSuccessful())

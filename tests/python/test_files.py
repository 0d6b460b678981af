# SPDX-License-Identifier: MIT
"""The Python package on files, without a cluster: what comes and goes is byte for byte the file's."""
import array
import ast
import copy
import errno
import gc
import inspect
import io
import mmap
import os
import pathlib
import pickle
import random
import re
import resource
import subprocess
import sys
import unittest
import warnings

import case
import dodo
from dodo import _dodo

try:
    import numpy
except ImportError:
    numpy = None

MIB = 1 << 20


class Files(case.Case):
    """dodo.open()."""

    def test_file__reads_as_a_file_does(self):
        path, content = self.make(MIB + 77)
        draw = random.Random(2)
        with dodo.open(path) as f, open(path, "rb", buffering=0) as other:
            for _ in range(300):
                at, n = draw.randrange(len(content) + 5000), draw.randrange(20000)
                self.assertEqual(f.seek(at), other.seek(at))
                self.assertEqual(f.read(n), other.read(n))
                self.assertEqual(f.tell(), other.tell())
            for place in [(-10, 2), (5, 0), (3, 1), (0, 2), (0, 1), (7, 2)]:
                self.assertEqual(f.seek(*place), other.seek(*place))
                self.assertEqual(f.read(), other.read())
            self.assertEqual((f.name, f.mode), (path, "rb"))
            self.assertTrue(f.readable() and f.seekable() and not f.writable())

    def test_file__with_each_flag(self):
        path, content = self.make(9000)
        for flags in ({"retain": True}, {"stripe": True}, {"mirror": True}):
            with dodo.open(path, **flags) as f:
                self.assertEqual(f.read(), content)

    def test_file__under_buffered_and_text_classes(self):
        path = self.dir / "text"
        lines = [f"line {i} \u00e9\n" for i in range(50000)]
        path.write_text("".join(lines), encoding="utf-8")
        with io.BufferedReader(dodo.open(path), 10000) as f:
            self.assertEqual(f.readline(), lines[0].encode())
            self.assertEqual(f.peek(4)[:4], b"line")
        with io.TextIOWrapper(io.BufferedReader(dodo.open(path)), encoding="utf-8") as f:
            self.assertEqual(list(f), lines)

    def test_file__empty(self):
        path, _ = self.make(0)
        with dodo.open(path) as f:
            self.assertEqual((f.read(), f.read(10), f.seek(0, 2)), (b"", b"", 0))
            self.assertEqual(f.readinto(bytearray(3)), 0)
            f.seek(100)
            self.assertEqual((f.read(), f.read(1), f.readinto(bytearray(3))), (b"", b"", 0))

    def test_file__wrong_types(self):
        path, _ = self.make(100)
        with dodo.open(path) as f:
            for offset in (1.5, "1", None):
                self.assertRaises(TypeError, f.seek, offset)
            self.assertEqual(f.tell(), 0)
        for file in (None, 1.5, object()):
            self.assertRaises(TypeError, dodo.CachedRegion, file)

    def test_file__readinto_any_buffer(self):
        path, content = self.make(64 << 10)
        numbers = array.array("Q", bytes(8000))
        mapped = mmap.mmap(-1, 8000)
        half = bytearray(8000)
        for buffer in [bytearray(8000), numbers, mapped, memoryview(half)[1000:5000],
                       memoryview(bytearray(8000)).cast("I")]:
            with dodo.open(path) as f:
                f.seek(123)
                n = memoryview(buffer).nbytes
                self.assertEqual(f.readinto(buffer), n)
                self.assertEqual(bytes(buffer), content[123:123 + n])
                self.assertEqual(f.tell(), 123 + n)
        self.assertEqual(half[:1000] + half[5000:], bytes(4000))
        with dodo.open(path) as f:
            self.assertRaises(TypeError, f.readinto, b"not writable")
            self.assertRaises(TypeError, f.readinto, memoryview(half)[::2])

    @unittest.skipUnless(numpy, "numpy is not installed")
    def test_file__numpy_without_another_copy(self):
        path, content = self.make(8 * 30000)
        wanted = numpy.frombuffer(content, dtype="<u8").reshape(100, 300)
        table = numpy.zeros((100, 300), dtype="<u8")
        with dodo.CachedRegion(path, readonly=True) as r:
            self.assertEqual(r.readinto(table), table.nbytes)
            self.assertTrue((table == wanted).all())
            table[:] = 0
            self.assertEqual(r.readinto(table[3], 8 * 300 * 7), 2400)  # a row of it, in place
            self.assertTrue((table[3] == wanted[7]).all())
            self.assertFalse(table[:3].any() or table[4:].any())
            self.assertRaises(TypeError, r.readinto, table[:, 3])  # not in one piece
        with dodo.open(path) as f:
            self.assertTrue((numpy.frombuffer(f.read(), "<u8") == wanted.ravel()).all())
            self.assertRaises(io.UnsupportedOperation, numpy.fromfile, f)  # goes past the cache

    def test_file__has_no_descriptor(self):
        with dodo.open(self.make(10)[0]) as f:
            self.assertRaises(io.UnsupportedOperation, f.fileno)
            self.assertRaises(io.UnsupportedOperation, f.truncate)
            self.assertFalse(f.isatty())

    def test_file__writes(self):
        path, content = self.make(100000)
        wanted, draw = bytearray(content), random.Random(3)
        with dodo.open(path, "r+b", length=200000) as f:
            self.assertTrue(f.writable())
            for _ in range(200):
                at, data = draw.randrange(150000), draw.randbytes(draw.randrange(5000))
                f.seek(at)
                self.assertEqual(f.write(data), len(data))
                wanted.extend(bytes(max(0, at + len(data) - len(wanted))) if data else b"")
                wanted[at:at + len(data)] = data
                self.assertEqual(f.seek(0, 2), len(wanted))
            f.seek(0)
            self.assertEqual(f.read(), wanted)
            f.sync()
            self.assertEqual(path.read_bytes(), wanted)
            f.seek(5)
            f.write(array.array("I", [7, 8]))
        wanted[5:13] = array.array("I", [7, 8]).tobytes()
        self.assertEqual(path.read_bytes(), wanted)

    def test_file__writes_by_a_buffer(self):
        path, content = self.make(50000)
        with io.BufferedRandom(dodo.open(path, "r+b")) as f:
            f.seek(100)
            f.write(b"x" * 10)
            self.assertEqual(f.read(5), content[110:115])
        self.assertEqual(path.read_bytes(), content[:100] + b"x" * 10 + content[110:])

    def test_file__write_through_is_in_the_file(self):
        path, content = self.make(5000)
        with dodo.open(path, "r+b", write_through=True) as f:
            f.write(b"now")
            self.assertEqual(path.read_bytes(), b"now" + content[3:])

    def test_file__ends_where_its_region_does(self):
        path, content = self.make(10000)
        with dodo.open(path, "r+b", length=9000) as f:
            self.assertEqual(f.seek(-10, 2), 8990)
            self.assertEqual(f.write(b"0123456789AB"), 10)
            self.refuses(errno.EFBIG, f.write, b"AB")
            self.assertEqual(f.write(b""), 0)
            f.seek(20000)
            self.refuses(errno.EFBIG, f.write, b"AB")
            self.assertEqual(f.read(), b"")
        self.assertEqual(path.read_bytes(), content[:8990] + b"0123456789" + content[9000:])

    def test_file__that_becomes_longer(self):
        path = self.dir / "grows"
        path.write_bytes(b"first,")
        with dodo.open(path, length=1 << 20) as f:
            self.assertEqual(f.read(), b"first,")
            for part in b"second,", b"third" * 10000:
                with open(path, "ab") as other:
                    other.write(part)
                self.assertEqual(f.read(), part)
                self.assertEqual(f.seek(0, os.SEEK_END), os.stat(path).st_size)
            self.assertEqual(f.read(), b"")
            f.seek(0)
            with open(path, "ab") as other:
                other.write(b"last")
            self.assertEqual(f.read(), b"first,second," + b"third" * 10000 + b"last")

    def test_file__arguments(self):
        path, _ = self.make(10)
        for mode in ["r", "w", "wb", "a", "ab", "x", "rt", ""]:
            self.assertRaises(ValueError, dodo.open, path, mode)
        self.assertRaises(FileNotFoundError, dodo.open, self.dir / "none")
        self.refuses(errno.EINVAL, dodo.open, self.dir)
        with dodo.open(path) as f:
            self.assertRaises(io.UnsupportedOperation, f.write, b"x")
            self.assertRaises(ValueError, f.seek, 0, 3)
            self.refuses(errno.EINVAL, f.seek, -1)
        for file in [str(path), os.fsencode(path)]:
            with dodo.open(file) as f:
                self.assertEqual(len(f.read()), 10)
        with open(path, "rb") as other:
            f = dodo.open(other)
            g = dodo.open(other.fileno())
        with f, g:  # which were not theirs, and are closed
            self.assertEqual(f.read(), g.read())

    def test_file__closed(self):
        f = dodo.open(self.make(10)[0], "r+b")
        f.close()
        f.close()
        self.assertTrue(f.closed and f.region.closed)
        for call in [f.read, f.readall, f.tell, f.readable, f.writable, f.seekable, f.sync,
                     f.__enter__, f.flush]:
            self.assertRaises(ValueError, call)
        self.assertRaises(ValueError, f.readinto, bytearray(1))
        self.assertRaises(ValueError, f.write, b"x")
        self.assertRaises(ValueError, f.seek, 0)


class Regions(case.Case):
    """dodo.CachedRegion and dodo.Region."""

    def test_region__reads_and_writes(self):
        path, content = self.make(100000)
        for kind, options in [(dodo.CachedRegion, {}), (dodo.Region, {"fallback": True})]:
            wanted = bytearray(path.read_bytes()[1000:51000])
            with kind(path, 50000, 1000, **options) as r:
                self.assertEqual((len(r), r.length, r.closed, r.writable), (50000, 50000, False, True))
                self.assertEqual(r.pread(0, 0), b"")
                self.assertEqual(r.pread(1 << 40, 100), wanted[100:])
                self.assertEqual(r.pread(10, 50000), b"")
                buffer = bytearray(3000)
                self.assertEqual(r.readinto(buffer, 48000), 2000)
                self.assertEqual(buffer, wanted[48000:] + bytes(1000))
                self.assertEqual(r.readinto(buffer), 3000)
                self.assertEqual(r.pwrite(b"new", 7), 3)
                self.assertEqual(r.pwrite(b"longer", 49998), 2)
                wanted[7:10], wanted[49998:] = b"new", b"lo"
                self.assertEqual(r.pread(50000, 0), wanted)
                r.sync()
                self.assertEqual(path.read_bytes(), content[:1000] + wanted + content[51000:])

    def test_region__to_the_end_of_the_file(self):
        path, content = self.make(10000)
        with dodo.CachedRegion(path, offset=3000) as r:
            self.assertEqual((r.length, r.pread(10000, 0)), (7000, content[3000:]))
        with dodo.CachedRegion(path, 30000) as r:  # longer than the file
            self.assertEqual(r.pread(30000, 0), content)
            self.assertEqual(r.pwrite(b"end", 29997), 3)
        self.assertEqual(path.read_bytes(), content + bytes(19997) + b"end")

    def test_region__errors(self):
        path, _ = self.make(10000)
        self.refuses(errno.ENOMEM, dodo.Region, path)  # no cluster
        for kind in [dodo.CachedRegion, dodo.Region]:
            self.refuses(errno.EINVAL, kind, path, 0)
            self.refuses(errno.EINVAL, kind, path, -1)
            self.refuses(errno.EINVAL, kind, path, 1, -1)
            self.refuses(errno.EINVAL, kind, -1, 1)
            self.assertRaises(TypeError, kind, path, 1, 0, True)
            self.assertRaises(TypeError, kind)
        with open(path, "rb") as f:
            self.refuses(errno.EINVAL, dodo.CachedRegion, f)  # not open for writing
        with dodo.CachedRegion(path) as r:
            busy = self.refuses(errno.EBUSY, dodo.CachedRegion, path)
            self.assertNotEqual(busy.strerror, os.strerror(errno.EBUSY))  # it says more
            self.refuses(errno.EINVAL, r.pread, 1, -1)
            self.refuses(errno.EINVAL, r.pread, 1, 10001)
            self.refuses(errno.EINVAL, r.pwrite, b"x", 10001)
            self.assertRaises(ValueError, r.pread, -1, 0)
            self.assertRaises(TypeError, r.pread, "1", 0)
            self.assertRaises(TypeError, r.pwrite, "text", 0)
            self.assertRaises(OverflowError, r.pread, 1, 1 << 70)
        with dodo.CachedRegion(path, readonly=True) as r, dodo.CachedRegion(path, readonly=True):
            self.assertFalse(r.writable)
            self.refuses(errno.EINVAL, r.pwrite, b"x", 0)

    def test_region__closed(self):
        path, _ = self.make(100)
        for make in [dodo.CachedRegion, lambda file: dodo.Region(file, fallback=True)]:
            with make(path) as r:
                pass
            r.close()
            self.assertTrue(r.closed)
            self.assertIn("closed", repr(r))
            self.assertRaises(ValueError, r.pread, 1, 0)
            self.assertRaises(ValueError, r.readinto, bytearray(1))
            self.assertRaises(ValueError, r.pwrite, b"x", 0)
            self.assertRaises(ValueError, r.sync)
            self.assertRaises(ValueError, r.__enter__)
        self.assertRaises(ValueError, r.prefetch, 0, 1)
        self.assertRaises(ValueError, r.stat)

    def test_region__opened_twice(self):
        path, _ = self.make(100)
        r = dodo.CachedRegion(path, readonly=True)
        self.assertRaises(ValueError, r.__init__, path, readonly=True)
        r.close()
        r.__init__(path, 50)  # as a file object can
        self.assertEqual(len(r.pread(100, 0)), 50)
        r.close()

    def test_region__never_opened(self):
        for r in [_dodo.Cached.__new__(_dodo.Cached), _dodo.Remote.__new__(_dodo.Remote)]:
            self.assertTrue(r.closed)
            self.assertRaises(ValueError, r.pread, 1, 0)
            self.assertIsNone(r.close())

    def test_region__stat_and_prefetch(self):
        path, content = self.make(100000)
        with dodo.Region(path, fallback=True) as r:
            r.prefetch(0, 100000)
            self.assertEqual(r.pread(1000, 5), content[5:1005])
            r.pwrite(b"abc", 0)
            st = r.stat()
        self.assertEqual((st["length"], st["misses"], st["written"]), (100000, 1000, 3))
        self.assertEqual((st["host"], st["active"], st["reused"]), ("", False, False))
        self.assertEqual((st["copies"], st["mirrored_bytes"]), (0, 0))

    def test_region__is_not_pickled(self):
        path, _ = self.make(100)
        with dodo.CachedRegion(path, readonly=True) as r, dodo.open(path) as f:
            self.assertRaises(TypeError, pickle.dumps, r)
            self.assertRaises(TypeError, pickle.dumps, f)

    def test_file__is_not_copied(self):
        """The end of a copy would be the end of the file."""
        path, content = self.make(100)
        with dodo.open(path) as f:
            self.assertRaises(TypeError, copy.copy, f)
            self.assertRaises(TypeError, copy.deepcopy, f)
            self.assertEqual(f.read(), content)

    def test_close__that_fails_loses_nothing(self):
        path, content = self.make(10000)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        r = dodo.CachedRegion(path, 50000)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, old[1]))
            self.assertEqual(r.pwrite(b"far", 30000), 3)
            self.refuses(errno.EFBIG, r.close)
            self.assertFalse(r.closed)
            self.assertEqual(r.pread(3, 30000), b"far")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        r.close()
        self.assertTrue(r.closed)
        self.assertEqual(path.read_bytes(), content + bytes(20000) + b"far")

    def test_close__of_a_file_that_fails(self):
        path, content = self.make(10000)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        f = dodo.open(path, "r+b", length=50000)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, old[1]))
            f.seek(30000)
            f.write(b"far")
            self.refuses(errno.EFBIG, f.close)
            self.assertFalse(f.closed)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        f.close()
        self.assertEqual(path.read_bytes(), content + bytes(20000) + b"far")


class Ends(case.Case):
    """What nobody closes."""

    def test_end__warns_and_closes(self):
        path, content = self.make(1000)
        makers = [lambda: dodo.CachedRegion(path), lambda: dodo.Region(path, fallback=True),
                  lambda: dodo.open(path, "r+b"),
                  lambda: io.BufferedReader(dodo.open(path, "r+b"))]
        for make in makers:
            with self.assertWarns(ResourceWarning):
                make()
                gc.collect()
            with make() as r:  # EBUSY, were the first one still open
                self.assertFalse(r.closed)

    def test_end__writes_back(self):
        path, content = self.make(1000)
        with self.assertWarns(ResourceWarning):
            dodo.CachedRegion(path).pwrite(b"late", 0)
        self.assertEqual(path.read_bytes(), b"late" + content[4:])

    def test_end__of_what_is_no_python_class(self):
        path, _ = self.make(1000)
        for kind, flags in [(_dodo.Cached, 0), (_dodo.Remote, _dodo.FALLBACK)]:
            for _ in range(2):  # EBUSY, were the first one still open
                with open(path, "r+b") as f:
                    self.assertEqual(len(kind(f.fileno(), 1000, 0, flags).pread(9, 0)), 9)

    def test_end__no_descriptor_is_left(self):
        path, _ = self.make(1000)

        def all_ways():
            for options in [{}, {"readonly": True}]:
                with dodo.CachedRegion(path, **options) as r:
                    r.pread(10, 0)
            with dodo.open(path) as f:
                f.read()
            with dodo.Region(path, fallback=True) as r:
                r.pread(10, 0)
            for bad in [lambda: dodo.CachedRegion(path, 0), lambda: dodo.Region(path),
                        lambda: dodo.open(self.dir), lambda: dodo.open(path, "w")]:
                self.assertRaises((OSError, ValueError), bad)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                dodo.CachedRegion(path)
                dodo.open(path)

        all_ways()  # the libraries keep some of their own
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(30):
            all_ways()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before)

    def test_end__no_object_is_left(self):
        path, _ = self.make(100000)
        before = sys.gettotalrefcount() if hasattr(sys, "gettotalrefcount") else None
        buffer = bytearray(1000)
        held = sys.getrefcount(buffer)
        with dodo.CachedRegion(path) as r:
            references = sys.getrefcount(r)
            for _ in range(1000):
                r.readinto(buffer)
                r.pwrite(buffer, 5)
                r.pread(10, 3)
                self.assertRaises(OSError, r.readinto, buffer, -1)
            self.assertEqual(sys.getrefcount(r), references)
        self.assertEqual(sys.getrefcount(buffer), held)
        buffer.extend(b"x")  # no view of it is left
        self.assertTrue(before is None or sys.gettotalrefcount() - before < 1000)
        types = sys.getrefcount(dodo.CachedRegion)
        for _ in range(100):
            dodo.CachedRegion(path, readonly=True).close()
        self.assertLess(sys.getrefcount(dodo.CachedRegion), types + 10)


class Module(case.Case):
    def test_stats__count(self):
        path, _ = self.make(100000)
        before = dodo.stats()
        with dodo.CachedRegion(path) as r:
            r.pread(1000, 0)
            r.pread(1000, 0)
            r.pwrite(b"x" * 500, 0)
            now = dodo.stats()
            self.assertEqual(now["regions"], before["regions"] + 1)
        self.assertEqual(now["writes"], before["writes"] + 1)
        self.assertEqual(now["write_bytes"], before["write_bytes"] + 500)
        reads = sum(now[k] - before[k] for k in ("local_bytes", "remote_bytes", "disk_bytes"))
        self.assertEqual(reads, 2000)

    def test_policy__by_name(self):
        for name in ["lru", "mru", "first-in", "s3-fifo", "sieve", "adaptive"]:
            dodo.set_policy(name)
        self.assertRaises(ValueError, dodo.set_policy, "random")
        self.refuses(errno.EINVAL, _dodo._set_policy, 999)

    def test_cache__is_set_before_its_first_use(self):
        with dodo.open(self.make(10)[0]):
            self.refuses(errno.EBUSY, dodo.set_cache, MIB)
            self.refuses(errno.EBUSY, dodo.set_cache, readahead=0)

    def test_version__is_the_library_s(self):
        self.assertRegex(dodo.__version__, r"^\d+\.\d+\.\d+$")

    def test_status__needs_the_command_and_a_manager(self):
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = str(self.dir)
        self.assertRaises(FileNotFoundError, dodo.status)
        tools = pathlib.Path(os.environ["DODO_BUILD"]) / "tools"
        if not (tools / "dodo").exists():
            self.skipTest("the command dodo is not built")
        os.environ["PATH"] = str(tools)
        error = self.refuses(errno.EIO, dodo.status)
        self.assertIn("DODO_MANAGER", error.strerror)
        self.refuses(errno.EIO, dodo.status, "127.0.0.1:1", timeout="1ms")

    def test_example__runs(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "manage.py"
        path, content = self.make(MIB)
        out = subprocess.run([sys.executable, "-W", "error", example, path], check=True,
                             capture_output=True, text=True)
        self.assertRegex(out.stdout, "^20000 reads: ")
        self.assertEqual((path.read_bytes(), out.stderr), (content, ""))

    def test_docs__programs_compile(self):
        page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
        programs = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
        self.assertEqual(len(programs), 3)
        for program in programs:
            compile(program, page, "exec")

    def test_types__are_those_of_the_module(self):
        package = pathlib.Path(dodo.__file__).parent
        self.assertTrue((package / "py.typed").exists())
        tree = ast.parse((package / "_dodo.pyi").read_text(encoding="utf-8"))
        told = {"Stat"}  # for the stub alone
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                told.add(node.name)
            elif isinstance(node, ast.AnnAssign):
                told.add(node.target.id)
        real = {name for name in vars(_dodo) if not name.startswith("__")}
        self.assertEqual(told, real | {"Stat"})
        for cls in [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name != "Stat"]:
            named = {n.name for n in cls.body if isinstance(n, ast.FunctionDef)}
            of_type = vars(getattr(_dodo, cls.name))
            inherited = vars(_dodo.Cached) if cls.name == "Remote" else {}
            found = {name for name in of_type
                     if not name.startswith("__") and name not in inherited}
            self.assertEqual(named - {"__init__"}, found)
        for name in dodo.__all__:
            self.assertTrue(inspect.getdoc(getattr(dodo, name)), name)


if __name__ == "__main__":
    case.run()

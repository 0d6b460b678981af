# SPDX-License-Identifier: MIT
"""The Python package with threads, with fork, and with multiprocessing."""
import gc
import hashlib
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import warnings

import case
import dodo

PIECE, PIECES = 10000, 40


def digest_of(at):
    """In a worker, which has opened its file."""
    return hashlib.sha256(worker_file.pread(PIECE, at * PIECE)).hexdigest()


def worker_begin(path):
    global worker_file
    worker_file = dodo.CachedRegion(path, readonly=True)


class Threads(case.Case):
    def test_threads__read_and_write_one_region(self):
        path, content = self.make(PIECE * PIECES)
        wrong = []

        def work(self_number, r):
            for i in range(200):
                at = (i * 7 + self_number) % PIECES
                if at % 4 == self_number:  # this thread's own
                    r.pwrite(content[at * PIECE:(at + 1) * PIECE], at * PIECE)
                if r.pread(PIECE, at * PIECE) != content[at * PIECE:(at + 1) * PIECE]:
                    wrong.append(at)

        with dodo.CachedRegion(path) as r:
            threads = [threading.Thread(target=work, args=(n, r)) for n in range(4)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(path.read_bytes(), content)

    def test_threads__close_beside_reads(self):
        """No read gets the bytes of another region that has got the descriptor's number."""
        paths = [self.make(5000, seed, f"file{seed}")[0] for seed in (1, 2)]
        contents = [path.read_bytes() for path in paths]
        current = [None]
        wrong, over = [], threading.Event()

        def work():
            buffer = bytearray(5000)
            while not over.is_set():
                which, r = current[0]
                try:
                    if r.readinto(buffer) != 5000 or buffer != contents[which]:
                        wrong.append(which)
                except ValueError:
                    pass  # closed
                except OSError as error:  # the library did not know the descriptor
                    wrong.append(error)

        def opened(which):
            return which, dodo.CachedRegion(paths[which], readonly=True)

        current[0] = opened(0)
        switch = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for i in range(1, 1500):
            old = current[0][1]
            current[0] = opened(i % 2)
            old.close()
        over.set()
        for t in threads:
            t.join()
        sys.setswitchinterval(switch)
        current[0][1].close()
        self.assertEqual(wrong, [])

    def test_threads__others_run_while_one_waits(self):
        """An open waits for a manager that does not answer, in a process that is not kept waiting."""
        path, _ = self.make(10)
        manager = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        manager.bind(("127.0.0.1", 0))
        config = self.dir / "dodo.conf"
        config.write_text("[client]\nrequest_deadline = 60s\n")
        program = """
import os, sys, threading, dodo
def work():
    try:
        dodo.Region(sys.argv[1])
    finally:
        os._exit(1)  # it has waited, and the other thread with it
threading.Thread(target=work, daemon=True).start()
sys.stdin.read(1)  # the datagram has come, so that the thread waits in the library
print("runs", flush=True)
os._exit(0)
"""
        env = dict(os.environ, DODO_CONFIG=str(config),
                   DODO_MANAGER="127.0.0.1:%d" % manager.getsockname()[1])
        with manager, subprocess.Popen([sys.executable, "-c", program, path], env=env, text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            manager.recv(2000)
            said, _ = child.communicate("x")
        self.assertEqual((said, child.returncode), ("runs\n", 0))


class Forks(case.Case):
    def in_child(self, function):
        """In a child of fork: its status, 0 if the function returned."""
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                function()
                status = 0
            except BaseException as error:  # all of it is the child's
                sys.stderr.write(f"in the child: {error!r}\n")
            finally:
                os._exit(status)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_fork__the_child_has_no_regions(self):
        path, content = self.make(1000)
        with dodo.CachedRegion(path) as r, dodo.open(self.make(10, name="other")[0]) as f:
            r.pwrite(b"parent", 0)

            def child():
                for call in [lambda: r.pread(1, 0), lambda: r.pwrite(b"x", 0), r.sync, f.read]:
                    try:
                        call()
                    except ValueError as error:
                        assert "fork" in str(error)
                    else:
                        raise AssertionError("it works")
                r.close()
                f.close()
                r.close()
                assert r.closed and f.closed

            self.assertEqual(self.in_child(child), 0)
            self.assertEqual(r.pread(10, 0), b"parent" + content[6:10])  # it is still the parent's
        self.assertEqual(path.read_bytes(), b"parent" + content[6:])

    def test_fork__the_child_opens_its_own(self):
        path, content = self.make(1000)
        path2, content2 = self.make(1000, 2, "other")
        inherited = dodo.CachedRegion(path, readonly=True)

        def child():
            with dodo.CachedRegion(path, readonly=True) as r, dodo.CachedRegion(path2) as w:
                assert r.pread(1000, 0) == content
                try:
                    inherited.pread(1, 0)  # whose number one of the two may have
                except ValueError:
                    pass
                else:
                    raise AssertionError("it works")
                inherited.close()
                assert r.pread(1000, 0) == content
                assert w.pwrite(b"child", 0) == 5

        self.assertEqual(self.in_child(child), 0)
        self.assertEqual(inherited.pread(1000, 0), content)
        inherited.close()
        self.assertEqual(path2.read_bytes(), b"child" + content2[5:])

    def test_fork__the_child_drops_them_in_silence(self):
        path, content = self.make(1000)
        held = [dodo.CachedRegion(path), dodo.open(self.make(10, name="other")[0])]
        held[0].pwrite(b"parent", 0)

        def child():
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sys.unraisablehook = lambda raised: os._exit(3)
                held.clear()
                gc.collect()

        self.assertEqual(self.in_child(child), 0)
        self.assertEqual(path.read_bytes(), content)  # the child has not written the parent's data
        for r in held:
            r.close()
        self.assertEqual(path.read_bytes(), b"parent" + content[6:])

    def test_fork__beside_calls_of_other_threads(self):
        path, content = self.make(PIECE * PIECES)
        over = threading.Event()

        def work():
            while not over.is_set():
                r.pread(PIECE * PIECES, 0)

        with dodo.CachedRegion(path, readonly=True) as r:
            threads = [threading.Thread(target=work) for _ in range(2)]
            for t in threads:
                t.start()

            def child():
                r.close()
                with dodo.CachedRegion(path, readonly=True) as own:
                    assert own.pread(PIECE * PIECES, 0) == content

            statuses = [self.in_child(child) for _ in range(20)]
            over.set()
            for t in threads:
                t.join()
        self.assertEqual(statuses, [0] * 20)

    def pool(self, method):
        path, content = self.make(PIECE * PIECES)
        wanted = [hashlib.sha256(content[i * PIECE:(i + 1) * PIECE]).hexdigest()
                  for i in range(PIECES)]
        with dodo.CachedRegion(path, readonly=True) as r:  # the parent uses it, too
            context = multiprocessing.get_context(method)
            with context.Pool(2, worker_begin, (str(path),)) as pool:
                result = pool.map(digest_of, range(PIECES))
                self.assertEqual(r.pread(PIECE, 0), content[:PIECE])
                pool.close()
                pool.join()
        self.assertEqual(result, wanted)

    def test_multiprocessing__fork(self):
        self.pool("fork")

    def test_multiprocessing__spawn(self):
        self.pool("spawn")

    def test_exit__writes_what_is_dirty(self):
        path, content = self.make(1000)
        program = "import dodo, sys; r = dodo.CachedRegion(sys.argv[1]); r.pwrite(b'late', 0); keep = [r]; keep.append(keep)"
        subprocess.run([sys.executable, "-W", "ignore", "-c", program, path], check=True)
        self.assertEqual(path.read_bytes(), b"late" + content[4:])


if __name__ == "__main__":
    case.run()

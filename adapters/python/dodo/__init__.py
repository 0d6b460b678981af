# SPDX-License-Identifier: MIT
"""Regions of files in local memory and in the idle memory of other hosts.

    import dodo

    with dodo.open("data.bin") as f:            # a raw file, read through the region cache
        header = f.read(4096)

    with dodo.CachedRegion("data.bin") as r:    # the same cache, by offset
        chunk = r.pread(1 << 20, 8192)
        r.readinto(array, 0)                    # any writable buffer, without another copy

    with dodo.Region("data.bin", fallback=True) as r:   # remote memory alone
        ...

The module gives up the interpreter's lock while a call waits, and every call may be made from any
thread. Errors are OSError, with the library's reason as their text. docs/python.md has the rest.
"""
from __future__ import annotations

import errno
import io
import json
import operator
import os
import subprocess
import warnings
from typing import TYPE_CHECKING, Any, Protocol, Union

from . import _dodo

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Optional

    from typing_extensions import Buffer, Self

__all__ = ["CachedRegion", "File", "Region", "open", "set_cache", "set_policy", "stats", "status"]

__version__: str = _dodo.version

_POLICIES = {
    "lru": _dodo.LRU,
    "mru": _dodo.MRU,
    "first-in": _dodo.FIRST_IN,
    "adaptive": _dodo.ADAPTIVE,
    "s3-fifo": _dodo.S3_FIFO,
    "sieve": _dodo.SIEVE,
}


class HasFileno(Protocol):
    """An open file."""

    def fileno(self) -> int: ...


FileLike = Union[int, str, bytes, "os.PathLike[str]", "os.PathLike[bytes]", HasFileno]


class _Opening:
    """The descriptor of what a region is made of: the caller's, or one of its own for a path."""

    def __init__(self, file: FileLike, writable: bool) -> None:
        self.own = isinstance(file, (str, bytes, os.PathLike))
        if isinstance(file, (str, bytes, os.PathLike)):
            self.fd = os.open(file, (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC)
        elif isinstance(file, int):
            self.fd = file
        elif hasattr(file, "fileno"):
            self.fd = file.fileno()
        else:
            raise TypeError(f"a path, a descriptor or an open file is wanted, not {file!r}")

    def __enter__(self) -> int:
        return self.fd

    def __exit__(self, *unused: object) -> None:
        if self.own:
            os.close(self.fd)


def _rest(fd: int, length: int | None, offset: int) -> int:
    """How long a region is: as given, or to the file's end, and never empty."""
    return max(os.fstat(fd).st_size - offset, 1) if length is None else length


class _With:
    """What Region and CachedRegion share in Python."""

    if TYPE_CHECKING:
        closed: bool
        length: int
        _flags: int
        _inherited: bool

        def close(self) -> None: ...

    @property
    def writable(self) -> bool:
        """Whether pwrite works."""
        return not self._flags & _dodo.RDONLY

    def __len__(self) -> int:
        return self.length

    def __enter__(self) -> Self:
        if self.closed:
            raise ValueError("I/O operation on a closed region")
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"{self.length} bytes"
        return f"<dodo.{type(self).__name__} {state} at {id(self):#x}>"

    def __del__(self, _warn: Any = warnings.warn) -> None:
        if self.closed or self._inherited:
            return
        _warn(f"unclosed {self!r}", ResourceWarning, stacklevel=2, source=self)
        self.close()


class Region(_With, _dodo.Remote):
    """A region of remote memory: dodo_mopen(3).

    `file` is a path, an open file or a descriptor, which the region does not keep. Without remote
    memory the constructor raises OSError with ENOMEM, and so do reads once its host is lost:
    read the file then; with `fallback` the region does that by itself.
    """

    def __init__(self, file: FileLike, length: int | None = None, offset: int = 0, *,
                 readonly: bool = False, retain: bool = False, fallback: bool = False,
                 stripe: bool = False, mirror: bool = False) -> None:
        flags = (readonly * _dodo.RDONLY | retain * _dodo.RETAIN | fallback * _dodo.FALLBACK
                 | stripe * _dodo.STRIPE | mirror * _dodo.MIRROR)
        with _Opening(file, not readonly) as fd:
            super().__init__(fd, _rest(fd, length, offset), offset, flags)


class CachedRegion(_With, _dodo.Cached):
    """A region of the cache in local memory, with remote memory behind it: dodo_copen(3).

    Works without a cluster too. What pwrite took is in the file after sync() or close(), or after
    each pwrite() with `write_through`. A close() that raises has lost nothing: the region is still
    open, with its data; fix the file, and close it again.
    """

    def __init__(self, file: FileLike, length: int | None = None, offset: int = 0, *,
                 readonly: bool = False, retain: bool = False, stripe: bool = False,
                 mirror: bool = False, write_through: bool = False) -> None:
        flags = (readonly * _dodo.RDONLY | retain * _dodo.RETAIN | stripe * _dodo.STRIPE
                 | mirror * _dodo.MIRROR | write_through * _dodo.WRITE_THROUGH)
        with _Opening(file, not readonly) as fd:
            super().__init__(fd, _rest(fd, length, offset), offset, flags)


class File(io.RawIOBase):
    """A file that is read and written through a CachedRegion: see open()."""

    def __init__(self, file: FileLike, mode: str = "rb", *, length: int | None = None,
                 retain: bool = False, stripe: bool = False, mirror: bool = False,
                 write_through: bool = False) -> None:
        if mode not in ("rb", "r+b", "rb+"):
            raise ValueError(f"mode is 'rb' or 'r+b', not {mode!r}")
        self.name = file
        self.mode = "rb" if mode == "rb" else "r+b"
        self._position = 0
        with _Opening(file, mode != "rb") as fd:
            size = os.fstat(fd).st_size
            self.region = CachedRegion(fd, length, readonly=mode == "rb", retain=retain,
                                       stripe=stripe, mirror=mirror, write_through=write_through)
        self._size = min(size, self.region.length)

    # -- what it can ------------------------------------------------------------------------------

    def readable(self) -> bool:
        self._check()
        return True

    def writable(self) -> bool:
        self._check()
        return self.region.writable

    def seekable(self) -> bool:
        self._check()
        return True

    def _check(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on closed file")

    # -- the position -----------------------------------------------------------------------------

    def tell(self) -> int:
        self._check()
        return self._position

    def seek(self, offset: int, origin: int = os.SEEK_SET, /) -> int:
        self._check()
        offset = operator.index(offset)
        starts = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self._size}
        if origin not in starts:
            raise ValueError(f"seek counts from 0, 1 or 2, not {origin!r}")
        if starts[origin] + offset < 0:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._position = starts[origin] + offset
        return self._position

    # -- data -------------------------------------------------------------------------------------

    def _advance(self, n: int) -> None:
        """So many bytes are there, whatever the file had when it was opened."""
        self._position += n
        if n > 0:
            self._size = max(self._size, self._position)

    def readinto(self, buffer: Buffer, /) -> int:
        self._check()
        if self._position > self.region.length:
            return 0
        n = self.region.readinto(buffer, self._position)
        self._advance(n)
        return n

    def read(self, size: int | None = -1, /) -> bytes:
        self._check()
        if size is None or size < 0:
            return self.readall()
        data = b""
        if self._position < self.region.length:
            data = self.region.pread(size, self._position)
        self._advance(len(data))
        return data

    def readall(self) -> bytes:
        self._check()
        parts = []
        part = self.read(max(self._size - self._position, io.DEFAULT_BUFFER_SIZE))
        while part:  # the file may have become longer
            parts.append(part)
            part = self.read(io.DEFAULT_BUFFER_SIZE)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, data: Buffer, /) -> int:
        self._check()
        if not self.region.writable:
            raise io.UnsupportedOperation("not writable")
        wanted = memoryview(data).nbytes
        n = 0
        if self._position < self.region.length:
            n = self.region.pwrite(data, self._position)
        if n == 0 and wanted > 0:  # nothing beyond the region's end can be written
            raise OSError(errno.EFBIG, "the region ends here: open the file with a larger length")
        self._advance(n)
        return n

    def sync(self) -> None:
        """Waits until what was written is on the disk."""
        self._check()
        self.region.sync()

    # -- the end ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Writes back and closes. If that raises, the file is still open, with its data."""
        region = getattr(self, "region", None)  # none if it was never opened
        if region is not None:
            region.close()
        super().close()

    def __reduce__(self) -> str:
        """A copy would close the region that it shares with the original."""
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.mode
        return f"<dodo.File name={getattr(self, 'name', None)!r} {state}>"

    def _dealloc_warn(self, source: object, _warn: Any = warnings.warn) -> None:
        """What the buffered classes of io call when nobody has closed them."""
        region = getattr(self, "region", None)
        if region is not None and not region.closed and not region._inherited:
            _warn(f"unclosed file {source!r}", ResourceWarning, stacklevel=2, source=source)

    def __del__(self) -> None:
        self._dealloc_warn(self)
        self.close()


def open(file: FileLike, mode: str = "rb", *, length: int | None = None, retain: bool = False,
         stripe: bool = False, mirror: bool = False, write_through: bool = False) -> File:
    """Opens a file as an unbuffered binary file object that goes through the region cache.

    `mode` is "rb" or "r+b". Wrap it in io.BufferedReader or io.BufferedRandom for small reads and
    lines. `length` is how far it can be read and written, by default what the file has now.
    """
    return File(file, mode, length=length, retain=retain, stripe=stripe, mirror=mirror,
                write_through=write_through)


def stats() -> dict[str, int]:
    """What the region cache has done since the program started: dodo_manage_stats(3)."""
    return _dodo.stats()


def set_cache(limit: int | None = None, readahead: int | None = None) -> None:
    """Sets how much the cache holds, and how much of it may be read ahead, in bytes.

    Before the first region of the cache is opened; afterwards it raises OSError with EBUSY.
    """
    if limit is not None:
        _dodo._set(_dodo.CACHE_BYTES, limit)
    if readahead is not None:
        _dodo._set(_dodo.READAHEAD_BYTES, readahead)


def set_policy(name: str) -> None:
    """Chooses the replacement policy: lru, mru, first-in, adaptive, s3-fifo or sieve."""
    if name not in _POLICIES:
        raise ValueError(f"no policy {name!r}: there are {', '.join(_POLICIES)}")
    _dodo._set_policy(_POLICIES[name])


def status(manager: str | None = None, *, timeout: str | None = None) -> dict[str, Any]:
    """The cluster as its manager sees it: what `dodo status --json` prints.

    Runs the command dodo, which reads the same settings as the library. FileNotFoundError where it
    is not installed; OSError with its message when it fails.
    """
    command = ["dodo", "status", "--json"]
    command += [] if manager is None else ["--manager", manager]
    command += [] if timeout is None else ["--timeout", timeout]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(errno.EIO, done.stderr.strip() or f"dodo ended with {done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout)
    return result

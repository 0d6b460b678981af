# SPDX-License-Identifier: MIT
from typing import TypedDict

from typing_extensions import Buffer

RDONLY: int
RETAIN: int
FALLBACK: int
STRIPE: int
MIRROR: int
WRITE_THROUGH: int
CACHE_BYTES: int
READAHEAD_BYTES: int
LRU: int
MRU: int
FIRST_IN: int
ADAPTIVE: int
S3_FIFO: int
SIEVE: int
version: str

class Stat(TypedDict):
    host: str
    length: int
    filled_bytes: int
    hits: int
    misses: int
    written: int
    active: bool
    reused: bool
    copies: int
    mirrored_bytes: int

class Cached:
    def __init__(self, fd: int, length: int, offset: int, flags: int, /) -> None: ...
    @property
    def closed(self) -> bool: ...
    @property
    def length(self) -> int: ...
    @property
    def _flags(self) -> int: ...
    @property
    def _inherited(self) -> bool: ...
    def pread(self, n: int, offset: int, /) -> bytes: ...
    def readinto(self, buffer: Buffer, offset: int = 0, /) -> int: ...
    def pwrite(self, data: Buffer, offset: int, /) -> int: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...

class Remote(Cached):
    def prefetch(self, offset: int, n: int, /) -> None: ...
    def stat(self) -> Stat: ...

def stats() -> dict[str, int]: ...
def _set(option: int, value: int, /) -> None: ...
def _set_policy(policy: int, /) -> None: ...

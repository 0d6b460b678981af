#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A program that runs once more reads in the order of its first run: what it needs next is in its cache before it asks
# for it. The file is on a disk that takes 2 ms for each place; there is no cluster. The program does nothing but read: so
# it reads about every second piece itself, while the disk is busy with the one before.
. "$(dirname "$0")/lib.sh"

[ -w /dev/fuse ] || {
  echo "SKIP: /dev/fuse cannot be used here"
  exit 77
}
reads=400
mkdir "$work/data" "$work/disk"
head -c $((4 << 20)) /dev/urandom >"$work/data/large"
# reader.py FILE SEED COUNT [cached]: so many reads of 4 KiB at places that the seed gives, each once. What the kernel has
# is forgotten before; cached: they begin when the file is seen through the cache.
cat >"$work/reader.py" <<'END'
import ctypes, hashlib, os, random, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
until = time.monotonic() + 100
while sys.argv[4:] == ["cached"] and not ctypes.CDLL(None).dodo_preload_holds(fd):
    os.pread(fd, 4096, 4096)
    if time.monotonic() > until:
        sys.exit("it is not cached")
order = list(range(0, os.fstat(fd).st_size, 8192))
random.Random(int(sys.argv[2])).shuffle(order)
digest = hashlib.sha256()
for at in order[: int(sys.argv[3])]:
    digest.update(os.pread(fd, 4096, at))
print(digest.hexdigest())
END

if ! hosts_switch || ! host_add client --mount; then fail "there can be no host with mounts of its own"; fi
proc_start disk client "$DODO_BUILD/tools/diskfs/diskfs" --position 2ms --bandwidth 200000000 "$work/data" "$work/disk"
must "the disk is there" grep -qs ready "$work/disk.log"
config

# run SEED: sets used: pieces that were read ahead, and then asked for.
run() {
  local wanted
  on client env DODO_STATS=1 DODO_PRELOAD_EAGER=1 "$bin_dodo" run --how preload --dir "$work/disk" --min-size 1M --local \
    --cache-size 1M "$(type -P python3)" "$work/reader.py" "$work/disk/large" "$1" "$reads" cached >"$work/out" \
    2>"$work/run.log" || fail "the program ended with status $?"
  wanted=$(python3 "$work/reader.py" "$work/data/large" "$1" "$reads")
  [ "$wanted" = "$(cat "$work/out")" ] || fail "the program read something else"
  used=$(sed -n 's/.* readahead_used=\([0-9]*\).*/\1/p' "$work/run.log")
  told "seed $1: $used of $reads reads found their piece there"
}

run 1
[ "$used" -le $((reads / 8)) ] || fail "a first run knows what it will read"
run 1
[ "$used" -ge $((reads / 4)) ] || fail "too little of a run like the first one was there in time"
run 2
[ "$used" -le $((reads / 8)) ] || fail "another run was taken for the first one"
run 2
[ "$used" -ge $((reads / 4)) ] || fail "too little of a run like the latest one was there in time"

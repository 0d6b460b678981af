#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo mount and dodo run, over a cluster whose hosts die: every byte that is read was in the file during the
# call, no matter who writes it; calls give what they give without the mount; what has been read once comes
# from remote memory; and both end cleanly. By hand: TRUTH_READS=1000000.
. "$(dirname "$0")/lib.sh"
[ -z "${TRUTH_READS-}" ] || patience=3600

[ -w /dev/fuse ] || {
  echo "SKIP: /dev/fuse cannot be used here"
  exit 77
}
cluster 2
src=$work/src mnt=$work/mnt
mkdir "$src" "$mnt"

# mount_up OPTION...: $src at $mnt, on the client.
mount_up() {
  rm -f "$work/mount.out"
  proc_start mount client "$bin_dodo" mount "$@" "$src" "$mnt"
  until_true "${proc_pid[mount]}" grep -qs "ready at" "$work/mount.out"
}
mount_down() {
  proc_signal mount TERM
  proc_wait mount || fail "dodo mount ended with status $?"
  ! mountpoint -q "$mnt" || fail "$mnt is still mounted"
}
# stores_go_on: a store through a mapping is read through the mount at once, a hundred times.
stores_go_on() {
  on client "$DODO_BUILD/tests/net/truth" "$src/four" "$mnt/four" 0
}
# served BYTES: hosts have given as much to the client.
served() { status_is client "sum(h['bytes_out'] for h in s['hosts']) > $1"; }

# ---- truth and sameness, while hosts die -------------------------------------------------------

reads=${TRUTH_READS:-100000}
mount_up --min-size 1M --cache-size 4M
on client "$DODO_BUILD/tests/net/truth" "$src/file" "$mnt/file" "$reads" >"$work/truth.log" 2>&1 &
truth=$!
# Beside it, by `dodo run`, with a writer that has another mount namespace, and sees no mount.
mkdir "$work/run"
on client unshare --mount "$DODO_BUILD/tests/net/truth-writer" "$work/run/file" "$work/shared" >"$work/writer.log" 2>&1 &
writer=$!
must "another program writes" grep -qs writes "$work/writer.log"
on client "$bin_dodo" run --how mount --dir "$work/run" --stats --min-size 1M --cache-size 4M \
  "$DODO_BUILD/tests/net/truth" "$work/run/file" "$work/run/file" "${TRUTH_READS:-15000}" "$work/shared" >"$work/run.log" 2>&1 &
run=$!
for ((n = 0; n < ${TRUTH_READS:-100}; n++)); do
  [ "$n" -lt 4 ] || kill -0 "$truth" 2>/dev/null || kill -0 "$run" 2>/dev/null || break
  i=$((n % 2 + 1))
  proc_kill "imd$i"
  imd_up "$i"
  must "host $i lends again" imd_idle "$i"
done
wait "$truth" || fail "a read was not true: $(cat "$work/truth.log")"
wait "$run" || fail "a read by dodo run was not true: $(cat "$work/run.log")"
wait "$writer" || fail "the writer: $(cat "$work/writer.log")"
cat "$work/truth.log" "$work/run.log"
mount_down

# As on a kernel that serves no opening itself.
mount_up --min-size 1M --cache-size 4M --no-passthrough
on client "$DODO_BUILD/tests/net/truth" "$src/file" "$mnt/file" "$((reads / 5))" >"$work/truth.log" 2>&1 ||
  fail "a read was not true, without passthrough: $(cat "$work/truth.log")"
mount_down

# Files of another user, for which there is no lease, many at once and with few descriptors, where the kernel opens no
# file by its number: their sizes are asked for by their names, whose lookups wait for room.
mkdir "$src/others"
(cd "$src/others" && for i in $(seq 600); do echo "$i" >"$i"; done)
chown -R 4242 "$src/others" 2>/dev/null || true # not without root: then nothing is asked for
cat >"$work/readers.py" <<'END'
import os, sys, threading
def read(number):
    for i in range(60):
        path = f"{sys.argv[1]}/{(number * 7 + i) % 600 + 1}"
        fd = os.open(path, os.O_RDONLY)
        os.pread(fd, 100, 0)
        os.stat(path)
        os.fstat(fd)
        os.close(fd)
readers = [threading.Thread(target=read, args=(number,)) for number in range(24)]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
print("over")
END
rm -f "$work/mount.out"
# shellcheck disable=SC2016 # for the inner shell
proc_start mount client setpriv --bounding-set -dac_read_search,-lease sh -c 'ulimit -n 512 && exec "$@"' sh \
  "$bin_dodo" mount --no-passthrough "$src" "$mnt"
until_true "${proc_pid[mount]}" grep -qs "ready at" "$work/mount.out"
on client ls -l "$mnt/others" >/dev/null || fail "with few descriptors, a directory cannot be listed"
proc_start readers client python3 "$work/readers.py" "$mnt/others"
must "many read at once, with few descriptors" grep -qs over "$work/readers.out"
# Their sizes are asked for while they are open, and nothing stays of that when the last one has closed them.
cat >"$work/lookers.py" <<'END'
import os, sys, threading
def path(i):
    return f"{sys.argv[1]}/{int(sys.argv[2]) + i % 10}"
def use(number):
    for i in range(200):
        fd = os.open(path(number + i), os.O_RDONLY)
        os.pread(fd, 100, 0)
        os.close(fd)
def look(number):
    while any(user.is_alive() for user in users):
        for i in range(10):
            os.stat(path(number + i))
users = [threading.Thread(target=use, args=(number,)) for number in range(4)]
lookers = [threading.Thread(target=look, args=(number,)) for number in range(12)]
for thread in users + lookers:
    thread.start()
for thread in users + lookers:
    thread.join()
END
for first in 10 20 30; do
  on client python3 "$work/lookers.py" "$mnt/others" "$first" ||
    fail "with few descriptors, files cannot be used and looked at"
done
# A file that has lost its name before anybody asked for its size, and still grows, and is cut.
cat >"$work/nameless.py" <<'END'
import os, sys
source, mount = sys.argv[1:]
with open(source + "/nameless", "wb", buffering=0) as writer:
    writer.write(bytes(5000))
    reader = os.open(mount + "/nameless", os.O_RDONLY)
    assert len(os.pread(reader, 1 << 20, 0)) == 5000
    os.unlink(source + "/nameless")
    for size in 6000, 8192, 8193, 8193, 100000, 4097, 4096, 1, 0, 5000:
        content = bytes([size % 251]) * size
        os.pwrite(writer.fileno(), content, 0)
        os.ftruncate(writer.fileno(), size)
        got = os.pread(reader, 1 << 20, 0)
        assert got == content, f"{len(got)} bytes were read, not {size}"
        assert os.fstat(reader).st_size == size
    os.close(reader)
END
on client python3 "$work/nameless.py" "$src/others" "$mnt/others" || fail "a file without a name has another size"
umount "$mnt" || fail "$mnt is busy, though nobody uses it"
proc_wait mount || fail "dodo mount that was unmounted ended with status $?"
rm -rf "$src/others"
told "many threads and few descriptors are no trouble"

# The kernel gives processes of other PID namespaces the number 0. Beside a /proc that is not of its namespace, the
# leak sanitizer does not find the threads, and takes what they hold for lost.
rm -f "$work/mount.out"
proc_start mount client env ASAN_OPTIONS="${ASAN_OPTIONS-}:detect_leaks=0" unshare --pid --fork "$bin_dodo" mount --min-size 1M "$src" "$mnt"
until_true "${proc_pid[mount]}" grep -qs "ready at" "$work/mount.out"
on client "$DODO_BUILD/tests/net/truth" "$src/file" "$mnt/file" 0 || fail "a read from another PID namespace was not true"
kill -TERM "$(pgrep -P "${proc_pid[mount]}")"
proc_wait mount || fail "dodo mount ended with status $?"

# busy_up: a mount, and three programs that make it drop pages and ask for sizes all the time.
busy_up() {
  local file
  mount_up --min-size 1M
  users=()
  for file in one two three; do
    rm -f "$work/$file.out" # of an earlier one, which says that it reads
    on client "$DODO_BUILD/tests/net/truth" "$src/$file" "$mnt/$file" stores >"$work/$file.out" &
    users+=($!)
  done
  for file in one two three; do
    must "$file is read" grep -qs reads "$work/$file.out"
  done
}
# users_end: the mount has ended, and so do they.
users_end() {
  local user
  for user in "${users[@]}"; do
    wait "$user" || fail "a user of a mount that has ended, ended with status $?"
  done
  rm "$src"/*
}

# Its dodo-mirror processes end with it, one after the other, and may stand in it until then.
unmounted() { umount "$mnt" 2>/dev/null; }
for i in 1 2 3 4 5 6; do
  busy_up
  proc_kill mount
  ! on client "$bin_dodo" mount "$src" "$mnt" 2>"$work/stale" || fail "a mount on one that was killed"
  grep -q "$mnt: Transport endpoint is not connected" "$work/stale" || fail "on one that was killed: $(cat "$work/stale")"
  users_end
  wait_for "$patience" unmounted || fail "$mnt is busy, though nobody uses it"
done
told "a mount that was killed left nobody waiting"

for i in 1 2 3 4; do
  busy_up
  mount_down
  users_end
done
busy_up
kill -USR1 "${proc_pid[mount]}" # which it uses itself, between its threads
mapfile -t mirrors < <(pgrep -P "${proc_pid[mount]}")
mapfile -t others < <(pgrep -P "${mirrors[0]}") # which it started, as it was asked
[ "${#mirrors[@]} ${#others[@]}" = "1 3" ] || fail "there are ${#mirrors[@]} and ${#others[@]} processes that ask"
for mirror in "${others[@]}"; do
  kill -KILL "$mirror"
done
must "the last of its processes asks" stores_go_on
kill -KILL "${mirrors[0]}"
proc_wait mount || fail "dodo mount ended with status $? when all of its processes were killed"
users_end
told "a mount ends on request while it is busy"

# Over the directory itself, however that is written: nothing of the way there is looked up through the mount before it
# answers.
mnt_of_others=$mnt mnt=$src/.
echo itself >"$src/itself"
mount_up
[ "$(on client cat "$src/itself")" = itself ] || fail "a mount over the directory itself shows something else"
mount_down
mnt=$mnt_of_others
rm "$src/itself"
told "a mount over the directory itself starts and ends"

# So it does when somebody unmounts it.
mount_up
umount "$mnt"
proc_wait mount || fail "dodo mount that was unmounted ended with status $?"

mkdir "$work/plain"
for seed in 1 2 3 4 5 6; do
  options=(--min-size 4K)
  ((seed % 2)) || options+=(--no-passthrough)
  mount_up "${options[@]}"
  on client timeout "$patience" "$DODO_BUILD/tests/net/same" "$src" "$mnt" "$work/plain" "$seed" 5000 ||
    fail "seed $seed: the mount differs from a plain directory"
  mount_down
  rm -rf "$src" "$work/plain"
  mkdir "$src" "$work/plain"
done

# ---- a writer that did not come ----------------------------------------------------------------

# A running program cannot be opened for writing. It is cached all the same when it is read after that.
cp "$(command -v sleep)" "$src/busy"
truncate -s 2M "$src/busy"
proc_start busy client "$src/busy" 1000
runs_busy() { [ "$(readlink "/proc/${proc_pid[busy]}/exe")" = "$src/busy" ]; }
must "a program runs" runs_busy
mount_up --min-size 1M
# shellcheck disable=SC2016 # for the inner shell
on client sh -c ': >>"$0"' "$mnt/busy" 2>/dev/null && fail "a program that runs was opened for writing"
on client cmp "$src/busy" "$mnt/busy" || fail "it reads as another"
must "what could not be opened for writing is cached" \
  grep -qs "region_opened .*inode=$(stat -c %i "$src/busy") " "$work/mount.log"
mount_down
proc_kill busy

# ---- the benchmark's own check of what it reads --------------------------------------------------

mount_up
on client "$DODO_BUILD/bench/mount-cost" "$src" "$mnt" >"$work/cost.json" || fail "the benchmark saw a wrong byte"
mount_down
python3 -c 'import json, sys
cost = json.load(sys.stdin)
assert cost.pop("wrong") == 0
assert len(cost) == 7 and all(0 < c["median_us"] <= c["p99_us"] <= c["max_us"] for c in cost.values()), cost' \
  <"$work/cost.json" || fail "what the benchmark printed"

# ---- a program that knows nothing --------------------------------------------------------------

head -c $((3 << 20)) /dev/urandom >"$src/data"
sum=$(sha256sum <"$src/data")
[ "$(on client "$bin_dodo" run --how mount --min-size 1M cat "$src/data" | sha256sum)" = "$sum" ] ||
  fail "dodo run cat gives other bytes"
status=0
on client "$bin_dodo" run --how mount --dir "$src" sh -c 'exit 7' || status=$?
[ "$status" -eq 7 ] || fail "dodo run exits with $status, not as its program"
on client "$bin_dodo" run --how mount --dir "$src" mountpoint -q "$src" || fail "the program does not see the mount"
! mountpoint -q "$src" || fail "others see the program's mount"
told "dodo run runs programs as they are"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo run by a mount says what it would do and what it did, and adds nothing to a program that is run without these options.
. "$(dirname "$0")/lib.sh"

[ -w /dev/fuse ] || {
  echo "SKIP: /dev/fuse cannot be used here"
  exit 77
}
config
mkdir "$work/data"
head -c $((3 << 20)) /dev/urandom >"$work/data/large"

# check STATUS WORDS ARGUMENT...: what --check says has the words, and it exits so.
check() {
  local wanted=$1 words=$2 status=0
  shift 2
  "$bin_dodo" run --how mount --check "$@" >"$work/check" 2>"$work/check.log" || status=$?
  [ "$status" -eq "$wanted" ] || fail "dodo run --check $*: status $status: $(cat "$work/check" "$work/check.log")"
  grep -q -- "$words" "$work/check" || fail "dodo run --check $*: \"$words\" is not in: $(cat "$work/check")"
}

# ---- what it would do --------------------------------------------------------------------------

true=$(type -P true)
check 0 "^yes: $true would run in a mount namespace" --min-size 1M true "$work/data/large"
check 0 "^through the cache: $work/data$" --min-size 1M true "$work/data/large"
check 0 "^below these, FIFOs and sockets do not reach programs outside" --dir "$work/data" true
check 0 "linked dynamically" --dir "$work/data" true
check 0 "^read(2) and the like, which --how preload serves: imported by cat" --dir "$work/data" cat
check 0 "user namespace" --how user-namespace --dir "$work/data" true
! mountpoint -q "$work/data" || fail "--check leaves a mount behind"
if printf 'int main(void) { return 0; }' | cc -static -x c -o "$work/static" - 2>/dev/null; then
  check 0 "linked statically" --dir "$work/data" "$work/static"
fi
check 1 "^no: .*nothing-there: No such file" "$work/nothing-there"
check 1 "^no: .*Permission denied" "$work/data/large"
printf '#!%s/nowhere\n' "$work" >"$work/script"
chmod +x "$work/script"
check 1 "^no: $work/nowhere: No such file" "$work/script"
cp "$true" "$work/other"
if chown 1:1 "$work/other" 2>/dev/null; then
  chmod 4755 "$work/other"
  check 0 "^yes" --how namespace --dir "$work/data" "$work/other"
  check 1 "^no: $work/other is set-user-ID.*dodo mount" --how user-namespace --dir "$work/data" "$work/other"
fi
told "it says what it would do"

# ---- what it did -------------------------------------------------------------------------------

# ran ARGUMENT...: dodo run with these; its output in $work/out, what it says itself in $work/said.
ran() { "$bin_dodo" run --how mount "$@" >"$work/out" 2>"$work/said"; }
# says WORDS: a line of it has them.
says() { grep -q -- "$1" "$work/said" || fail "\"$1\" is not in: $(cat "$work/said")"; }

large=$work/data/large
size=$(stat -c %s "$large")
ran --min-size 1M cat "$large"
[ ! -s "$work/said" ] || fail "without options it says: $(cat "$work/said")"
cmp -s "$work/out" "$large" || fail "it gives other bytes"
ran --min-size 1M --stats cat "$large"
cmp -s "$work/out" "$large" || fail "with --stats it gives other bytes"
[ "$(wc -l <"$work/said")" -eq 1 ] || fail "--stats says more than a line: $(cat "$work/said")"
says '^dodo run: the program took [0-9.a-z]*; 3 MiB read through the mount in [1-9][0-9]* reads'
says ' 0 B of files that are not cached (0 reads)$'
status=0
ran --stats --verbose --dir "$work/data" sh -c 'exit 7' || status=$?
[ "$status" -eq 7 ] || fail "dodo run --stats exits with $status, not as its program"
status=0
# shellcheck disable=SC2016 # another shell expands them
ran --stats --dir "$work/data" sh -c 'kill -TERM $$' || status=$?
[ "$status" -eq 143 ] || fail "dodo run --stats ends with $status, not by its program's signal"
says ' 0 B read through the mount in 0 reads.*; no file was cached: --verbose says why$'

# Standard descriptors that are closed are so in the program, and in nobody's way.
# shellcheck disable=SC2016 # another shell expands them
for closed in '0<&-' '1>&-' '2>&-' '0<&- 1>&- 2>&-'; do
  status=0
  timeout "$patience" sh -c '"$0" run --how mount --dir "$1" sh -c "[ ! -e /proc/self/fd/$2 ] && exit 7" '"$closed" \
    "$bin_dodo" "$work/data" "${closed::1}" || status=$?
  [ "$status" -eq 7 ] || fail "with $closed dodo run ends with status $status"
done

# Where no path leads to the working directory, the program is there all the same, and not in another one.
mkdir "$work/gone"
(cd "$work/gone" && rmdir "$work/gone" && timeout "$patience" "$bin_dodo" run --how mount --dir "$work/data" \
  readlink /proc/self/cwd) >"$work/out" 2>&1 || fail "in a removed directory it ends with status $?"
[ "$(cat "$work/out")" = "$work/gone (deleted)" ] || fail "from a removed directory the program is in $(cat "$work/out")"

# Also where SIGCHLD is ignored, which the program finds so, too.
status=0
timeout "$patience" env --ignore-signal=CHLD "$bin_dodo" run --how mount --dir "$work/data" \
  env --list-signal-handling sh -c 'exit 7' 2>"$work/signals" || status=$?
[ "$status" -eq 7 ] || fail "with SIGCHLD ignored dodo run ends with status $status"
grep -q '^CHLD.*IGNORE' "$work/signals" || fail "the program does not find SIGCHLD ignored: $(cat "$work/signals")"

# A program that a signal ended is no success where that signal is blocked, or ends no first process of a PID namespace.
cat >"$work/blocked.py" <<'END'
import os, signal, subprocess, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
die = "import os, signal as s; s.pthread_sigmask(s.SIG_UNBLOCK, [s.SIGTERM]); os.kill(os.getpid(), s.SIGTERM)"
sys.exit(subprocess.call(sys.argv[1:] + [sys.executable, "-c", die]) != -signal.SIGTERM)
END
timeout "$patience" python3 "$work/blocked.py" "$bin_dodo" run --how mount --stats --dir "$work/data" 2>"$work/said" ||
  fail "a blocked signal does not end dodo run: $(cat "$work/said")"
apart=(unshare --pid --fork)
"${apart[@]}" true 2>/dev/null || apart+=(--map-root-user)
status=0
# shellcheck disable=SC2016 # another shell expands them
timeout "$patience" "${apart[@]}" --mount-proc "$bin_dodo" run --how mount --stats --dir "$work/data" sh -c 'kill -TERM $$' \
  2>"$work/said" || status=$?
[ "$status" -eq 143 ] || fail "the first process ends with $status: $(cat "$work/said")"

# A signal ends the program, sooner or later in its start.
python3 - "$bin_dodo" "$work/data" <<'END' || fail "a signal is lost"
import signal, subprocess, sys, time
for i in range(80):
    number = [signal.SIGTERM, signal.SIGINT][i % 2]
    program = subprocess.Popen([sys.argv[1], "run", "--how", "mount", "--dir", sys.argv[2], "sleep", "20"])
    until = time.monotonic() + i * 0.0003
    while time.monotonic() < until:
        pass
    program.send_signal(number)
    if program.wait() != -number:
        sys.exit(f"round {i}: dodo run ends with {program.returncode}")
END

# In a terminal it is stopped when its program is, and not when that one does not care; and goes on with it.
timeout "$patience" python3 - "$bin_dodo" run --how mount --stats --dir "$work/data" <<'END' || fail "job control"
import os, pty, signal, sys
program = """
import os, signal, sys
signal.signal(signal.SIGTSTP, lambda *unused: print("does not care", flush=True))
print("ready", flush=True)
sys.stdin.readline()
signal.signal(signal.SIGTSTP, signal.SIG_DFL)
print("suspends itself", flush=True)
os.kill(os.getpid(), signal.SIGTSTP)
print("goes on", flush=True)
sys.stdin.readline()
os._exit(7)
"""
pid, terminal = pty.fork()
if pid == 0: # a shell: the job is a process group of its own
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.tcsetpgrp(0, os.getpid())
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        os.execv(sys.argv[1], sys.argv[1:] + [sys.executable, "-c", program])
    for wanted in signal.SIGTSTP, None:
        status = os.waitpid(job, os.WUNTRACED)[1]
        if wanted is None:
            break
        if not os.WIFSTOPPED(status) or os.WSTOPSIG(status) != wanted:
            os._exit(100)
        print("stopped", flush=True)
        os.killpg(job, signal.SIGCONT)
    os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 101)
said = b""
def until(words):
    global said
    while words not in said:
        said += os.read(terminal, 1000)
until(b"ready")
os.write(terminal, b"\x1a") # Ctrl-Z
until(b"does not care")
os.write(terminal, b"one\n")
until(b"goes on")
if said.count(b"stopped") != 1 or said.index(b"stopped") < said.index(b"suspends"):
    sys.exit(f"it said {said}")
os.write(terminal, b"two\n")
try:
    while os.read(terminal, 1000):
        pass
except OSError:
    pass # its end
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(0 if status == 7 else f"it ends with {status}")
END
told "it stops as its program"

# Each file says whether it was cached, or why not.
echo some >"$work/data/small"
cp "$large" "$work/data/never"
cp "$large" "$work/data/writer"
cp "$large" "$work/data/own"
exec {writer}>>"$work/data/writer"
# shellcheck disable=SC2016 # another shell expands them
ran --verbose --min-size 1M --never never --dir "$work/data" sh -c \
  'cd "$0" && cat large small never writer && exec 3>>own && cat own' "$work/data"
exec {writer}>&-
says "^dodo run: through the cache: $work/data$"
says "^dodo run: $large: cached, 3 MiB read$"
says "^dodo run: $work/data/small: not cached\(, 5 B read\|\): it is smaller than --min-size$"
says "^dodo run: $work/data/never: not cached\(, [0-9.]* MiB read\|\): --only or --never leaves it out$"
says "^dodo run: $work/data/writer: not cached, [0-9.]* MiB read: somebody had it open for writing"
says "^dodo run: $work/data/own: not cached\(, [0-9.]* MiB read\|\): it was open for writing through the mount"
cp "$large" "$work/data/theirs"
if chown 1:1 "$work/data/theirs" 2>/dev/null; then
  ran --verbose --min-size 1M --how user-namespace cat "$work/data/theirs"
  says "theirs: not cached, [0-9.]* MiB read: it is another user's"
fi

# Several mounts are one sum.
mkdir "$work/more"
cp "$large" "$work/more/large"
ran --stats --min-size 1M cat "$large" "$work/more/large"
says ' 6 MiB read through the mount in '
[ "$(stat -c %s "$work/out")" -eq $((2 * size)) ] || fail "two mounts give other bytes"
told "it says what it did"

# A mount alone appends to the file that it was given.
mkdir "$work/mnt"
echo before >"$work/report"
proc_start mount here "$bin_dodo" mount --min-size 1M --report "$work/report" "$work/data" "$work/mnt"
until_true "${proc_pid[mount]}" grep -qs "ready at" "$work/mount.out"
# Past the kernel's pages: of those it may give some away, and read them once more.
dd "if=$work/mnt/large" bs=1M iflag=direct status=none | cmp - "$large" || fail "the mount gives other bytes"
proc_signal mount TERM
proc_wait mount || fail "dodo mount ended with status $?"
[ "$(sed -n 1p "$work/report")" = before ] || fail "the report replaces what was there"
grep -q "^$large: cached, 3 MiB read$" "$work/report" || fail "the report: $(cat "$work/report")"
tail -n 1 "$work/report" | grep -q "^total reads=[0-9]* bytes=$size " || fail "the report: $(cat "$work/report")"
status=0
"$bin_dodo" mount --report "$work/none/report" "$work/data" "$work/mnt" 2>"$work/said" || status=$?
[ "$status" -eq 1 ] || fail "a report that cannot be written: status $status"
says 'none/report: No such file'
told "a mount writes its report"

# How long a file may become is the limit of who writes it, not that which the mount was started with.
for limit in -S -H; do
  rm "$work/mount.out"
  # shellcheck disable=SC2016 # another shell expands them
  proc_start mount here bash -c 'ulimit -S -f 1024 && ulimit "$0" -f 1024 && exec "$@"' "$limit" \
    "$bin_dodo" mount --no-passthrough "$work/data" "$work/mnt"
  until_true "${proc_pid[mount]}" grep -qs "ready at" "$work/mount.out"
  status=0
  dd if=/dev/zero of="$work/mnt/long" bs=1M count=2 2>"$work/said" || status=$?
  [ "$limit" = -S ] || says 'File too large'
  [ "$((status > 0))" -eq "$([ "$limit" = -S ] && echo 0 || echo 1)" ] || fail "a long file, $limit: $(cat "$work/said")"
  cmp "$work/mnt/large" "$large" || fail "the mount has ended, $limit"
  rm "$work/mnt/long"
  proc_signal mount TERM
  proc_wait mount || fail "dodo mount ended with status $?"
done
told "a limit of files ends no mount"

# A process that is left behind finds the plain directory, whether anything was cached or not.
for cached in small large; do
  mkfifo "$work/wait.$cached"
  # shellcheck disable=SC2016 # another shell expands them
  "$bin_dodo" run --how mount --min-size 1M --dir "$work/data" sh -c \
    'cd "$0" && cat "$1" >/dev/null && { (cat "$2" && cat "$0/$1" && cat "$0/late") >"$3" 2>&1 & }' \
    "$work/data" "$cached" "$work/wait.$cached" "$work/left.$cached"
  echo "after the end" >"$work/data/late"
  cat "$work/data/$cached" "$work/data/late" >"$work/left.wanted"
  : >"$work/wait.$cached"
  must "who is left behind finds the directory, of a $cached file" cmp -s "$work/left.$cached" "$work/left.wanted"
done

# So does a program whose mount somebody ends.
# shellcheck disable=SC2016 # another shell expands them
timeout "$patience" "$bin_dodo" run --how mount --dir "$work/data" sh -c \
  'kill "$(pgrep -P "$PPID" dodo-mount)" && while mountpoint -q "$0"; do :; done && cat "$0/small"' "$work/data" >"$work/out" ||
  fail "a program whose mount was ended, ends with status $?"
cmp "$work/out" "$work/data/small"

# A mount ends also where the libraries are that it needs for that, and where the loader looks for them.
for dir in /etc "$(dirname "$(realpath "$(cc -print-file-name=libc.so.6)")")"; do
  timeout "$patience" "$bin_dodo" run --how mount --dir "$dir" true || fail "dodo run --dir $dir ends with status $?"
done
mkdir "$work/libraries"
LD_LIBRARY_PATH=$work/libraries${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH} timeout "$patience" \
  "$bin_dodo" run --how mount --dir "$work/libraries" true || fail "dodo run in the loader's path ends with status $?"
told "a mount of its own libraries ends"

# The cache's library is loaded for the first large file; at once, if it is itself read through the mount.
# loads WORDS...: whether the mount has it while the program, which reads none, runs.
loads() {
  # shellcheck disable=SC2016 # another shell expands them
  "$bin_dodo" run --how mount "$@" sh -c 'grep -qs libmanage "/proc/$(pgrep -P "$PPID" dodo-mount)/maps"'
}
! loads --dir "$work/data" || fail "it is loaded although nothing is cached"
loads --dir "$DODO_BUILD/libmanage" || fail "it would be read through the mount"
LD_LIBRARY_PATH=$work/more${LD_LIBRARY_PATH+:$LD_LIBRARY_PATH} loads --dir "$work" ||
  fail "it could be read through the mount"
told "nothing is loaded that is not needed"

# ---- files that others write -------------------------------------------------------------------

# Stores into a page that both have mapped: below a mount such a mapping is the file's own, or is refused. The kernel
# has the former for root, where it was built so.
refused=yes
if [ -z "${DODO_NET_INSIDE-}" ] && [ "$(id -u)" -eq 0 ] && zgrep -qs '^CONFIG_FUSE_PASSTHROUGH=y' /proc/config.gz; then
  refused=no
fi
mkdir "$work/stores"
mapped=$DODO_BUILD/tests/net/mapped
for how in mount user-namespace; do
  timeout "$patience" "$mapped" "$work/stores/file" "$bin_dodo" run --how "$how" --dir "$work/stores" >"$work/out" ||
    fail "a store is lost"
  timeout "$patience" "$bin_dodo" run --how "$how" --dir "$work/stores" "$mapped" read "$work/stores/file" ||
    fail "a mapping does not show what is written beside it"
  timeout "$patience" "$bin_dodo" run --how "$how" --min-size 1K --dir "$work/stores" "$mapped" mixed "$work/stores/mixed" ||
    fail "something else has the file open, and its data is not what was written"
  told "no store is lost, --how $how: $(cat "$work/out")"
  [ "$how$refused" != mountno ] || ! grep -q refused "$work/out" || fail "it should not be refused"
done

# A file system without direct input and output refuses them below a mount, too, and as plainly.
mkdir "$work/memory"
cat >"$work/direct" <<'END'
#!/usr/bin/env bash
set -e
memory=$1
shift
mount -t ramfs memory "$memory"
echo some >"$memory/file"
LC_ALL=C "$@" dd "if=$memory/file" iflag=direct
END
chmod 755 "$work/direct"
apart=(unshare --mount)
"${apart[@]}" true 2>/dev/null || apart+=(--map-root-user)
! timeout "$patience" "${apart[@]}" "$work/direct" "$work/memory" "$bin_dodo" run --how mount --dir "$work/memory" >"$work/out" 2>&1 ||
  fail "direct input that the file system does not have"
grep -q "Invalid argument" "$work/out" || fail "direct input: $(cat "$work/out")"

# A database whose writer, outside, and readers share a file that all of them map. Each reader sees a state as of one
# moment, or is refused; the writer notices nothing, and the database is whole.
if command -v sqlite3 >/dev/null; then
  timeout "$patience" python3 - "$work/stores/base" "$bin_dodo" "$refused" <<'END' || fail "a database in WAL mode"
import random, sqlite3, subprocess, sys, threading
path, dodo, may_refuse = sys.argv[1:]
rows = 2000
base = sqlite3.connect(path, isolation_level=None)
if base.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
    sys.exit("no WAL here")
base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v, pad)")
base.executemany("INSERT INTO t VALUES (?, 0, ?)", [(i, "p" * 300) for i in range(rows)])
over = threading.Event()
failed = []
commits = 0

def write():
    global commits
    base = sqlite3.connect(path, isolation_level=None, timeout=60)
    try:
        while not over.wait(0.002): # readers come in between
            base.execute("BEGIN IMMEDIATE")
            for _ in range(20):
                v, from_, to = random.randrange(100), random.randrange(rows), random.randrange(rows)
                base.execute("UPDATE t SET v = v - ? WHERE id = ?", (v, from_))
                base.execute("UPDATE t SET v = v + ? WHERE id = ?", (v, to))
            base.execute("COMMIT")
            commits += 1
            if commits % 50 == 0:
                base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.Error as e:
        failed.append(f"the writer: {e}")

writer = threading.Thread(target=write)
writer.start()
right = refused = 0
ways = [([], "mount"), (["-readonly"], "mount"), ([], "user-namespace"), (["-readonly"], "user-namespace")]
for options, how in ways * 10:
    reader = subprocess.run([dodo, "run", "--how", how, "--dir", path.rsplit("/", 1)[0], "sqlite3", "-cmd", ".timeout 60000"] +
                            options + [path, "SELECT sum(v), count(*) FROM t"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = reader.stdout.splitlines()[-1:] # the timeout is said, too
    if said == [f"0|{rows}"]:
        right += 1
    elif (reader.returncode != 0 and "disk I/O error" in reader.stderr and "malformed" not in reader.stderr and
          (how != "mount" or may_refuse == "yes")):
        refused += 1
    else:
        failed.append(f"a reader: {reader.stdout}{reader.stderr}")
over.set()
writer.join()
if base.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
    failed.append("the database is not whole")
print(f"{commits} commits beside {right} right answers and {refused} refused")
sys.exit("\n".join(failed) if failed else 0)
END
fi
told "a database in WAL mode stays whole"

# ---- locks -------------------------------------------------------------------------------------

# An OFD lock goes with its description, when the last process that has it ends. The kernel reports that to the mount a
# moment later, so this waits.
cat >"$work/locks.py" <<'END'
import fcntl, os, struct, sys, time
path, patience = sys.argv[1], float(sys.argv[2])
WRITE = fcntl.F_WRLCK
def lock(fd, call, start, kind=WRITE):
    fcntl.fcntl(fd, call, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, 1, 0))
def locked(start):
    fd = os.open(path, os.O_RDWR)
    try:
        lock(fd, fcntl.F_OFD_SETLK, start)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
def free_at_last(start):
    until = time.monotonic() + patience
    while locked(start):
        if time.monotonic() > until:
            sys.exit("an OFD lock is still there")
def wanted(good, what):
    if not good:
        sys.exit(what)
fd = os.open(path, os.O_RDWR | os.O_CREAT)
lock(fd, fcntl.F_OFD_SETLK, 0)
wanted(locked(0), "an OFD lock is not there")
os.close(fd)
free_at_last(0)
fd = os.open(path, os.O_RDWR)
lock(fd, fcntl.F_OFD_SETLK, 1)
here, there = os.pipe()
pid = os.fork()
if pid == 0:
    os.close(there)
    os.read(here, 1)
    os._exit(0)
os.close(fd)
wanted(locked(1), "an OFD lock has gone before the last who has its description")
os.close(there)
os.waitpid(pid, 0)
free_at_last(1)
END
timeout "$patience" "$bin_dodo" run --how mount --dir "$work/stores" python3 "$work/locks.py" "$work/stores/locks" 20 || fail "OFD locks"
told "locks go with what they belong to"

# ---- more files than descriptors ---------------------------------------------------------------

# The kernel forgets files of the mount when descriptors run short; what is in use stays, and the mount lives.
mkdir "$work/many"
(cd "$work/many" && for i in $(seq 1500); do echo "$i" >"$i"; done)
cp "$large" "$work/many/large"
# many OPTION...: dodo run with these and 256 descriptors, with a program that looks at all of them, keeps one open, and
# works in the directory.
many() {
  # shellcheck disable=SC2016 # another shell expands them
  (ulimit -n 256 && timeout "$patience" "$bin_dodo" run --how mount --min-size 1M --dir "$work/many" "$@" sh -c '
    cd "$0" && exec 3<7 && ls -l >/dev/null && grep -h . [0-9]* | md5sum && ls -l | wc -l &&
      read -r seven <&3 && [ "$seven" = 7 ] && [ "$(pwd -P)" = "$0" ] && cmp "$1" large && cat 1 2 3' \
    "$work/many" "$large")
}
# shellcheck disable=SC2016 # another shell expands them
sh -c 'cd "$0" && grep -h . [0-9]* | md5sum && ls -l | wc -l && cat 1 2 3' "$work/many" >"$work/wanted"
for how in namespace user-namespace; do
  many --how "$how" >"$work/out" || fail "with few descriptors, in a $how, it ends with status $?"
  cmp "$work/out" "$work/wanted" || fail "with few descriptors, in a $how, a program reads something else"
done
# shellcheck disable=SC2016 # another shell expands them
(ulimit -n 256 && timeout "$patience" "$bin_dodo" run --how mount --dir "$work/many" sh -c \
  'cd "$0" && for i in $(seq 600); do echo "$i" >"new$i" || exit 1; done' "$work/many") ||
  fail "with few descriptors, a program cannot make many files"
cat >"$work/open.py" <<'END'
import errno, os, sys
fds = []
try:
    while True:
        fds.append(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT))
except OSError as e:
    if e.errno != errno.EMFILE:
        raise
for fd in fds:
    os.close(fd)
END
(ulimit -n 64 && timeout "$patience" "$bin_dodo" run --how mount --dir "$work/many" python3 "$work/open.py" "$work/many/open") ||
  fail "with no descriptor left, a file cannot be closed"
told "more files than descriptors are no trouble"

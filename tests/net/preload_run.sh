#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo run takes the way of the library where it is asked to, and where there is no mount: for whom, what it says, and
# how it ends.
. "$(dirname "$0")/lib.sh"

export DODO_PRELOAD_EAGER=1 # the cache has all reads, though the kernel has the files in memory
config
chmod 755 "$work"
mkdir "$work/data"
large=$work/data/large
head -c $((3 << 20)) /dev/urandom >"$large"
# reader.py [--cached] FILE: reads it once it is cached, or $TURNS times.
cat >"$work/reader.py" <<'END'
import ctypes, os, sys, time
fd = os.open(sys.argv[-1], os.O_RDONLY)
until = time.monotonic() + 100
while sys.argv[1] == "--cached" and not ctypes.CDLL(None).dodo_preload_holds(fd):
    os.pread(fd, 4096, 0)
    if time.monotonic() > until:
        sys.exit("it is not cached")
size = os.fstat(fd).st_size
for turn in range(int(os.environ.get("TURNS", 1))):
    parts = [os.pread(fd, 1 << 16, at) for at in range(0, size, 1 << 16)]
sys.stdout.buffer.write(b"".join(parts))
END
python=/usr/bin/python3 # one that all users may run
[ -x "$python" ] || python=$(type -P python3)
plain=("$python" "$work/reader.py") cached=("$python" "$work/reader.py" --cached)

# ran ARGUMENT...: dodo run with these; its output in $work/out, what it says itself in $work/said.
ran() { "${by[@]}" "$bin_dodo" run "$@" >"$work/out" 2>"$work/said"; }
by=()
# says WORDS: a line of it has them.
says() { grep -qE -- "$1" "$work/said" || fail "\"$1\" is not in: $(cat "$work/said")"; }
# says_in_time WORDS ARGUMENT...: dodo run with these says so; a file is looked at while it is read, and not at once.
says_in_time() {
  local words=$1 turns
  shift
  for turns in 1 10 100 1000 10000; do
    TURNS=$turns ran "$@"
    ! grep -qE -- "$words" "$work/said" || return 0
  done
  says "$words"
}
# ends STATUS ARGUMENT...: dodo run with these ends so.
ends() {
  local wanted=$1 status=0
  shift
  ran "$@" || status=$?
  [ "$status" -eq "$wanted" ] || fail "dodo run $*: status $status, not $wanted: $(cat "$work/said")"
}
# checks STATUS WORDS ARGUMENT...: --check ends so and says this.
checks() {
  local wanted=$1 words=$2
  shift 2
  ends "$wanted" --check "$@"
  grep -qE -- "$words" "$work/out" || fail "--check $*: \"$words\" is not in: $(cat "$work/out" "$work/said")"
}

# ---- as the program does ------------------------------------------------------------------------

for said in '' --stats; do
  ends 0 --how preload $said true
  ends 7 --how preload $said sh -c 'exit 7'
  # shellcheck disable=SC2016 # another shell expands it
  ends 143 --how preload $said sh -c 'kill -TERM $$'
  # shellcheck disable=SC2016 # another shell expands it
  ends 137 --how preload $said sh -c 'kill -KILL $$'
  ends 127 --how preload $said "$work/nothing-there"
  says 'nothing-there: No such file'
  ends 126 --how preload $said "$large"
  says 'Permission denied'
done
ends 125 --how nothing true
says 'preload'
# shellcheck disable=SC2016 # another shell expands it
LD_PRELOAD=libm.so.6 ran --how preload sh -c 'echo "$LD_PRELOAD"'
grep -q '/libdodo-preload.so:libm.so.6$' "$work/out" || fail "LD_PRELOAD is $(cat "$work/out")"
echo some | ran --how preload cat
[ "$(cat "$work/out")" = some ] || fail "its standard input is lost"

# What is sent to it reaches the program, whether it waits for it or has become it.
python3 - "$bin_dodo" <<'END' || fail "a signal is lost"
import signal, subprocess, sys, time
for options in [], ["--stats"]:
    for i in range(30):
        program = subprocess.Popen([sys.argv[1], "run", "--how", "preload", *options, "sleep", "20"], stderr=subprocess.DEVNULL)
        until = time.monotonic() + i * 0.0003
        while time.monotonic() < until:
            pass
        program.send_signal(signal.SIGTERM)
        if program.wait() != -signal.SIGTERM:
            sys.exit(f"{options}, round {i}: dodo run ends with {program.returncode}")
END
# A program that may make no files has no report, and does not die of that.
# shellcheck disable=SC2016 # another shell expands it
for said in --stats --verbose; do
  ends 0 --how preload $said --min-size 1M bash -o pipefail -c '(ulimit -f 0; exec cat "$1") | cat' bash "$large"
  cmp "$work/out" "$large" || fail "other bytes where no files may be made"
done
told "it ends as its program"

# ---- what it says --------------------------------------------------------------------------------

ran --how preload --min-size 1M "${cached[@]}" "$large"
cmp "$work/out" "$large" || fail "other bytes"
[ ! -s "$work/said" ] || fail "without options it says: $(cat "$work/said")"
ran --how preload --stats --min-size 1M "${cached[@]}" "$large"
cmp "$work/out" "$large" || fail "other bytes with --stats"
[ "$(wc -l <"$work/said")" -eq 1 ] || fail "--stats says more than a line: $(cat "$work/said")"
says '^dodo run: the program took [0-9.a-z]*; [0-9.]+ MiB read through the library in [1-9][0-9]* reads'
ran --how preload --verbose --min-size 1M "${cached[@]}" "$large"
says "^dodo run: through the cache: large files of all directories$"
says "^dodo run: $large: cached"
ran --how preload --verbose --min-size 1M --never '*large' "${plain[@]}" "$large"
says "^dodo run: $large: not cached, [0-9.]+ MiB read: --only or --never leaves it out$"
ran --how preload --verbose --min-size 1M --dir "$work" "${cached[@]}" "$large"
says "^dodo run: through the cache: $work$"
says "^dodo run: $large: cached"
mkdir "$work/other"
ran --how preload --verbose --min-size 1M --dir "$work/other" "${plain[@]}" "$large"
! grep -q "large: cached" "$work/said" || fail "a file of another directory is cached"
exec {writer}>>"$large"
says_in_time "^dodo run: $large: not cached, [0-9.]+ MiB read: somebody had it open for writing" \
  --how preload --verbose --min-size 1M "${plain[@]}" "$large"
exec {writer}>&-
# Its children and theirs.
ran --how preload --verbose --min-size 1M sh -c '"$@"; "$@"' sh "${cached[@]}" "$large"
[ "$(grep -c "large: cached" "$work/said")" -eq 2 ] || fail "of two children it says: $(cat "$work/said")"

# Where the path of the report is another process's, as in another PID namespace, that one's files are left alone.
cat >"$work/inner" <<'END'
#!/usr/bin/env bash
exec 3>>"$1" 4>>"$1" 5>>"$1" 6>>"$1" 7>>"$1" 8>>"$1" 9>>"$1"
shift
"$@" >/dev/null
exit 0
END
chmod +x "$work/inner"
: >"$work/theirs"
apart=(unshare --pid --fork)
"${apart[@]}" true 2>/dev/null || apart+=(--map-root-user)
timeout "$patience" "${apart[@]}" --mount-proc "$bin_dodo" run --how preload --stats --verbose --min-size 1M sh -c '"$@"; :' sh \
  unshare --pid --fork --mount-proc "$work/inner" "$work/theirs" "${plain[@]}" "$large" 2>"$work/said" ||
  fail "in PID namespaces it ends with status $?: $(cat "$work/said")"
[ ! -s "$work/theirs" ] || fail "it reports into another's file: $(cat "$work/theirs")"
told "it says what it did"

true=$(type -P true)
checks 0 "^yes: $true would run with a library that LD_PRELOAD names" --how preload true
checks 0 '^through the cache: large files of all directories$' --how preload true
checks 0 "^through the cache: $work/data$" --how preload --dir "$work/data" true
checks 0 '^read\(2\) and the like, which --how preload serves: imported by cat' --how preload cat
checks 1 '^no: .*nothing-there: No such file' --how preload "$work/nothing-there"
if printf 'int main(void) { return 3; }' | cc -static -x c -o "$work/static" - 2>/dev/null; then
  checks 1 '^no: .*linked statically.*LD_PRELOAD does not reach it.*dodo mount' --how preload "$work/static"
  ends 3 --how preload "$work/static"
  ends 3 --how preload --stats "$work/static"
  says 'linked statically.*reads plainly'
fi
cp "$true" "$work/rights"
if chown 1:1 "$work/rights" 2>/dev/null; then
  chmod 4755 "$work/rights"
  checks 1 '^no: .*is set-user-ID: LD_PRELOAD does not reach it.*dodo mount' --how preload "$work/rights"
  ends 0 --how preload "$work/rights"
fi
told "it says whom it reaches"

# ---- which way -------------------------------------------------------------------------------------

# The library, if LD_PRELOAD reaches the program, whether there could be a mount or not; otherwise a mount.
checks 0 "^yes: $true would run with a library that LD_PRELOAD names" --dir "$work/data" true
checks 0 'stdio or a memory mapping does so with --how mount$' true
ran --verbose --min-size 1M "${cached[@]}" "$large"
cmp "$work/out" "$large" || fail "other bytes"
says "^dodo run: through the cache: large files of all directories$"
says "^dodo run: $large: cached"
if [ -e "$work/static" ] && [ -w /dev/fuse ]; then
  checks 0 "^yes: $work/static would run in a mount namespace" --dir "$work/data" "$work/static"
  ends 3 --dir "$work/data" "$work/static"
fi
told "the library has what it reaches, and a mount the rest"

# ---- where there is no mount ---------------------------------------------------------------------

# bare: as in a container: no /dev/fuse.
cat >"$work/bare" <<'END'
#!/usr/bin/env bash
set -e
mount -t tmpfs dev "$BARE"
for name in null zero random urandom; do
  : >"$BARE/$name"
  mount --bind "/dev/$name" "$BARE/$name"
done
mount --rbind "$BARE" /dev
exec "$@"
END
chmod 755 "$work/bare"
mkdir "$work/dev"

# falls_back WORDS: there is no mount, and these say why; programs are run by the library, or as before.
falls_back() {
  checks 0 'would run with a library' --min-size 1M "${plain[@]}" "$large"
  ran --verbose --min-size 1M "${cached[@]}" "$large"
  cmp "$work/out" "$large" || fail "other bytes where there is no mount"
  says "^dodo run: $large: cached"
  [ ! -e "$work/static" ] || {
    checks 1 "^no: $1.*nor does LD_PRELOAD reach $work/static: it is linked statically" "$work/static"
    ends 125 --dir "$work/data" "$work/static"
  }
  checks 1 '^no: ' --how "$2" --dir "$work/data" true
  ends 125 --how "$2" --dir "$work/data" true
}

by=(env BARE="$work/dev" unshare --mount "$work/bare")
falls_back '/dev/fuse: No such file' namespace
"${by[@]}" "$bin_dodo" run --how mount --dir "$work/data" true 2>"$work/said" || true
[ "$(cat "$work/said")" = "dodo mount: $work/data: /dev/fuse: No such file or directory: load the kernel's module fuse, or give the container that device" ] ||
  fail "what it says without /dev/fuse: $(cat "$work/said")"
told "no /dev/fuse: the library does it"
if [ -w /dev/fuse ]; then
  by=(setpriv --bounding-set -sys_admin)
  falls_back 'no namespace: Operation not permitted' namespace
  told "no rights: the library does it"
fi

# An ordinary user, whom the system gives no namespaces.
cat >"$work/ordinary" <<'END'
#!/usr/bin/env python3
import ctypes, os, sys
entered, mapped = os.pipe(), os.pipe()
pid = os.fork()
if pid == 0:
    if ctypes.CDLL(None).unshare(0x10000000) < 0:
        os._exit(99)
    os.write(entered[1], b"x")
    os.read(mapped[0], 1)
    open("/proc/sys/user/max_user_namespaces", "w").write("0")
    os.setgroups([])
    os.setresgid(1000, 1000, 1000)
    os.setresuid(1000, 1000, 1000)
    os.execvp(sys.argv[1], sys.argv[1:])
os.read(entered[0], 1)
for kind in "uid", "gid":
    open(f"/proc/{pid}/{kind}_map", "w").write("0 0 2000")
os.write(mapped[1], b"x")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) % 256)
END
chmod 755 "$work/ordinary"
if "$work/ordinary" test -x "$bin_dodo" 2>/dev/null; then
  chmod 666 "$large"
  chown 1000:1000 "$large"
  by=("$work/ordinary" env XDG_STATE_HOME= XDG_RUNTIME_DIR=)
  falls_back '/dev/fuse: Permission denied|no namespace: No space left on device' user-namespace
  chown 0:0 "$large"
  says_in_time "^dodo run: $large: not cached, .*another user's" --verbose --min-size 1M "${plain[@]}" "$large"
  cmp "$work/out" "$large" || fail "other bytes of another user's file"
  told "an ordinary user without namespaces: the library does it"
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs that nobody here wrote give the same output and status plainly, by dodo run, and below a mount, while hosts
# die. Those that are not installed are left out aloud.
. "$(dirname "$0")/lib.sh"

mounted=yes
[ -w /dev/fuse ] || {
  mounted=no
  told "/dev/fuse cannot be used here: nothing is tried below a mount"
}
manager_silence=120s host_dead=120s client_dead=120s grace=120s # only hosts die
cluster 2
data=$work/data mnt=$work/mnt
mkdir "$data" "$mnt" "$work/out"

# ---- what they read ----------------------------------------------------------------------------

seq 1 300000 >"$data/numbers"
awk '{ printf "%d %d the quick brown fox %x\n", $1 * 7919 % 300007, $1, $1 * 2654435761 % 4294967296 }' \
  "$data/numbers" >"$data/text"
head -c $((6 << 20)) /dev/urandom >"$data/random"
cp "$data/random" "$data/copy"
printf changed | dd of="$data/copy" bs=1 seek=4000000 conv=notrunc status=none
mkdir "$data/tree"
for i in $(seq 40); do head -c 40000 "$data/text" | tail -c $((i * 900)) >"$data/tree/file$i"; done
tar -C "$data" -cf "$data/archive.tar" tree text
gzip -k -1 "$data/text"
if command -v sqlite3 >/dev/null; then
  sqlite3 "$data/base.db" "CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT);
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
    INSERT INTO t SELECT i, hex(randomblob(40)) FROM n; CREATE INDEX w ON t (v)"
fi
if command -v git >/dev/null; then
  git -C "$data" init -q repo
  cp "$data/text" "$data/random" "$data/repo"
  git -C "$data/repo" add .
  git -C "$data/repo" -c user.name=n -c user.email=e commit -qm one
  git -C "$data/repo" gc -q
fi
cat >"$data/program.c" <<'END'
#include <stdio.h>
int main(void) { return printf("compiled\n") != 9; }
END

# Each is run in the data's directory, by a shell.
# shellcheck disable=SC2016 # another shell expands them
programs=(
  'cat random' 'cat numbers text | tail -n 3' 'tac numbers | head -n 3' 'head -c 5000000 random' 'tail -c 3000000 random'
  'wc text numbers' 'md5sum random copy text' 'sha256sum random' 'cksum random' 'sum random' 'b2sum random'
  'grep -c fox text' 'grep -rl "quick brown" tree text | sort' 'grep -n " 123456 " text' 'grep -abo changed copy'
  'sort text' 'sort -n -k2 text | tail -n 5' 'sort -u numbers | wc -l' 'uniq -c numbers | tail -n 2' 'join numbers numbers | wc'
  'cut -d" " -f1,7 text | md5sum' 'awk "{ s += \$1 } END { print s, NR }" text' 'sed -n "1000~50000p" text' 'tr a-z A-Z <text | md5sum'
  'od -A d -t x1 -j 3999990 -N 30 copy' 'xxd -s 100000 -l 64 random' 'cmp random copy' 'diff -q random copy' 'diff text text'
  'dd if=random bs=4096 skip=700 count=300 status=none | md5sum' 'dd if=random bs=1M iflag=direct status=none | md5sum'
  'dd if=random of=/dev/null bs=64K status=none' 'split -b 1M --filter=md5sum random' 'shuf -n 5 --random-source=random numbers'
  'base64 random | md5sum' 'fold -w 20 text | md5sum' 'nl text | tail -n 1' 'comm -12 numbers numbers | wc -l' 'paste numbers numbers | md5sum'
  'strings -n 12 random | md5sum' 'tar -tf archive.tar | md5sum' 'tar -xOf archive.tar text | md5sum' 'tar -cf - --sort=name tree | md5sum'
  'cp random "$OUT/c" && md5sum <"$OUT/c"' 'cp --reflink=never --sparse=always random "$OUT/c" && md5sum <"$OUT/c"' 'cat random >"$OUT/c" && md5sum <"$OUT/c"'
  'gzip -dc text.gz | md5sum' 'gzip -1 -nc text | md5sum' 'bzip2 -1c text | md5sum' 'xz -0c text | md5sum' 'zstd -qc text | md5sum'
  'python3 -c "import hashlib; print(hashlib.md5(open(\"random\", \"rb\").read()).hexdigest())"'
  'python3 -c "import mmap; f = open(\"random\", \"rb\"); m = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ); print(sum(m[::4099]), m.find(b\"abc\"))"'
  'python3 -c "import os; f = os.open(\"random\", os.O_RDONLY); print(sum(sum(os.pread(f, 512, i * 7919 % 6000000)) for i in range(3000)))"'
  'python3 -c "import os; o = os.open(os.environ[\"OUT\"] + \"/s\", os.O_RDWR | os.O_CREAT | os.O_TRUNC); i = os.open(\"random\", os.O_RDONLY); print(os.sendfile(o, i, 0, 6 << 20))" && md5sum <"$OUT/s"'
  'python3 -c "import os; o = os.open(os.environ[\"OUT\"] + \"/s\", os.O_RDWR | os.O_CREAT | os.O_TRUNC); print(sum(len(l) for l in open(\"text\")))"'
  'perl -ne "\$s += length; END { print \$s }" text' 'perl -e "open F, q(random); seek F, 5000000, 0; read F, \$b, 20; print unpack q(H*), \$b"'
  'sqlite3 -readonly base.db "SELECT count(*), max(v), sum(id) FROM t"' 'sqlite3 -readonly base.db "PRAGMA integrity_check"'
  'sqlite3 -readonly base.db "SELECT id FROM t WHERE v > \"F\" ORDER BY v LIMIT 20"'
  'git -C repo fsck --full' 'git -C repo log --stat' 'git -C repo cat-file -p HEAD:text | md5sum' 'git -C repo status --short'
  'gcc -O0 -o "$OUT/program" program.c && "$OUT/program"' 'file random text archive.tar' 'rsync -a --checksum tree/ "$OUT/tree/" && md5sum "$OUT"/tree/* | md5sum'
  'find . -path ./repo -prune -o -type f -printf "%s %p\n" | sort' 'du -b text random' 'ls -l text random' 'stat -c "%s %a %h" text' 'cpio -o --quiet <<<text | wc -c'
  'bash -c "exec 3<text; read -r -u 3 a; read -r -u 3 b; echo \$a \$b"'
  'exit 3' 'kill -9 $$' 'cat nothing'
)

export DODO_PRELOAD_EAGER=1 # the cache has all reads, though the kernel has the files in memory

# one WAY NUMBER DIRECTORY COMMAND...: the program's output and status, where it sees that directory.
one() {
  local way=$1 number=$2 dir=$3 status=0
  shift 3
  rm -rf "$work/tmp"
  mkdir "$work/tmp"
  # shellcheck disable=SC2016 # for the inner shell
  OUT=$work/tmp on client "$root/tests/net/in_time.py" "$patience" "$@" bash -c 'cd "$0" && eval "$1"' "$dir" "${programs[$number]}" \
    >"$work/out/$way" 2>"$work/out/$way.err" </dev/null || status=$?
  echo "status $status" >>"$work/out/$way"
}
# same WAY NUMBER: the last output of that way is the plain one.
same() {
  cmp -s "$work/out/plain" "$work/out/$1" && return
  diff "$work/out/plain" "$work/out/$1" | head -n 10 || true # it ends with 1, as they differ
  cat "$work/out/$1.err"
  fail "$1: ${programs[$2]}"
}

# by_run, by_mount: program $number, that way.
by_run() { one run "$number" "$data" "$bin_dodo" run --min-size 256K --cache-size 4M; }
by_mount() { one mount "$number" "$mnt"; }
# beside_death COMMAND: a host dies meanwhile.
beside_death() {
  "$1" &
  proc_kill "$victim"
  wait $!
}
# try_run [beside_death], try_mount [beside_death]
try_run() {
  "$@" by_run
  same run "$number"
}
try_mount() {
  "$@" by_mount
  same mount "$number"
}

if [ "$mounted" = yes ]; then
  rm -f "$work/mount.out"
  proc_start mount client "$bin_dodo" mount --min-size 256K --cache-size 4M "$data" "$mnt"
  until_true "${proc_pid[mount]}" grep -qs "ready at" "$work/mount.out"
fi
left_out=()
for number in "${!programs[@]}"; do
  read -r program _ <<<"${programs[$number]}"
  if ! command -v "$program" >/dev/null; then
    left_out+=("$program")
    continue
  fi
  [ -z "${VERBOSE-}" ] || told "$SECONDS ${programs[$number]}"
  one plain "$number" "$data"
  victim=imd$((number % 2 + 1))
  if [ "$mounted" = no ]; then
    try_run beside_death
  elif [ $((number / 2 % 2)) -eq 0 ]; then
    try_run beside_death
    try_mount
  else
    try_mount beside_death
    try_run
  fi
  imd_up $((number % 2 + 1))
done
if [ "$mounted" = yes ]; then
  proc_signal mount TERM
  proc_wait mount || fail "dodo mount ended with status $?"
fi
told "${#programs[@]} programs and pipelines, the same each in all ways; ${#left_out[@]} left out, not installed: ${left_out[*]}"

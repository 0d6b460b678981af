#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A running imd has given up what it does not need, serves all the same, and ends cleanly.
set -euo pipefail
. "$(dirname "$0")/words.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/dodo-confined.XXXXXX")
cmd=$DODO_BUILD/cmd/cmd imd=$DODO_BUILD/imd/imd loader=$DODO_BUILD/tests/net/loader
pids=()
finish() {
  local status=$? pid
  for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done
  [ "$status" -eq 0 ] || tail -n 20 "$work"/*.log
  rm -rf "$work"
}
trap finish EXIT
cd "$work"
unset DODO_MANAGER DODO_KEY DODO_INSECURE DODO_LOG
: >empty.conf
export DODO_CONFIG=$work/empty.conf

# start NAME COMMAND...: its ready line into $line, its pid into $pid.
start() {
  local name=$1
  shift
  "$@" >"$name.out" 2>"$name.log" </dev/null &
  pid=$!
  pids+=("$pid")
  until_true "$pid" [ -s "$name.out" ]
  line=$(<"$name.out")
}
# status_is NAME VALUE...: what the kernel says of every thread of imd.
status_is() {
  local file
  for file in /proc/"$pid"/task/*/status; do
    grep -qxE "$1:[[:space:]]*$2[[:space:]]*" "$file" ||
      fail "$(grep "^$1:" "$file") in $file, expected $2"
  done
}

start cmd "$cmd" --listen 127.0.0.1:0
manager=$(grep -oE '127\.0\.0\.1:[0-9]+' <<<"$line")
# With groups to lose, where this test may give it some.
groups=()
[ "$(id -u)" -ne 0 ] || groups=(setpriv --groups '4242,4243')
start imd "${groups[@]}" "$imd" --manager "$manager" --listen 127.0.0.1:0 --pool 16M --nice 0 --log-level debug \
  --metrics 127.0.0.1:0
imd_pid=$pid
status_is NoNewPrivs 1
[ "$(id -u)" -ne 0 ] || status_is Groups ''
if ! grep -q 'not_all_confined' imd.log; then
  status_is Seccomp 2
elif ! grep -qE 'sanitizers|without libseccomp' imd.log; then
  fail "$(grep not_all_confined imd.log)"
fi

# It serves: the loader checks every byte, and reads from remote memory.
DODO_MANAGER=$manager start loader "$loader" "$work/file" "$work/state"
value() { tail -n 1 "$work/loader.out" | grep -o "\b$1=[0-9]*" | cut -d= -f2; }
remote() { [ "$(value remote || echo 0)" -ge 20000000 ]; }
until_true "$pid" remote
loader_pid=$pid
kill -TERM "$loader_pid"
wait "$loader_pid" || fail "the loader ended with status $?"
[ "$(value wrong)" -eq 0 ] || fail "wrong bytes"

# It shows its metrics, too, on connections that came after it was confined.
metrics=$(grep -oE 'url=http://127\.0\.0\.1:[0-9]+' imd.log)
exec {scraper}<>"/dev/tcp/127.0.0.1/${metrics##*:}"
printf 'GET /metrics HTTP/1.0\r\n\r\n' >&"$scraper"
text=$(cat <&"$scraper")
exec {scraper}>&-
grep -q '^dodo_imd_reads_total [1-9]' <<<"$text" || fail "no metrics of what it has served: $text"
grep -q '^# EOF' <<<"$text" || fail "the metrics have no end"

# All that its end takes is allowed, too.
kill -TERM "$imd_pid"
status=0
wait "$imd_pid" || status=$?
[ "$status" -eq 0 ] || fail "imd ended with status $status"
grep -q 'writes_finished=yes' imd.log || fail "imd did not end in order"
echo "confined, and serves"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# rmd talks to the network, and another process reads the input devices; neither can do both. A touch still reaches rmd,
# and while nobody watches the devices the host counts as touched. Pipes stand for devices.
set -euo pipefail
. "$(dirname "$0")/words.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/dodo-input.XXXXXX")
rmd=$DODO_BUILD/rmd/rmd dodo=$DODO_BUILD/tools/dodo
[ -x "$rmd" ] || {
  echo "SKIP: rmd was not built here"
  exit 77
}
rmd_pid=
finish() {
  local status=$?
  [ -z "$rmd_pid" ] || kill -KILL "$rmd_pid" 2>/dev/null || true
  [ "$status" -eq 0 ] || tail -n 20 "$work"/rmd.* "$work"/explained
  rm -rf "$work"
}
trap finish EXIT
cd "$work"
unset DODO_MANAGER DODO_KEY DODO_INSECURE DODO_LOG
mkdir input
mkfifo input/event0
cat >dodo.conf <<'END'
[rmd]
input = input
console = none
utmp = none
bus = none
explain = full
poll = 100ms
END
sed -i "s|^input = .*|input = $work/input|" dodo.conf
# With the devices' group, where this test may give it one.
groups=()
if [ "$(id -u)" -eq 0 ]; then
  chgrp 4243 input/event0
  groups=(setpriv --groups '4242,4243')
fi
"${groups[@]}" "$rmd" --config dodo.conf --manager 127.0.0.1:9 --listen 127.0.0.1:0 --log-level debug >rmd.out 2>rmd.log &
rmd_pid=$!
until_true "$rmd_pid" [ -s rmd.out ]
at=$(grep -oE 'listen=127\.0\.0\.1:[0-9]+' rmd.out | cut -d= -f2)
explained() {
  "$dodo" explain --config dodo.conf "$at" >explained 2>&1 && grep -qE "$1" explained
}
until_true "$rmd_pid" explained '1 input device, last used'

# Who has the device open, and what else these have.
opens() { find "/proc/$1/fd" -lname "$work/input/*" 2>/dev/null | grep -q .; }
below() { cat "/proc/$1/task/$1/children"; }
says() { grep -qE "^$2:[[:space:]]*$3[[:space:]]*$" "/proc/$1/status" || fail "$1: $(grep "^$2:" "/proc/$1/status"), expected $3"; }
opens "$rmd_pid" && fail "rmd itself has an input device open"
watcher=
for keeper in $(below "$rmd_pid"); do
  for pid in $(below "$keeper"); do ! opens "$pid" || watcher=$pid; done
done
[ -n "$watcher" ] || fail "no other process has the device open"
[ "$(find "/proc/$watcher/fd" -lname 'socket:*' | wc -l)" -eq 1 ] || fail "the watcher has more sockets than its channel"
says "$watcher" NoNewPrivs 1
says "$rmd_pid" NoNewPrivs 1
if ! grep -q 'not_all_confined' rmd.log; then
  says "$watcher" Seccomp 2
elif ! grep -qE 'sanitizers|without libseccomp' rmd.log; then
  fail "$(grep not_all_confined rmd.log)"
fi
if [ "$(id -u)" -eq 0 ]; then
  says "$rmd_pid" Groups 4242
  says "$watcher" Groups '4242 4243'
fi

# A key of the keyboard: struct input_event with EV_KEY.
until_true "$rmd_pid" explained '1 input device, last used ([2-9]|[1-9][0-9]+)s ago'
touched() {
  {
    head -c 16 /dev/zero
    printf '\001\000\036\000\001\000\000\000'
  } >input/event0
  explained '1 input device, last used [01]s ago'
}
until_true "$rmd_pid" touched # once more, where this came to look too late

# It is killed: meanwhile somebody is there; it is started again, of itself.
kill -KILL "$watcher"
until_true "$rmd_pid" grep -q input_silent rmd.log
until_true "$rmd_pid" grep -q input_back rmd.log
until_true "$rmd_pid" explained '1 input device'
again=$(below "$keeper")
{ [ -n "$again" ] && [ "$again" != "$watcher" ]; } || fail "the watcher was not started again"

# Neither outlives rmd.
kill -KILL "$rmd_pid"
wait "$rmd_pid" 2>/dev/null || true
rmd_pid=$$
ended() { ! grep -qsE '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }
gone() { ended "$keeper" && ended "${again// /}"; }
until_true "$rmd_pid" gone
rmd_pid=
echo "input devices are read without a network"

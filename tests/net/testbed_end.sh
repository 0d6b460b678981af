#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# However a testbed ends, by down, or with kill -9 of any of the processes that keep it, nothing of
# it is left: no process, directory, mount or control group.
. "$(dirname "$0")/testbed_lib.sh"

# begin: a testbed, with somebody in it who does not want to go.
begin() {
  up --hosts 1 --memory 64M --disk hdd "$@" || fail "up ended with status $?"
  bed_id=$(<"$TESTBED_DIR/testbed.id")
  rm -f "$work/stays"
  # shellcheck disable=SC2016 # for the shell there
  testbed exec client sh -c 'trap "" TERM INT HUP; setsid sh -c "echo >\"$0\"; exec sleep 100000" & wait' \
    "$work/stays" >/dev/null 2>&1 &
  must "a command runs there" test -e "$work/stays"
  ! deserted || fail "the command cannot be seen"
}
pid_of() { cut -d' ' -f1 "$TESTBED_DIR/$1"; }
quietly() { { wait || true; } 2>/dev/null; }

begin
testbed down >/dev/null || fail "down ended with status $?"
gone || fail "down leaves: $(remains)"
quietly
testbed down >/dev/null || fail "a second down ended with status $?"
told "down leaves nothing"

for who in keeper watcher; do
  begin
  kill -KILL "$(pid_of "$who")"
  must "nothing is left when the $who is killed" gone
  quietly
done

begin
keeper=$(pid_of keeper)
kill -KILL "$(pid_of watcher)" "$keeper"
must "without both no command runs" deserted
! testbed status >"$work/status.log" 2>&1 || fail "status finds a killed testbed up"
up --hosts 1 || fail "up does not clean up after a killed testbed"
testbed down >/dev/null
must "the next one removes what both left" gone
quietly

sleep 100000 &
lease=$!
begin --while "$lease"
kill -KILL "$lease"
must "it ends with the process that it was made for" gone
quietly

# up is killed while it works; when it was faster than we, again.
for ((i = 0; i < 10; i++)); do
  rm -f "$work/up.done"
  { up --hosts 12 && : >"$work/up.done"; } &
  must "up works" test -e "$TESTBED_DIR/switch" -o -e "$work/up.done"
  bed_id=$(<"$TESTBED_DIR/testbed.id")
  up_pids=$(grep -lsE "^PPid:[[:space:]]*$!\$" /proc/[0-9]*/status | grep -o '[0-9]*') || true
  # shellcheck disable=SC2086 # numbers
  kill -KILL $! $up_pids 2>/dev/null || true
  quietly
  [ -e "$work/up.done" ] || break
  testbed down >/dev/null
done
[ ! -e "$work/up.done" ] || fail "up could not be killed while it works"
must "nothing is left of a killed up" gone

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Normal work: three hosts, a program under load, the tool, and an orderly end of everything.
. "$(dirname "$0")/lib.sh"

nobody_gives_up
cluster 3
on client "$bin_dodo" ping --timeout "${patience}s" "$DODO_MANAGER" >"$work/ping.log" || fail "dodo ping does not reach cmd"
loader_start
loader_mark
must "reads come from remote memory" loader_remote 90 20
must "the manager knows 16 regions of 1 client" status_is client \
  "s['regions'] == 16 and s['clients'] == 1 and sum(h['regions'] for h in s['hosts']) == 16"
loader_end
must "the regions are given back" status_is client \
  "s['regions'] == 0 and all(h['free_bytes'] == h['pool_bytes'] for h in s['hosts'])"

head -c 3000000 /dev/urandom >"$work/hello.data"
cp "$work/hello.data" "$work/hello.copy"
# It goes through its region ten times; a busy machine may not get to fill it meanwhile.
hello_tells() {
  on client "$DODO_BUILD/examples/hello" "$work/hello.data" >"$work/hello.log" 2>&1 || fail "hello failed"
  grep -qE 'held by .*: [0-9]{6,} bytes came from its memory' "$work/hello.log"
}
must "hello reads from another host's memory" hello_tells
on client "$DODO_BUILD/examples/hello" "$work/hello.data" >/dev/full 2>"$work/hello.log" && fail "hello loses what it tells"
grep -q 'cannot write to the standard output' "$work/hello.log" || fail "hello does not say why: $(cat "$work/hello.log")"
on client sh -c 'exec "$@" >&-' sh "$DODO_BUILD/examples/hello" "$work/hello.data" 2>"$work/hello.log" &&
  fail "hello does not miss its standard output"
cmp "$work/hello.data" "$work/hello.copy" || fail "hello changed its file"

for name in imd1 imd2 imd3 cmd; do
  proc_signal "$name" TERM
  wait_for "$patience" proc_gone "${proc_pid[$name]}" || fail "$name does not end"
  proc_wait "$name" || fail "$name ended with status $?"
done
told "all ended with status 0"

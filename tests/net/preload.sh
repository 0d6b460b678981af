#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo run --how preload, over a cluster whose hosts die: every byte that is read was in the file during the call, no
# matter who writes it, and calls give what they give plainly.
. "$(dirname "$0")/lib.sh"

cluster 2
tests=$DODO_BUILD/tests/net dir=$work/dir
mkdir "$dir"

export DODO_PRELOAD_EAGER=1 # the cache has all reads, though the kernel has the files in memory
# preloaded MIN_SIZE COMMAND...: with the library.
preloaded() {
  local min_size=$1
  shift
  on client timeout "$patience" "$bin_dodo" run --how preload --stats --cache-size 4M --min-size "$min_size" "$@"
}
# while_hosts_die COMMAND...: in the background; hosts die, and come again, until it has ended. Fails as it does.
while_hosts_die() {
  local n i status=0
  "$@" &
  local pid=$!
  for ((n = 0; n < 100; n++)); do
    [ "$n" = 0 ] || kill -0 "$pid" 2>/dev/null || break
    i=$((n % 2 + 1))
    proc_kill "imd$i"
    imd_up "$i"
    must "host $i lends again" imd_idle "$i"
  done
  wait "$pid" || status=$?
  return "$status"
}
# was_cached FILE: of what --stats said there, some came through the cache.
was_cached() {
  grep -Eq ' read through the library in .*(local memory|remote memory|their files) \([1-9]' "$1" || {
    cat "$1"
    fail "nothing came from the cache"
  }
}

# ---- truth and sameness, while hosts die -------------------------------------------------------

truth() { preloaded 1M "$tests/truth" "$dir/file" "$dir/file" "$@" >"$work/truth.out" 2>"$work/truth.log"; }
for apart in '' apart; do
  # shellcheck disable=SC2086 # nothing, or a word
  while_hosts_die truth 40000 $apart || fail "a read was not true, of a writer ${apart:-of the same program}"
  cat "$work/truth.out"
  was_cached "$work/truth.log"
done

# calls_of SEED CALLS COMMAND...: so many random calls, by the command.
calls_of() {
  local seed=$1 calls=$2
  shift 2
  rm -rf "$dir"
  mkdir "$dir"
  "$@" "$tests/same" "$dir" "$seed" "$calls"
}
# calls_are_same SEED CALLS: with the library and without.
calls_are_same() {
  calls_of "$@" preloaded 4K >"$work/calls" 2>"$work/calls.log" || fail "seed $1: same ends with status $?"
  was_cached "$work/calls.log"
  calls_of "$@" on client >"$work/plain"
  cmp -s "$work/calls" "$work/plain" && return
  diff "$work/calls" "$work/plain" | head -n 10 || true # it ends with 1, as they differ
  fail "seed $1: calls differ from plain ones"
}
while_hosts_die calls_are_same 1 1500 || fail "the library changes what calls give"
for seed in 2 3; do DODO_MANAGER='' calls_are_same "$seed" 5000; done
told "calls give what they give plainly"

on client "$tests/awkward" "$work/awkward" || fail "this fails without the library"
awkward() { preloaded 1M "$tests/awkward" "$work/awkward" >"$work/awkward.log" 2>&1; }
while_hosts_die awkward || {
  cat "$work/awkward.log"
  fail "a program is not left as it is"
}
was_cached "$work/awkward.log"
told "programs may be awkward"

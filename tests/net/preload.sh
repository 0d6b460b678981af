#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo run --how preload, over a cluster whose hosts die: every byte that is read was in the file during the call, no
# matter who writes it, and calls give what they give plainly. By hand: TRUTH_READS=1000000.
. "$(dirname "$0")/lib.sh"
[ -z "${TRUTH_READS-}" ] || patience=3600

cluster 2
tests=$DODO_BUILD/tests/net
export DODO_PRELOAD_EAGER=1 # the cache has all reads, though the kernel has the files in memory

# preloaded MIN_SIZE COMMAND...: with the library.
preloaded() {
  local min_size=$1
  shift
  on client timeout "$patience" "$bin_dodo" run --how preload --stats --cache-size 4M --min-size "$min_size" "$@"
}
# was_cached FILE...: of what --stats said there, some came through the cache.
was_cached() {
  cat "$@" | grep -Eq ' read through the library in .*(local memory|remote memory|their files) \([1-9]' || {
    cat "$@"
    fail "nothing came from the cache"
  }
}

# ---- what is tried, each in a process of its own -----------------------------------------------

# Every byte read was in the file during the call; the writer is a thread of the program, another process, or a static
# program in another mount namespace.
truth_of() {
  local name=$1
  shift
  preloaded 1M "$tests/truth" "$work/$name" "$work/$name" "${TRUTH_READS:-15000}" "$@" >"$work/$name.out" 2>"$work/$name.log"
}
truth() { truth_of truth; }
truth_apart() { truth_of truth_apart apart; }
truth_outside() {
  unshare --mount "$tests/truth-writer" "$work/truth_outside" "$work/shared" >"$work/writer.log" 2>&1 &
  must "another program writes" grep -qs writes "$work/writer.log"
  truth_of truth_outside "$work/shared" && wait $!
}
# The same random calls, with the library and without.
calls() {
  local seed way
  for seed in 1 2 3; do
    for way in "on client" "preloaded 4K"; do
      rm -rf "$work/calls"
      mkdir "$work/calls"
      # shellcheck disable=SC2086 # words
      $way "$tests/same" "$work/calls" "$seed" 3000 >"$work/calls.$seed.${way%% *}" 2>>"$work/calls.log"
    done
    cmp -s "$work/calls.$seed."* || {
      diff "$work/calls.$seed."* | head -n 10
      return 1
    }
  done
}
# What programs do that a library must leave as it is.
awkward() {
  on client "$tests/awkward" "$work/awkward" && preloaded 1M "$tests/awkward" "$work/awkward" >"$work/awkward.log" 2>&1
}

# ---- while hosts die ---------------------------------------------------------------------------

pids=()
for name in truth truth_apart truth_outside calls awkward; do
  "$name" &
  pids+=($!)
done
running() {
  local pid
  for pid in "${pids[@]}"; do ! kill -0 "$pid" 2>/dev/null || return 0; done
  return 1
}
for ((n = 0; n < ${TRUTH_READS:-100}; n++)); do
  running || break
  proc_kill "imd$((n % 2 + 1))"
  imd_up "$((n % 2 + 1))"
  must "host $((n % 2 + 1)) lends again" imd_idle "$((n % 2 + 1))"
done
wait "${pids[0]}" || fail "a read was not true, of a writer in the same program"
wait "${pids[1]}" || fail "a read was not true, of a writer in another process"
wait "${pids[2]}" || fail "a read was not true, of a writer in another program: $(cat "$work/writer.log")"
wait "${pids[3]}" || fail "calls differ from plain ones"
wait "${pids[4]}" || fail "a program is not left as it is"
cat "$work"/truth*.out
was_cached "$work/truth.log"
was_cached "$work/truth_apart.log"
was_cached "$work/truth_outside.log"
was_cached "$work/calls.log"
was_cached "$work/awkward.log"
told "$n times a host died"

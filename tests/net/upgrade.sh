#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A cluster is upgraded from another build, and goes back to that: the manager, and one host after the other, while a
# program of each build reads and writes. All that both have moves to the host that was replaced last, so that it serves both,
# and programs of both builds begin there. No call fails, and each byte is right.
# DODO_BUILD_BEFORE: the other build's directory. scripts/test-upgrade runs this.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rmd_lib.sh"

: "${DODO_BUILD_BEFORE:?is the build to upgrade from}"
declare -A build=([before]=$DODO_BUILD_BEFORE [after]=$DODO_BUILD)
steps=0 gone=none # epochs of daemons that have ended: the manager knows them for a while

# ---- the cluster ---------------------------------------------------------------------------------

# config_of_both: without what only the later build reads.
config_of_both() {
  local line
  until "${build[before]}/tools/dodo" config >"$work/said" 2>&1; do
    line=$(sed -n 's/.*dodo\.conf:\([0-9]*\): unknown key.*/\1/p' "$work/said")
    [ -n "$line" ] || fail "dodo config of the build before: $(cat "$work/said")"
    sed -i "${line}d" "$work/dodo.conf"
  done
}
manager_of() { # BUILD
  bin_cmd=${build[$1]}/cmd/cmd
  manager_up
}
# Host 1 lends by imd alone, the others by their monitors.
host_up() { # N BUILD
  local console=$work/console$1
  bin_imd=${build[$2]}/imd/imd
  if [ "$1" -eq 1 ]; then
    imd_start imd1 h1 32M --nice 0 || fail "imd1 did not start"
    return
  fi
  touch -a -d '1 hour ago' "$console"
  mkdir -p "$work/run$1"
  daemon_start "rmd$1" "h$1" env RUNTIME_DIRECTORY="$work/run$1" "${build[$2]}/rmd/rmd" --manager "$DODO_MANAGER" \
    --listen "${host_ip[h$1]}" --pool 32M --console "$console" || fail "rmd$1 did not start"
}
host_down() { # N
  local name=rmd$1
  [ "$1" -ne 1 ] || name=imd1
  gone+=" $(host_is "$1" epoch)"
  proc_signal "$name" TERM
  proc_wait "$name" || fail "$name ended with status $?"
}
# host_is N FIELD: of the daemon that lends that host's memory.
host_is() {
  on client timeout 10 "$bin_dodo" status --json </dev/null | python3 -c 'import json, sys
for h in json.load(sys.stdin)["hosts"]:
    if h["address"].startswith(sys.argv[1] + ":") and h["epoch"] not in sys.argv[3].split():
        print(h[sys.argv[2]])' "${host_ip[h$1]}" "$2" "$gone"
}
lends() { [ "$(host_is "$1" state)" = idle ]; }
drained() { # N
  local at
  at=$(host_is "$1" address)
  on client timeout "$patience" "$bin_dodo" drain "$at" >"$work/drain.out" 2>&1 </dev/null ||
    fail "dodo drain $at: $(cat "$work/drain.out")"
}
lends_again() { on client timeout 10 "$bin_dodo" drain --cancel "$(host_is "$1" address)" >"$work/drain.out" </dev/null; }

# ---- programs ------------------------------------------------------------------------------------

program_up() { # NAME BUILD
  rm -f "$work/$1.out"
  DODO_LOG=info proc_start "$1" client "${build[$2]}/tests/net/loader" "$work/$1.file" "$work/$1.state"
  wait_for "$patience" test -s "$work/$1.out" || fail "$1 did not start"
}
value() { tail -n 1 "$work/$1.out" | grep -o "\b$2=[0-9]*" | cut -d= -f2; } # NAME FIELD
declare -A at_remote=() at_file=()
mark() { # NAME
  ours "${proc_pid[$1]}" || fail "$1 has ended"
  at_remote[$1]=$(value "$1" remote) at_file[$1]=$(value "$1" file)
}
# remote_since NAME PERCENT N: as loader_remote of lib.sh.
remote_since() {
  local remote file
  remote=$(($(value "$1" remote) - at_remote[$1])) file=$(($(value "$1" file) - at_file[$1]))
  [ $((remote + file)) -ge $(($3 * 1000000)) ] || return 1
  [ $((remote * 100)) -ge $(((remote + file) * $2)) ] || { mark "$1" && return 1; }
}
nothing_failed() { # NAME
  [ "$(value "$1" wrong)" -eq 0 ] || fail "$1 has read wrong bytes"
  [ "$(value "$1" lost)" -eq 0 ] || fail "calls of $1 have failed"
}
program_end() { # NAME
  local status=0
  proc_signal "$1" TERM
  wait_for "$patience" proc_gone "${proc_pid[$1]}" || fail "$1 does not end"
  proc_wait "$1" || status=$?
  [ "$status" -eq 0 ] || fail "$1 ended with status $status"
  nothing_failed "$1"
}

# ---- steps ---------------------------------------------------------------------------------------

# step_proves WHAT: programs of both builds read remote memory now, as before; others begin, and do so.
step_proves() {
  local which tool read=''
  for which in before after; do
    mark "$which"
    program_up "new_$which" "$which"
    mark "new_$which"
  done
  for which in before after new_before new_after; do
    wait_for "$patience" remote_since "$which" 80 5 || fail "$1: $which does not read remote memory"
    read+=" $which $((($(value "$which" remote) - at_remote[$which]) / 1000000))"
  done
  for which in before after; do
    program_end "new_$which"
    rm "$work/new_$which".{file,state}
    nothing_failed "$which"
    for tool in status regions events; do
      "${build[before]}/tools/dodo" --help | grep -q "^  $tool " || continue # its manager may not know it
      on client timeout 10 "${build[$which]}/tools/dodo" "$tool" </dev/null >"$work/tool.out" || fail "$1: dodo $tool, $which"
    done
  done
  told "$1: MB read from remote memory:$read"
  steps=$((steps + 1))
}
manager_becomes() { # BUILD
  proc_signal cmd TERM
  proc_wait cmd || fail "cmd ended with status $?"
  manager_of "$1"
  wait_for "$patience" status_is client \
    "sum(h['state'] == 'idle' for h in s['hosts']) == 3 and s['regions'] == $regions and s['clients'] == 2" ||
    fail "the manager of the build $1 does not know all hosts, programs and regions"
  step_proves "the manager is of the build $1"
}
host_becomes() { # N BUILD
  local n=$1 other before
  drained "$n"
  host_down "$n"
  host_up "$n" "$2"
  wait_for "$patience" lends "$n" || fail "host $n does not lend by the build $2"
  for other in 1 2 3; do [ "$other" -eq "$n" ] || drained "$other"; done
  before=$(host_is "$n" read_bytes)
  step_proves "host $n is of the build $2, and has all regions"
  [ "$(host_is "$n" regions)" -eq "$regions" ] || fail "not all regions are on host $n"
  [ $(($(host_is "$n" read_bytes) - before)) -ge 20000000 ] || fail "host $n has not served what was read"
  for other in 1 2 3; do [ "$other" -eq "$n" ] || lends_again "$other"; done
  hosts_idle client 3 || fail "a drain is not cancelled"
}

nobody_gives_up
config
rmd_settings 'poll = 1s' 'idle_after = 1s'
config_of_both
cluster_hosts 3
manager_of before
for i in 1 2 3; do host_up "$i" before; done
must "all hosts lend" hosts_idle client 3
for which in before after; do program_up "$which" "$which"; done
step_proves "all is of the build before"
regions=$(($(value before open) + $(value after open))) # all that they have: each build's has its own number
manager_becomes after
for i in 1 2 3; do host_becomes "$i" after; done
for i in 3 2 1; do host_becomes "$i" before; done
manager_becomes before
for which in before after; do program_end "$which"; done
told "$steps steps, no failed call, no wrong byte: before $(tail -n 1 "$work/before.out"); after $(tail -n 1 "$work/after.out")"

# SPDX-License-Identifier: MIT
# A private cluster of real processes, on hosts of scripts/lib/hosts.sh or on this machine's
# loopback, for the demonstration and the tests. The caller sets: work (a directory of its own),
# bin_cmd, bin_imd, bin_dodo (the programs). Sourced by bash after hosts.sh.
# shellcheck shell=bash disable=SC2154

declare -A proc_pid=() proc_address=() proc_fd=()

# wait_for SECONDS COMMAND...: until it succeeds; false when it has not in time. It rests as long as the
# command takes, and 50 ms more, so that others have the processor.
wait_for() {
  local deadline=$((SECONDS + $1 + 1)) begun rest
  shift
  until begun=${EPOCHREALTIME/[.,]/} && "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    rest=$((${EPOCHREALTIME/[.,]/} - begun + 50000))
    printf -v rest '%d.%06d' "$((rest / 1000000))" "$((rest % 1000000))"
    sleep "$rest"
  done
}

# proc_start NAME HOST COMMAND...: starts it there; its errors go to $work/NAME.log.
proc_start() {
  local name=$1 enter
  host_enter "$2"
  shift 2
  # Dies with this shell, whatever becomes of it; a Ctrl-C is for this shell alone.
  setsid setpriv --pdeathsig KILL "${enter[@]}" "$@" >"$work/$name.out" 2>>"$work/$name.log" </dev/null &
  proc_pid[$name]=$!
}

# daemon_start NAME HOST COMMAND...: starts it and waits for the line that says it is ready; its
# address is then in proc_address[NAME].
daemon_start() {
  local name=$1 line='' fd
  rm -f "$work/$name.out"
  mkfifo "$work/$name.out"
  proc_start "$@"
  exec {fd}<"$work/$name.out"
  proc_fd[$name]=$fd # stays open: the daemon may write more
  IFS= read -r -t 120 -u "$fd" line || true # at once when it ends
  proc_address[$name]=$(grep -oE '(\[[0-9a-f:.]+\]|[0-9.]+):[0-9]+' <<<"$line" | head -n 1)
  if [ -z "${proc_address[$name]}" ]; then
    echo "$name did not get ready:" >&2
    cat "$work/$name.log" >&2
    return 1
  fi
}

# proc_signal NAME SIGNAL
proc_signal() {
  ours "${proc_pid[$1]}" && kill -s "$2" "${proc_pid[$1]}" 2>/dev/null
}

# proc_wait NAME: until it ended; its exit status.
proc_wait() {
  local pid=${proc_pid[$1]} fd=${proc_fd[$1]-} status=0
  wait "$pid" 2>/dev/null || status=$?
  [ -z "$fd" ] || exec {fd}<&-
  unset "proc_pid[$1]" "proc_fd[$1]"
  return "$status"
}

# proc_kill NAME: at once, and without the shell's own word about it.
proc_kill() {
  {
    proc_signal "$1" KILL || true
    proc_wait "$1" || true
  } 2>/dev/null
}

proc_gone() { ! ours "$1"; }

# disk_told LOG NAME: the modelled disk of that process is ready, or has ended.
disk_told() { grep -qs ready "$1" || proc_gone "${proc_pid[$2]}"; }

# procs_end: ends all, first by asking; the managers last, because who leaves tells them.
procs_end() {
  local name managers=() others=()
  for name in "${!proc_pid[@]}"; do
    if [[ $name = cmd* ]]; then managers+=("$name"); else others+=("$name"); fi
  done
  procs_end_these "${others[@]}"
  procs_end_these "${managers[@]}"
}
procs_end_these() {
  local name
  for name; do
    proc_signal "$name" CONT || true
    proc_signal "$name" TERM || true
  done
  for name; do
    wait_for 5 proc_gone "${proc_pid[$name]}" || true
    proc_kill "$name"
  done
}

# cluster_key: makes $work/key, if there is none yet.
cluster_key() {
  [ -e "$work/key" ] || (umask 077 && "$bin_dodo" keygen >"$work/key")
}

# cmd_start HOST [OPTION...]: the manager; DODO_MANAGER and DODO_KEY are set for all that follow, or
# with DODO_INSECURE=1 in the environment no key.
cmd_start() {
  local host=$1
  shift
  if [ -z "${DODO_INSECURE-}" ]; then
    cluster_key
    export DODO_KEY=$work/key
  fi
  daemon_start cmd "$host" "$bin_cmd" --listen "${DODO_MANAGER:-${host_ip[$host]-127.0.0.1}:0}" "$@"
  export DODO_MANAGER=${proc_address[cmd]}
}

# imd_start NAME HOST POOL [OPTION...]
imd_start() {
  local name=$1 host=$2 pool=$3
  shift 3
  daemon_start "$name" "$host" "$bin_imd" --manager "$DODO_MANAGER" \
    --listen "${host_ip[$host]-127.0.0.1}:0" --pool "$pool" "$@"
}

# status_is HOST PYTHON-EXPRESSION: asks cmd, from HOST; the expression judges the answer `s`.
status_is() {
  on "$1" timeout 10 "$bin_dodo" status --json 2>/dev/null </dev/null |
    /usr/bin/python3 -c 'import json, sys
s = json.load(sys.stdin)
sys.exit(not eval(sys.argv[1]))' "$2" 2>/dev/null
}

# hosts_idle HOST N: N hosts offer their memory.
hosts_idle() {
  status_is "$1" "sum(h['state'] == 'idle' for h in s['hosts']) == $2"
}

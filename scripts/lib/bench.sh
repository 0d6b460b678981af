# SPDX-License-Identifier: MIT
# Two cores that stand for two hosts, clusters on them, and measurements in turn, for the benchmark
# scripts. The caller sets: work (a directory of its own), build; note TEXT tells a condition.
# Sourced by bash after hosts.sh and cluster.sh.
# shellcheck shell=bash disable=SC2154

fast=()                                      # before a command: its priority
declare -A environment=() cluster_servers=() # by cluster: what a client needs; its processes

# bench_priority: sets `fast`, where that is allowed. Priority keeps other programs of this machine
# out: with the kernel's autogroups nice counts inside a session only, so each program gets a session
# and the session the priority.
bench_priority() {
  [ "$(nice -n -19 nice 2>/dev/null)" = -19 ] || return 1
  # shellcheck disable=SC2016 # its own $@
  fast=(nice -n -19 sh -c '{ echo -19 >/proc/self/autogroup; } 2>/dev/null; exec "$@"' sh)
}

# The client has a core of its own and the servers another, as two hosts have.
bench_cores() {
  local model
  if ! taskset -c 0 true 2>/dev/null || ! taskset -c 1 true 2>/dev/null; then
    die "this needs the cores 0 and 1"
  fi
  if bench_priority; then
    note "cores: the client on 0, the servers on 1, all of them at nice -19 (imd, which gives way \
to everything by default, runs with --nice 0 and its threads are raised to -19)"
  else
    note "cores: the client on 0, the servers on 1; negative nice is not allowed here, so other \
programs disturb more (imd runs with --nice 0 instead of its 19)"
  fi
  model=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
  note "machine: $(nproc) cores, ${model:-unknown}, Linux $(uname -r | grep -oE '^[0-9]+\.[0-9]+')"
  note "load average at the start: $(cut -d' ' -f1 /proc/loadavg) (above 1 the spread grows)"
}

# bench_raise NAME: all threads of it
bench_raise() {
  local t
  [ ${#fast[@]} -eq 0 ] || for t in "/proc/${proc_pid[$1]}/task"/*; do
    renice -n -19 -p "${t##*/}" >/dev/null
  done
}

# bench_shield: notes, once, if somebody has taken a server's priority away meanwhile: then the
# figures say more about that than about the server.
shield_lost=''
bench_shield() {
  local name at
  if [ ${#fast[@]} -eq 0 ] || [ -n "$shield_lost" ]; then return 0; fi
  for name in "${!proc_pid[@]}"; do
    at=$(cat "/proc/${proc_pid[$name]}/autogroup" 2>/dev/null) || continue
    [ -z "$at" ] || [[ $at = *'nice -19' ]] || shield_lost=$name
  done
  [ -z "$shield_lost" ] ||
    note "ANOTHER PROGRAM CHANGED THE PRIORITY of $shield_lost: these figures are worth nothing"
}

# bench_server NAME HOST COMMAND...: one that says its address; bench_server_at NAME HOST PORT
# COMMAND...: one that listens there and says nothing.
bench_server() {
  local name=$1 host=$2
  shift 2
  daemon_start "$name" "$host" taskset -c 1 "${fast[@]}" "$@"
}
bench_server_at() {
  local name=$1 host=$2 port=$3
  shift 3
  proc_start "$name" "$host" taskset -c 1 "${fast[@]}" "$@"
  wait_for 60 bench_listens "$host" "$port" ||
    die "$name did not start: $(cat "$work/$name.log" "$work/$name.out")"
}
bench_listens() { on "$1" ss -Hltn "sport = :$2" | grep -q .; }

# bench_imd CLUSTER NAME HOST POOL WORD...: one of a cluster's imds; the words are environment.
bench_imd() {
  local cluster=$1 name=$2 host=$3 pool=$4
  shift 4
  bench_server "$name" "$host" env "$@" "$build/imd/imd" --listen "${host_ip[$host]}:0" \
    --manager "${proc_address[cmd-$cluster]}" --pool "$pool" --threads 1 --nice 0 --log-level warn
  bench_raise "$name"
  cluster_servers[$cluster]+=,${proc_pid[$name]}
}

# bench_cluster NAME HOST CLIENT-HOST POOL KEY WORD...: a manager and an imd on HOST, and
# environment[NAME] for the clients; KEY is a file, or empty; no POOL: no imd yet.
bench_cluster() {
  local name=$1 host=$2 client=$3 pool=$4 key=$5
  shift 5
  local words=(DODO_CONFIG="$work/dodo.conf" "$@")
  if [ -n "$key" ]; then words+=(DODO_KEY="$key"); else words+=(DODO_INSECURE=1); fi
  : >"$work/dodo.conf"
  bench_server "cmd-$name" "$host" env "${words[@]}" "$build/cmd/cmd" \
    --listen "${host_ip[$host]}:0" --log-level warn
  cluster_servers[$name]=${proc_pid[cmd-$name]}
  words+=(DODO_MANAGER="${proc_address[cmd-$name]}")
  environment[$name]=${words[*]@Q}
  [ -n "$pool" ] || return 0
  bench_imd "$name" "imd-$name" "$host" "$pool" "${words[@]}"
  wait_for 60 bench_joined "$client" "$name" 1 || die "imd-$name did not join"
}
# bench_words CLUSTER: sets `words` to what a client of it needs in its environment; a name of a directory may have blanks.
bench_words() { eval "words=(${environment[$1]})"; }
# bench_joined CLIENT-HOST CLUSTER N: so many hosts offer their memory.
bench_joined() {
  local words=()
  bench_words "$2"
  [ "$(on "$1" env "${words[@]}" "$build/tools/dodo" status --json </dev/null 2>/dev/null |
    grep -o '"idle"' | wc -l)" = "$3" ]
}

# bench_client HOST CLUSTER COMMAND...: on the client's core, with what a client of that cluster
# needs; no cluster: "". Not longer than two minutes.
bench_client() {
  local host=$1 words=()
  [ -z "$2" ] || bench_words "$2"
  shift 2
  on "$host" setsid -w setpriv --pdeathsig KILL env "${words[@]}" taskset -c 0 "${fast[@]}" \
    timeout 120 "$@" </dev/null
}

# in_turn ROUND WORD...: who comes first changes from round to round, because what comes first
# after a pause is slower.
in_turn() {
  local shift=$(($1 % ($# - 1)))
  shift
  printf '%s\n' "${@:shift+1}" "${@:1:shift}"
}

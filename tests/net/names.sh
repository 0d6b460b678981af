#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manager is named, not numbered: hosts and programs find it by its name, and find it again at the address that the
# name has when it moved. Of a list the one that answers is asked.
. "$(dirname "$0")/lib.sh"

says() { grep -qF -- "$2" "$work/$1.log"; }
names() {
  {
    echo 127.0.0.1 localhost
    printf '%s\n' "$@"
  } >"$work/hosts"
}
# The host's own /etc/hosts is this file; the file stays the same one, as it is mounted.
host_named() {
  host_add "$1" --mount || fail "could not make $1"
  on "$1" mount --bind "$work/hosts" /etc/hosts || fail "$1 has no /etc/hosts of its own"
  on "$1" ip link set eth0 gso_max_segs 1
}
# manager_at HOST: on its default port, where the name points to from now on.
manager_at() {
  names "${host_ip[$1]} manager"
  daemon_start cmd "$1" "$bin_cmd" --listen "${host_ip[$1]}:7700" || fail "cmd did not start on $1"
}

config
names
hosts_switch || fail "could not make the switch"
for name in client first second h1; do host_named "$name"; done
cluster_key
export DODO_KEY=$work/key DODO_MANAGER=manager

# Before the name has an address: the daemon waits for it, and says so; a tool and a program say what to do.
imd_start imd1 h1 16M --nice 0 || fail "imd did not start"
must "imd says that the name has no address" says imd1 'not_resolved error="manager: '
on client "$bin_dodo" status >"$work/status.out" 2>&1 && fail "status without an address"
grep -q '^dodo status: manager: .*/etc/hosts' "$work/status.out" || fail "status says: $(cat "$work/status.out")"

manager_at first
must "imd has joined by the name" hosts_idle client 1
loader_start
loader_mark
must "reads are remote" loader_remote 60 10

# The manager moves.
proc_signal cmd TERM
proc_wait cmd || true
manager_at second
must "imd has joined where the manager is now" hosts_idle client 1
says imd1 "manager=${host_ip[first]}:7700" || fail "imd has not said whom it lost"
loader_mark
must "reads are remote after the move" loader_remote 60 10
must "the program has found the manager again" grep -qE "manager_(changed|back) manager=${host_ip[second]}:7700" "$work/loader.log"
loader_end

# A list: the first has no address, the second does not answer.
export DODO_MANAGER="nobody,${host_ip[first]},manager:7700"
must "a tool finds the one that answers" hosts_idle client 1
loader_start
loader_mark
must "a program finds the one that answers" loader_remote 60 10
loader_end
imd_start imd2 h1 16M --nice 0 || fail "imd did not start with a list"
must "a host finds the one that answers" hosts_idle client 2
# An interface has other names, too.
on h1 ip link property add dev eth0 altname lan || fail "eth0 of h1 has no other name"
daemon_start rmd h1 "$DODO_BUILD/rmd/rmd" --manager "$DODO_MANAGER" --listen lan:0 \
  --idle-after 1h || fail "rmd did not start with a list"
must "rmd finds the one that answers" says rmd "manager_answers manager=${host_ip[second]}:7700"
on client "$bin_dodo" ping h9 >"$work/ping.out" 2>&1 && fail "ping of an unknown name"
grep -q '^dodo ping: h9: ' "$work/ping.out" || fail "ping says: $(cat "$work/ping.out")"

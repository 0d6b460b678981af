# SPDX-License-Identifier: MIT
# Real programs on hosts of their own: network namespaces on a switch, with faults on the switch's
# ports. Needs no root: everything happens inside `unshare -Urn` then. Each test sources this, calls
# `cluster HOSTS`, then does its worst while `loader` verifies every byte. Nothing here sleeps for a
# time; everything waits for a condition, with a deadline.
# DODO_BUILD is the build directory.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/scripts/lib/hosts.sh"
. "$root/scripts/lib/cluster.sh"
. "$root/tests/net/words.sh"

if ! hosts_possible; then
  if [ -z "${DODO_NET_INSIDE-}" ] && unshare -Urn true 2>/dev/null; then
    DODO_NET_INSIDE=1 exec unshare -Urn --kill-child=KILL --fork -- bash "$0" "$@"
  fi
  echo "SKIP: network namespaces are not allowed here"
  exit 77
fi
for tool in ip tc nft nsenter setpriv; do
  command -v "$tool" >/dev/null || PATH=$PATH:/usr/sbin:/sbin
  command -v "$tool" >/dev/null || {
    echo "$tool is missing: install it (scripts/test does)"
    exit 1
  }
done

bin_cmd=$DODO_BUILD/cmd/cmd bin_imd=$DODO_BUILD/imd/imd bin_dodo=$DODO_BUILD/tools/dodo
bin_loader=$DODO_BUILD/tests/net/loader
unset DODO_MANAGER DODO_KEY DODO_INSECURE DODO_LOG
work=$(mktemp -d "${TMPDIR:-/tmp}/dodo-net.XXXXXX")
export XDG_STATE_HOME=$work/state XDG_RUNTIME_DIR=$work # what the library keeps of retained regions goes, too

# finish [STATUS]: what the programs said, when the test fails; then everything goes.
finish() {
  local status=${1-$?} log
  procs_end
  hosts_end
  if [ "$status" -ne 0 ]; then
    for log in "$work"/*.log "$work/loader.out"; do
      [ -s "$log" ] && printf -- '---- %s\n' "${log##*/}" && tail -n 20 "$log"
    done
  fi
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

# ---- the cluster -------------------------------------------------------------------------------

# After how much silence who gives up whom: sooner than in production, so that a test sees it happen.
host_silence=1s manager_silence=3s host_dead=4s client_dead=5s grace=6s
# first_answer: how long the manager may take for its first answer. A region with DODO_FALLBACK waits no longer, and is
# not retained if it gets its memory later.
first_answer=50ms

# nobody_gives_up: where nobody dies, nobody shall be taken for dead because the machine is busy; nor
# shall a new manager free what nobody got to claim yet.
nobody_gives_up() { host_silence=60s manager_silence=120s host_dead=120s client_dead=120s grace=120s; }

# The test's directory counts as one with honest time stamps: nobody but the test changes it.
config() {
  cat >"$work/dodo.conf" <<END
[dodo]
log_level = info
[client]
alive = 300ms
refraction = 300ms
transfer_deadline = $host_silence
request_deadline = $manager_silence
request_retry = $first_answer
honest_filesystems = $(stat -f -c %t "$work")
[imd]
beat = 300ms
manager_dead = $host_dead
[cmd]
client_dead = $client_dead
host_dead = $host_dead
grace = $grace
request_deadline = $host_silence
END
  export DODO_CONFIG=$work/dodo.conf
}

# cluster_hosts N: hosts client, manager, h1 .. hN, and nothing on them.
cluster_hosts() {
  local n=$1 i
  if ! hosts_switch || ! host_add client || ! host_add manager; then
    fail "could not make the hosts"
  fi
  for ((i = 1; i <= n; i++)); do host_add "h$i" || fail "could not make h$i"; done
  # Datagrams cross the switch one by one, as on a wire, so that faults hit each alone.
  for i in client manager $(seq -f h%g 1 "$n"); do on "$i" ip link set eth0 gso_max_segs 1; done
}
# cluster N: the same with a manager, and an imd on each host.
cluster() {
  local n=$1 i
  config
  cluster_hosts "$n"
  manager_up
  for ((i = 1; i <= n; i++)); do imd_up "$i"; done
  must "all $n hosts have joined" hosts_idle client "$n"
}
# On the same address again after the first time.
manager_up() { cmd_start manager || fail "cmd did not start"; }
# At its usual priority it starves on a busy machine, where it is not alone as on a host of its own.
imd_up() { imd_start "imd$1" "h$1" 16M --nice 0 || fail "imd$1 did not start"; }
# imd_idle N: this very daemon offers its memory, not one that was there before it.
imd_idle() {
  status_is client "any(h['address'] == '${proc_address[imd$1]}' and h['state'] == 'idle' for h in s['hosts'])"
}

# file_settled FILE: a later change of it will have another stamp: twice what the library waits for.
file_settled() {
  local changed
  changed=$(stat -c %.9Z "$1")
  [ $(($(date +%s%N) - ${changed/./})) -gt 100000000 ]
}

# ---- the client under load ---------------------------------------------------------------------

# The library tells the story in loader.log, the loader how it fares in loader.out.
loader_start() {
  rm -f "$work/loader.out" # an earlier one's last words
  DODO_LOG=info proc_start loader client "$bin_loader" "$work/file" "$work/state"
  wait_for "$patience" loader_tells || fail "the loader did not start"
}
loader_tells() { [ -s "$work/loader.out" ]; }
# loader_value FIELD: as the loader printed it last.
loader_value() { tail -n 1 "$work/loader.out" | grep -o "\b$1=[0-9]*" | cut -d= -f2; }
loader_reached() { [ "$(loader_value "$1")" -ge "$2" ]; }
# loader_mark: from here on loader_did and loader_remote count.
loader_mark() {
  loader_runs || fail "the loader has ended"
  mark_ops=$(loader_value ops) mark_remote=$(loader_value remote) mark_file=$(loader_value file)
}
loader_runs() { ours "${proc_pid[loader]}"; }
# loader_did N: so many calls since the mark.
loader_did() { loader_runs && [ $(($(loader_value ops) - mark_ops)) -ge "$1" ]; }
# loader_remote PERCENT N: of at least N MB read since the mark, as much came from remote memory;
# otherwise counts from here again.
loader_remote() {
  local remote=$(($(loader_value remote) - mark_remote)) file=$(($(loader_value file) - mark_file))
  [ $((remote + file)) -ge $(($2 * 1000000)) ] || return 1
  [ $((remote * 100)) -ge $(((remote + file) * $1)) ] || { loader_mark && return 1; }
}
# loader_end: it verifies all once more; not one wrong byte.
loader_end() {
  local status=0
  proc_signal loader TERM
  wait_for "$patience" proc_gone "${proc_pid[loader]}" || fail "the loader does not end"
  proc_wait loader || status=$?
  [ "$status" -eq 0 ] || fail "the loader ended with status $status"
  [ "$(loader_value wrong)" -eq 0 ] || fail "wrong bytes"
  told "every byte was right: $(tail -n 1 "$work/loader.out")"
}
# The usual beginning of a test: a cluster under load, served from remote memory.
cluster_under_load() {
  cluster "$1"
  loader_start
  loader_mark
  must "reads come from remote memory" loader_remote 60 20
}

# ---- faults --------------------------------------------------------------------------------------

# faults: the switch's tables, doing no harm yet.
faults() {
  on switch nft -f - <<'END'
table bridge faults {
  set cut {
    type ether_addr . ether_addr
  }
  counter lost { }
  counter slowed { }
  chain hurt {
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ether saddr . ether daddr @cut drop
    ether type ip jump hurt
  }
}
END
}
# path_cut FROM TO, path_heal FROM TO: one way.
path_cut() { on switch nft add element bridge faults cut "{ ${host_mac[$1]} . ${host_mac[$2]} }"; }
path_heal() { on switch nft delete element bridge faults cut "{ ${host_mac[$1]} . ${host_mac[$2]} }"; }

# hurt HOST...: of the datagrams to each 5 % are lost, 3 % come twice, 2 % are held up behind later
# ones. A host's own share is lost on the way from it.
hurt() {
  local name
  on switch nft -f - <<'END'
add rule bridge faults hurt numgen random mod 1000 < 50 counter name lost drop
add rule bridge faults hurt numgen random mod 1000 < 20 counter name slowed meta priority set 1:20
table netdev twice {
  counter twice { }
}
END
  for name; do
    on switch nft -f - <<END
table netdev twice {
  chain $name {
    type filter hook egress device "p-$name" priority 0; policy accept;
    numgen random mod 1000 < 30 counter name twice dup to "p-$name"
  }
}
END
    on switch tc qdisc add dev "p-$name" root handle 1: htb default 10
    on switch tc class add dev "p-$name" parent 1: classid 1:10 htb rate 2gbit burst 256k quantum 60000
    on switch tc class add dev "p-$name" parent 1: classid 1:20 htb rate 4mbit burst 1600 quantum 1514
  done
}
# fault_count NAME: how often it struck (lost, slowed, twice).
fault_count() {
  local table="bridge faults"
  [ "$1" != twice ] || table="netdev twice"
  # shellcheck disable=SC2086 # two words
  on switch nft list counter $table "$1" | grep -o 'packets [0-9]*' | cut -d' ' -f2
}
fault_struck() { [ "$(fault_count "$1")" -ge "$2" ]; }

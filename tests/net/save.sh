#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The owner of a host comes back while a program uses its memory: what the program used last moves to another host, imd ends,
# and no region is lost. Then the manager dies in the midst of that, and then imd: the program has every byte right.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rmd_lib.sh"

rmd_up() {
  touch -a -d '1 hour ago' "$work/console$1"
  daemon_start "rmd$1" "h$1" "$bin_rmd" --manager "$DODO_MANAGER" --listen "${host_ip[h$1]}" --pool 16M \
    --console "$work/console$1" || fail "rmd$1 did not start"
}
# logged N EVENT COUNT: rmd N or an imd of its has said so.
logged() { [ "$(grep -c " $2 " "$work/rmd$1.log")" -ge "$3" ]; }
regions() {
  on client timeout 10 "$bin_dodo" regions --json </dev/null |
    python3 -c "import json, sys; print(sum(r['host'].startswith('${host_ip[h$1]}:') for r in json.load(sys.stdin)['regions']))"
}
has_regions() { [ "$(regions "$1")" -gt 0 ]; }
# Of a host with regions, in $host: the owner comes back.
declare -A came=()
used() { for host in 1 2; do ! has_regions "$host" || return 0; done && return 1; }
owner_comes() {
  must "both hosts are lent" hosts_idle client 2
  must "one has regions" used
  found "$host" || fail "host $host is not lent"
  came[$host]=$((${came[$host]-0} + 1))
  touch -a "$work/console$host"
  must "its owner is back, and imd is to save" logged "$host" owner_back "${came[$host]}"
}

nobody_gives_up
host_silence=2s # but the host whose imd is killed
config
rmd_settings 'poll = 200ms' 'idle_after = 300ms' 'save_within = 60s'
echo 'leave_deadline = 300ms' >>"$work/dodo.conf" # of [imd]
cluster_hosts 2
manager_up
for i in 1 2; do rmd_up "$i"; done
must "both hosts are lent" hosts_idle client 2
loader_start
loader_mark
must "reads come from remote memory" loader_remote 60 10
owner_comes
must "imd has ended" gone "$old"
logged "$host" saved 1 || fail "imd ended, and not because all was saved"
[ "$(loader_value lost)" -eq 0 ] || fail "regions were lost"
loader_mark
must "what was used last is read from another host" loader_remote 90 5

owner_comes
proc_kill cmd
must "imd has ended without a manager" gone "$old"
manager_up
loader_mark
must "work goes on" loader_did 200

owner_comes
kill -9 "$old" 2>/dev/null || true # it may have saved all by now
must "imd is gone" gone "$old"
loader_mark
must "work goes on" loader_did 200
loader_end

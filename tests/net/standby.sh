#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Two managers, of which the one with a lock is active. It is killed under load: reads and writes go on, the other one
# takes its place, and opens wait for that and do not fail. Then that one is ended, and the first takes over again.
. "$(dirname "$0")/lib.sh"

says() { [ "$(grep -cF -- "$2" "$work/$1.log")" -ge "${3-1}" ]; }
# The managers of this test share a file, as on storage that all of them see.
cat >"$work/lease" <<END
#!/bin/sh
exec flock -o "$work/lock" sh -c '
echo \$PPID >"$work/holder"
n=\$((\$(cat "$work/number" 2>/dev/null || echo 0) + 1))
echo \$n >"$work/number"
echo \$n; exec cat >/dev/null'
END
chmod +x "$work/lease"
manager_on() { # NAME HOST ADDRESS
  daemon_start "$1" "$2" "$bin_cmd" --listen "$3" --lease "$work/lease" || fail "$1 did not start"
}
opener_value() { tail -n 1 "$work/opener.out" | grep -o "\b$1=[0-9]*" | cut -d= -f2; }
opener_mark() { opener_from=$(opener_value opens); }
opener_goes_on() { [ "$(opener_value opens)" -gt $((opener_from + ${1-50})) ]; }
works_on() {
  opener_mark
  must "$1" opener_goes_on
  [ "$(opener_value failed)" -eq 0 ] || fail "opens failed"
  [ "$(loader_value lost)" -eq 0 ] || fail "regions were lost"
}

nobody_gives_up
config
hosts_switch || fail "could not make the switch"
for name in client first second h1 h2; do host_add "$name" || fail "could not make $name"; done
for name in client first second h1 h2; do on "$name" ip link set eth0 gso_max_segs 1; done
cluster_key
export DODO_KEY=$work/key
manager_on cmd1 first "${host_ip[first]}:7700"
export DODO_MANAGER=${host_ip[first]}:7700,${host_ip[second]}:7700
must "the first one is active" says cmd1 "lease_gained number=1"
manager_on cmd2 second "${host_ip[second]}:7700"
for i in 1 2; do imd_start "imd$i" "h$i" 16M --nice 0 || fail "imd$i did not start"; done
must "both hosts have joined" status_is client "len(s['hosts']) == 2 and s['active'] and s['lease'] == '1'"
must "the other one stands by" says cmd2 manager_standby
loader_start
loader_mark
truncate -s 64K "$work/opened"
rm -f "$work/opener.out"
proc_start opener client "$DODO_BUILD/tests/net/opener" "$work/opened"
wait_for "$patience" test -s "$work/opener.out" || fail "the opener did not start"
must "reads come from remote memory" loader_remote 60 5
works_on "regions are opened"

proc_kill cmd1
works_on "regions are opened again"
says cmd2 "lease_gained number=2" || fail "the second one is not active"
loader_mark
must "reads stay remote" loader_remote 99 3
must "hosts and regions are known again" status_is client \
  "s['lease'] == '2' and len(s['hosts']) == 2 and s['regions'] >= 16"
told "the longest time without an open was $(opener_value gap) ms"

# It comes back, and stands by.
manager_on cmd1 first "${host_ip[first]}:7700"
on client "$bin_dodo" status --manager "${host_ip[first]}:7700" >"$work/status.out" || fail "status of the first one"
grep -q '^manager .* stands by for' "$work/status.out" || fail "it says: $(cat "$work/status.out")"

# The active one is ended as asked: hosts and programs hear of it.
proc_signal cmd2 TERM
proc_wait cmd2 || fail "cmd2 ended with status $?"
works_on "regions are opened by the first one"
says cmd1 "lease_gained number=3" || fail "the first one is not active"
loader_mark
must "reads stay remote" loader_remote 99 3

# The lock is lost while its manager runs.
manager_on cmd2 second "${host_ip[second]}:7700"
must "the other one stands by again" says cmd2 manager_standby 2
kill -KILL "$(cat "$work/holder")"
must "the first one has lost its lease" says cmd1 "lease_lost number=3"
must "the other one is active again" says cmd2 "lease_gained number=4"
works_on "regions are opened by the second one again"
[ "$(opener_value failed)" -eq 0 ] || fail "opens failed: $(cat "$work/opener.log")"
[ "$(loader_value lost)" -eq 0 ] || fail "regions were lost"
proc_signal opener TERM
proc_wait opener || fail "the opener ended with status $?"
loader_end

# A command that gives no number, and a manager whose helper is killed: it ends, to be started with another one.
daemon_start cmd3 first "$bin_cmd" --listen "${host_ip[first]}:7701" --lease "/bin/echo x" || fail "cmd3 did not start"
must "what is no number is no lease" says cmd3 not_a_lease
says cmd3 lease_gained && fail "it was taken for a lease"
children=$(cat "/proc/${proc_pid[cmd3]}/task/${proc_pid[cmd3]}/children")
for helper in $children; do
  [ "$(cat "/proc/$helper/comm")" != dodo-lease ] || kill -KILL "$helper"
done
must "a manager without its helper ends" proc_gone "${proc_pid[cmd3]}"
status=0
proc_wait cmd3 || status=$?
[ "$status" -eq 1 ] || fail "it ended with status $status"
says cmd3 lease_broken || fail "it does not say why it has ended"

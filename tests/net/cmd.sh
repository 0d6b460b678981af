#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manager is killed under load: reads stay remote. Started again on its address it learns all
# regions again. Then it is paused for a while.
. "$(dirname "$0")/lib.sh"

nobody_gives_up
cluster_under_load 3
loader_mark
must "reads are remote" loader_remote 99 30
lost=$(loader_value lost)
proc_kill cmd
loader_mark
must "reads stay remote without a manager" loader_remote 99 30
manager_up
must "the manager knows hosts, regions and client again" status_is client \
  "len(s['hosts']) == 3 and s['regions'] == 16 and s['clients'] == 1"
loader_mark
must "reads stay remote with the new manager" loader_remote 99 30
[ "$(loader_value lost)" -eq "$lost" ] || fail "regions were lost on the way"

proc_signal cmd STOP
loader_mark
must "reads stay remote while the manager is paused" loader_remote 99 30
proc_signal cmd CONT
must "the manager is back" status_is client "s['regions'] == 16 and s['clients'] == 1"
[ "$(loader_value lost)" -eq "$lost" ] || fail "regions were lost on the way"
loader_end
must "the regions are given back" status_is client \
  "s['regions'] == 0 and all(h['free_bytes'] == h['pool_bytes'] for h in s['hosts'])"

# It ends in order: hosts learn that, and join the next one long before their next beat.
sed -i -e 's/^beat = .*/beat = 10min/' -e 's/^\(manager_dead\|host_dead\|grace\) = .*/\1 = 1h/' "$work/dodo.conf"
for i in 1 2 3; do proc_kill "imd$i"; done
proc_signal cmd TERM
proc_wait cmd || true
manager_up
imd_up 1
must "the host has joined" imd_idle 1
proc_signal cmd TERM
proc_wait cmd || true
manager_up
must "the host has joined again" imd_idle 1

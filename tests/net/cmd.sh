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
  "len(s['hosts']) == 3 and s['regions'] == 8 and s['clients'] == 1"
loader_mark
must "reads stay remote with the new manager" loader_remote 99 30
[ "$(loader_value lost)" -eq "$lost" ] || fail "regions were lost on the way"

proc_signal cmd STOP
loader_mark
must "reads stay remote while the manager is paused" loader_remote 99 30
proc_signal cmd CONT
must "the manager is back" status_is client "s['regions'] == 8 and s['clients'] == 1"
[ "$(loader_value lost)" -eq "$lost" ] || fail "regions were lost on the way"
loader_end
must "the regions are given back" status_is client \
  "s['regions'] == 0 and all(h['free_bytes'] == h['pool_bytes'] for h in s['hosts'])"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host's daemon is killed under load and started again, then another is paused for longer than
# anybody waits, then one is asked to end.
. "$(dirname "$0")/lib.sh"

cluster_under_load 2
lost=$(loader_value lost)
proc_kill imd1
loader_mark
must "the client gives the dead host up" loader_reached lost $((lost + 1))
must "work goes on" loader_did 1000
imd_up 1
must "the host is back, empty" imd_idle 1
loader_mark
must "reads come from remote memory" loader_remote 90 20

lost=$(loader_value lost)
proc_signal imd2 STOP
must "the client gives the paused host up" loader_reached lost $((lost + 1))
must "the manager gives it up" hosts_idle client 1
loader_mark
must "work goes on" loader_did 1000
proc_signal imd2 CONT
must "the host is back" imd_idle 2
loader_mark
must "reads come from remote memory" loader_remote 90 20

lost=$(loader_value lost)
proc_signal imd1 TERM
wait_for "$patience" proc_gone "${proc_pid[imd1]}" || fail "imd1 does not end"
proc_wait imd1 || fail "imd1 ended with status $?"
loader_mark
must "the client has heard of the leaving host" loader_reached lost $((lost + 1))
must "reads come from the memory that is left" loader_remote 90 20
must "the manager has heard of it, too" hosts_idle client 1
loader_end
must "what the paused host had kept is freed" status_is client \
  "s['regions'] == 0 and all(h['free_bytes'] == h['pool_bytes'] for h in s['hosts'])"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The client is killed under load and run again at once on the same file; then it is paused for
# longer than the manager waits.
. "$(dirname "$0")/lib.sh"

host_silence=60s manager_silence=120s host_dead=120s # only programs die here
cluster_under_load 2
proc_kill loader
loader_start # looks for wrong bytes that the killed one left, and opens its regions again
must "the killed client's regions are reclaimed" status_is client \
  "s['regions'] == 16 and s['clients'] == 1"
loader_mark
must "reads come from remote memory" loader_remote 90 20

proc_signal loader STOP
must "the paused client's regions are reclaimed" status_is client \
  "s['regions'] == 0 and s['clients'] == 0"
must "the hosts' memory is free again" status_is client \
  "all(h['free_bytes'] == h['pool_bytes'] for h in s['hosts'])"
loader_mark
proc_signal loader CONT
must "it works again" loader_did 1000
loader_mark
must "reads come from remote memory" loader_remote 90 20
loader_end
must "the regions are given back" status_is client \
  "s['regions'] == 0 and all(h['free_bytes'] == h['pool_bytes'] for h in s['hosts'])"

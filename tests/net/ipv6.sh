#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# IPv6, on one host's loopback with its large packets, and without a key.
. "$(dirname "$0")/lib.sh"

nobody_gives_up
config
export DODO_INSECURE=1
if ! hosts_switch || ! host_add client; then
  fail "could not make the host"
fi
for name in client manager h1 h2; do
  host_pid[$name]=${host_pid[client]} host_ip[$name]="[::1]"
done
manager_up
imd_up 1
imd_up 2
must "both hosts have joined" hosts_idle client 2
loader_start
loader_mark
must "reads come from remote memory" loader_remote 90 20
status_is client "all(h['address'].startswith('[::1]:') for h in s['hosts'])" ||
  fail "the hosts have IPv6 addresses"
loader_end

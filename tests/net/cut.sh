#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One direction of a path is cut, then the other, between the client and a host, and between a host
# and the manager; each time the work goes on, and after healing the host is used again.
. "$(dirname "$0")/lib.sh"

cluster_under_load 2
faults
for way in "h1 client" "client h2"; do # the first leaves all regions at h2
  read -r from to <<<"$way"
  lost=$(loader_value lost) # before the cut: a host may be given up before the next command runs
  path_cut "$from" "$to"
  loader_mark
  must "the client gives the host up ($from to $to is cut)" loader_reached lost $((lost + 1))
  must "work goes on" loader_did 1000
  path_heal "$from" "$to"
  loader_mark
  must "reads come from remote memory again" loader_remote 90 20
done
# Cut off from the manager, h2 is heard by it until h2's kernel, which gets no answers either, no
# longer knows the manager's address: after half a minute, but sooner here.
on h2 sh -c 'cd /proc/sys/net/ipv4/neigh/eth0 && echo 1000 >base_reachable_time_ms &&
  echo 1 >delay_first_probe_time && ip neigh flush dev eth0' || fail "h2 does not forget addresses"
for way in "h2 manager" "manager h2"; do
  read -r from to <<<"$way"
  path_cut "$from" "$to"
  must "the manager gives h2 up ($from to $to is cut)" hosts_idle client 1
  path_heal "$from" "$to"
  must "h2 is back" hosts_idle client 2
done
loader_mark
must "reads come from remote memory" loader_remote 90 20
loader_end

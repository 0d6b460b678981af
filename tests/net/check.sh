#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo check names what a firewall refuses, one way or the other, and the host that is down.
. "$(dirname "$0")/lib.sh"

# checked STATUS TEXT: on the client, it ends so and says so.
checked() {
  local status=0 said
  said=$(on client "$bin_dodo" check --timeout 3s 2>&1) || status=$?
  [ "$status" -eq "$1" ] && grep -qF "$2" <<<"$said"
}
# wall HOST HOOK RULE: that host's firewall; no_wall HOST: it is gone.
wall() {
  on "$1" nft -f - <<<"table inet wall { chain refused { type filter hook $2 priority 0; policy accept; $3 drop; }; }"
}
no_wall() { on "$1" nft delete table inet wall; }

cluster 2
must "all is in order" checked 0 "2 known, all in order"
wall h1 input "ip saddr ${host_ip[client]} meta l4proto udp"
must "a host that refuses the client is named" checked 1 \
  "fault   ${proc_address[imd1]} answers the manager, but not this host: does a firewall"
no_wall h1
wall h2 output "ip daddr ${host_ip[manager]} meta l4proto udp"
must "a host that does not reach the manager is named" checked 1 \
  "fault   ${proc_address[imd2]} answers here, but the manager does not hear it: does a firewall"
no_wall h2
must "all is in order again" checked 0 "2 known, all in order"
wall manager input "ip saddr ${host_ip[client]} meta l4proto udp"
must "a manager that refuses the client is named" checked 1 "fault   $DODO_MANAGER does not answer within 3s"
no_wall manager
proc_kill imd1
must "a host that is down is named" checked 1 \
  "fault   ${proc_address[imd1]} is silent, and does not answer here either"

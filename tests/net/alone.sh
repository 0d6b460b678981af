#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The daemons say so when the manager or their own address goes, and when it is back; one whose
# address comes late waits for it.
. "$(dirname "$0")/lib.sh"

# says NAME WORDS N: that many lines of its log have these words.
says() { [ "$(grep -cF -- "$2" "$work/$1.log")" -ge "$3" ]; }

config
cluster_hosts 2
manager_up
imd_up 1
printf '[rmd]\nbeat = 300ms\n' >>"$work/dodo.conf"
daemon_start rmd2 h2 "$DODO_BUILD/rmd/rmd" --manager "$DODO_MANAGER" --listen "${host_ip[h2]}" \
  --pool 16M || fail "rmd2 did not start"
must "the imd has joined" says imd1 joined 1
must "the monitor has been answered" says rmd2 manager_answers 1

proc_kill cmd
must "imd says that the manager is lost" says imd1 manager_lost 1
must "rmd says that the manager is lost" says rmd2 manager_lost 1
manager_up
must "imd has joined the next one" says imd1 joined 2
must "rmd has been answered by the next one" says rmd2 manager_answers 2
! says imd1 cut_off 1 || fail "imd takes a dead manager for a lost address"

address=$(on h1 ip -o -4 addr show dev eth0 | awk '{ print $4 }')
on h1 ip addr del "$address" dev eth0
must "imd says that its address is gone" says imd1 cut_off 1
must "imd says that it has lost the manager" says imd1 manager_lost 2
on h1 ip addr add "$address" dev eth0
must "imd says that it is back" says imd1 reaches_others_again 1
must "imd has joined again" says imd1 joined 3

# One that comes late.
address=$(on h2 ip -o -4 addr show dev eth0 | awk '{ print $4 }')
on h2 ip addr del "$address" dev eth0
imd_start imd2 h2 16M --nice 0 || fail "imd2 does not start without its address"
must "imd waits for its address" says imd2 address_not_there 1
on h2 ip addr add "$address" dev eth0
must "imd has joined from it" says imd2 joined 1

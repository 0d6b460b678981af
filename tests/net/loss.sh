#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# 5 % of all datagrams are lost, on every link and in both directions; some come twice, some late.
# loss.sh plain: without a key, which is another way through sockets and sessions.
. "$(dirname "$0")/lib.sh"

[ "${1-}" != plain ] || export DODO_INSECURE=1

nobody_gives_up
cluster_under_load 2
faults
hurt client manager h1 h2
loader_mark
must "2000 calls on bad links" loader_did 2000
must "datagrams were lost" fault_struck lost 500
must "datagrams came twice" fault_struck twice 300
must "datagrams came late" fault_struck slowed 200
loader_mark
must "reads come from remote memory all the same" loader_remote 50 20
loader_end

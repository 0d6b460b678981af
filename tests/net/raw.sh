#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Dodo's own traffic as raw frames: the transport between two hosts with all that holds over UDP; then a cluster of which
# client and host have it. Bytes are right and really came as frames; they go on by UDP, right too, where frames are lost
# and where there is no helper.
. "$(dirname "$0")/lib.sh"

bin_socket=$DODO_BUILD/usocket/helper/dodo-socket
tests=$DODO_BUILD/tests/unit

# helper_up HOST: ready when this returns.
helper_up() {
  mkdir -p "$work/$1"
  proc_start "socket-$1" "$1" "$bin_socket" --interface eth0 --socket "$work/$1/eth0" --group 0
  must "the helper of $1 is ready" grep -qs "^dodo-socket ready: " "$work/socket-$1.out"
}
# transport NAME ADDRESS ADDRESS: the transport's own test, between client and h1.
transport() {
  timeout 300 "$tests/test-transport_raw" "/proc/${host_pid[client]}/ns/net" "$work/client" "$2" \
    "/proc/${host_pid[h1]}/ns/net" "$work/h1" "$3" >"$work/$1.log" 2>&1 || fail "$1"
  told "$1: $(grep -c '^ok\|       OK ' "$work/$1.log") cases"
}

cluster_hosts 1
helper_up client
helper_up h1
transport ip4 "${host_ip[client]}:0" "${host_ip[h1]}:0"
on client ip addr add fd88::1/64 dev eth0 nodad
on h1 ip addr add fd88::2/64 dev eth0 nodad
transport ip6 "[fd88::1]:0" "[fd88::2]:0"

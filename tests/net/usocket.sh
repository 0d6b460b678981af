#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# libusocket over raw frames, on a pair of interfaces that is made for this and goes with it: all that holds over UDP, what
# strangers can do, what who has a socket can do, and the helper that gives it.
. "$(dirname "$0")/lib.sh"

bin_socket=$DODO_BUILD/usocket/helper/dodo-socket
tests=$DODO_BUILD/tests/unit
hosts_hold pair --net || fail "could not make the host"
on pair ip link add ua type veth peer name ub
for name in ua ub; do on pair ip link set "$name" up; done
on pair ip link set lo up
on pair ip link property add dev ua altname ua-other

# helper_up INTERFACE: ready when this returns.
helper_up() {
  proc_start "socket-$1" pair "$bin_socket" --interface "$1" --socket "$work/$1" --group 0
  must "the helper of $1 is ready" grep -qs "^dodo-socket ready: " "$work/socket-$1.out"
}
# passes NAME COMMAND...: a test program; what it says is shown if it fails.
passes() {
  local name=$1
  shift
  on pair env DODO_SOCKET_DIR="$work" timeout 300 "$@" >"$work/$name.log" 2>&1 || fail "$name"
  told "$name: $(grep -c '^ok\|       OK ' "$work/$name.log") cases"
}

passes helper "$tests/test-usocket_helper" "$bin_socket"
helper_up ua
helper_up ub
passes frames "$tests/test-usocket" raw

# Once more with frames of 9000 bytes.
for name in ua ub; do on pair ip link set "$name" mtu 9000; done
passes jumbo "$tests/test-usocket" raw

# This one ends with the interfaces taken away.
passes strangers "$tests/test-usocket_raw"

for name in ua ub; do
  proc_signal "socket-$name" TERM
  proc_wait "socket-$name" || fail "the helper of $name ended with status $?"
done

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

# ---- a cluster -----------------------------------------------------------------------------------

nobody_gives_up
config
sed -i 's/^\[dodo\]$/&\ntransport = raw\ninterface = eth0/; s/^\[imd\]$/&\nmetrics = 127.0.0.1:0/' "$work/dodo.conf"
# counts: the imd's metrics, in the file `counts`.
counts() {
  local port
  port=$(grep -o 'url=http://127\.0\.0\.1:[0-9]*' "$work/imd1.log" | head -n 1)
  # shellcheck disable=SC2016 # for the shell on h1
  on h1 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$1" && printf "GET /metrics HTTP/1.0\r\n\r\n" >&3 && cat <&3' \
    - "${port##*:}" >"$work/counts"
}
# count NAME: one of them.
count() { counts && sed -n "s/^dodo_imd_$1_total \([0-9]*\).*/\1/p" "$work/counts"; }
counted() { [ "$(count "$1")" -ge "$2" ]; }
# frames_go_on: more than probes alone; the ends poll at times.
frames_go_on() { counted frames_received $((before + 200)); }

manager_up
DODO_SOCKET_DIR=$work/h1 imd_start imd1 h1 16M --nice 0 --poll 1ms || fail "imd1 did not start"
must "the host has joined" hosts_idle client 1
! grep -q no_raw_frames "$work/imd1.log" || fail "the imd has no raw frames"
export DODO_SOCKET_DIR=$work/client
loader_start
loader_mark
must "reads come from remote memory" loader_remote 60 2
before=0
must "requests come as raw frames" frames_go_on
must "and answers go so" counted frames_sent 200
[ "$(count frames_refused)" -eq 0 ] || fail "frames of the right sender were refused"

# No frame comes through any more, and all datagrams do.
on switch nft -f - <<'END'
table bridge raw {
  chain forward {
    type filter hook forward priority 0; policy accept;
    ether type 0x88b5 counter drop
  }
}
END
before=$(count frames_received) reads=$(count reads) lost=$(loader_value lost)
must "work goes on by UDP" counted reads $((reads + 300))
[ "$(count frames_received)" -le $((before + 50)) ] || fail "frames came where none can"
on switch nft delete table bridge raw
before=$(count frames_received)
must "frames go again" frames_go_on
[ "$(loader_value lost)" -eq "$lost" ] || fail "the host was given up for want of frames"
loader_end
! grep -q no_raw_frames "$work/loader.log" || fail "the loader had no raw frames"

# A program without a helper says so and goes by UDP.
mkdir "$work/none"
export DODO_SOCKET_DIR=$work/none
before=$(count frames_received) reads=$(count reads)
loader_start
loader_mark
must "reads come from remote memory without a helper" counted reads $((reads + 300))
[ "$(count frames_received)" -eq "$before" ] || fail "there were frames without a helper"
loader_end
grep -q 'no_raw_frames interface=eth0 .*fix="start dodo-socket' "$work/loader.log" || fail "nobody said what is missing"

# Without a key nothing travels where no firewall sees it.
status=0
on h1 env -u DODO_KEY "$bin_imd" --manager "$DODO_MANAGER" --listen "${host_ip[h1]}:0" --pool 16M \
  >"$work/keyless.log" 2>&1 || status=$?
[ "$status" -eq 2 ] || fail "an imd without a key took raw frames: status $status"
grep -q "transport raw needs a cluster key" "$work/keyless.log" || fail "an imd without a key does not say so"

# SPDX-License-Identifier: MIT
# Private hosts: network namespaces joined by a switch, for the demonstration and the tests.
# Needs root, or to be inside `unshare -Urn`. Nothing is named outside: each namespace lives as long
# as the process that holds it, and that dies with this shell.
# Sourced by bash.
# shellcheck shell=bash

# ours PID: is it (still) a child of this shell? Numbers of processes are used again.
ours() { grep -q "^PPid:[[:space:]]*$$\$" "/proc/$1/status" 2>/dev/null; }

declare -A host_pid=() host_ip=() host_mac=() # by name; the switch is host_pid[switch]
hosts_count=0

# host_enter HOST: sets the array `enter` to the words before a command that run it there. A name
# that is no host of ours means this machine itself.
host_enter() {
  local pid=${host_pid[$1]-}
  enter=()
  [ -n "$pid" ] || return 0
  enter=(nsenter --net="/proc/$pid/ns/net")
  # With its root and directory, too, or a chroot would be left by the way.
  [ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ] ||
    enter+=(--mount="/proc/$pid/ns/mnt" --root="/proc/$pid/root" --wd="/proc/$pid/cwd")
  enter+=(--)
}

# on HOST COMMAND...: runs it there.
on() {
  local enter
  host_enter "$1"
  shift
  "${enter[@]}" "$@"
}

# hosts_hold NAME UNSHARE-OPTION...: a namespace, held by a process that sleeps in it.
hosts_hold() {
  local name=$1 fd word
  shift
  exec {fd}< <(exec setsid setpriv --pdeathsig KILL unshare "$@" \
    sh -c 'echo up; exec sleep infinity' 2>/dev/null)
  host_pid[$name]=$!
  read -r -u "$fd" word || word=
  exec {fd}<&-
  [ "$word" = up ]
}

# hosts_switch: the switch that all hosts hang on. A switch does not look into IP packets: where the
# kernel has br_netfilter, each frame would also pass the hooks of iptables.
hosts_switch() {
  # shellcheck disable=SC2016 # the switch's shell expands it
  hosts_hold switch --net &&
    on switch ip link add br0 type bridge stp_state 0 mcast_snooping 0 &&
    on switch ip link set br0 up &&
    on switch sh -c 'for f in /proc/sys/net/bridge/bridge-nf-call-*; do
      [ ! -w "$f" ] || echo 0 >"$f" || exit
    done'
}

# host_add NAME [UNSHARE-OPTION...]: a host on the switch, with its address in host_ip[NAME], its
# interface eth0, and the switch's port to it, p-NAME.
host_add() {
  local name=$1 n=$((++hosts_count))
  shift
  host_ip[$name]=10.88.0.$n
  host_mac[$name]=$(printf '02:00:00:00:00:%02x' "$n")
  hosts_hold "$name" --net "$@" &&
    on switch ip link add "p-$name" type veth peer name eth0 address "${host_mac[$name]}" \
      netns "${host_pid[$name]}" &&
    on switch ip link set "p-$name" master br0 up &&
    on "$name" ip addr add "${host_ip[$name]}/24" dev eth0 &&
    on "$name" ip link set eth0 up &&
    on "$name" ip link set lo up
}

# host_rate NAME RATE [BYTES [BURST]]: of its link, in each direction, with a small switch's queue; or
# with one of that many bytes at the switch's port, and at the host one that its sockets fill first,
# as theirs wait for a network card.
host_rate() {
  local own=(latency 2ms) port=(latency 2ms) shape=(tbf rate "$2" burst "${4:-32kb}")
  [ -z "${3-}" ] || own=(limit 1500kb) port=(limit "$3")
  on "$1" tc qdisc replace dev eth0 root "${shape[@]}" "${own[@]}" &&
    on switch tc qdisc replace dev "p-$1" root "${shape[@]}" "${port[@]}"
}

# hosts_end: all of it goes.
hosts_end() {
  local name
  for name in "${!host_pid[@]}"; do
    ! ours "${host_pid[$name]}" || kill "${host_pid[$name]}" 2>/dev/null || true
  done
  host_pid=()
}

# hosts_possible: can this process make hosts?
hosts_possible() {
  unshare --net true 2>/dev/null
}

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Ordinary users on two hosts get sockets for raw frames from the helpers, those of the group alone; a copy over a network
# that loses frames is the file; without a helper there is UDP. Root only: elsewhere there are no other users.
if [ "$(id -u)" -ne 0 ] || [ -n "${DODO_NET_INSIDE-}" ]; then
  echo "no root: there are no other users"
  exit 77
fi
. "$(dirname "$0")/lib.sh"

bin_socket=$DODO_BUILD/usocket/helper/dodo-socket
# Users that do not exist on this machine. The group is the first one's primary group, and a supplementary group of the
# second one; the others are not in it. The last one is in root's.
group=4242
declare -A ids=([first]="--reuid 4301 --regid $group --clear-groups"
  [supplementary]="--reuid 4302 --regid 4302 --groups 4301,$group" [stranger]="--reuid 4303 --regid 4303 --clear-groups"
  [administrator]="--reuid 4304 --regid 4304 --groups 0")
# as USER HOST COMMAND...
as() {
  local id host=$2
  read -r -a id <<<"${ids[$1]}"
  shift 2
  on "$host" setpriv "${id[@]}" --inh-caps=-all "$@"
}
chmod 755 "$work"
mkdir -m 777 "$work/files"
# The programs, where these users can read them.
mkdir "$work/bin"
for program in uping ucopy; do cp "$DODO_BUILD/examples/$program" "$work/bin"; done
cp "$DODO_BUILD"/usocket/public/libusocket.so.0 "$work/bin"
export LD_LIBRARY_PATH=$work/bin

if ! hosts_switch || ! host_add a || ! host_add b; then
  fail "could not make the hosts"
fi
for host in a b; do
  mkdir "$work/$host"
  # On a small stack: a user may be in very many groups.
  proc_start "socket-$host" "$host" prlimit --stack=131072 "$bin_socket" --interface eth0 --socket "$work/$host/eth0" \
    --group "$group"
  must "the helper of $host is ready" grep -qs "^dodo-socket ready: " "$work/socket-$host.out"
done

# ---- who may ----------------------------------------------------------------------------------

# pings USER WAY ADDRESS...: by which way the messages went.
pings() {
  local user=$1 way=$2
  shift 2
  DODO_SOCKET_DIR=$work/a as "$user" a timeout 60 "$work/bin/uping" -n 100 "$@" >"$work/uping.out" 2>"$work/uping.log" ||
    fail "uping: $(cat "$work/uping.log")"
  grep -q "^$way: 100 messages" "$work/uping.out" || fail "$user: not by $way: $(cat "$work/uping.out")"
  told "$user: $(cat "$work/uping.out")"
}
raw=${host_mac[b]}/7000%eth0 udp=${host_ip[b]}:7000
read -r -a id <<<"${ids[first]}"
DODO_SOCKET_DIR=$work/b proc_start serve b setpriv "${id[@]}" --inh-caps=-all "$work/bin/uping" serve any/7000%eth0 "$udp"
must "it answers at both addresses" grep -qs "answers at $udp" "$work/serve.out"
grep -q "answers at $raw" "$work/serve.out" || fail "it does not answer at $raw: $(cat "$work/serve.out" "$work/serve.log")"
pings first "$raw" "$raw" "$udp"
pings supplementary "$raw" "$raw" "$udp"
pings stranger "$udp" "$raw" "$udp"
grep -q 'Permission denied\|join it' "$work/uping.log" || fail "a stranger does not learn why: $(cat "$work/uping.log")"

# Nobody of them has a privilege, nor gets one.
grep -q '^CapEff:[[:space:]]*0*$' "/proc/${proc_pid[serve]}/status" || fail "uping has a capability"

# The file's mode keeps strangers out; where it does not, the helper looks who asks.
chmod 666 "$work/a/eth0"
pings stranger "$udp" "$raw" "$udp"
grep -q 'refused requests=[0-9]* uid=4303 ' "$work/socket-a.log" || fail "the helper does not look who asks: $(cat "$work/socket-a.log")"
pings supplementary "$raw" "$raw" "$udp"

# A helper of another network namespace is of no use, also where its interface has the same number.
number() { on "$1" ip -o link show eth0 | cut -d: -f1; }
[ "$(number a)" = "$(number b)" ] || fail "the interfaces have different numbers"
DODO_SOCKET_DIR=$work/a as first b timeout 60 "$work/bin/uping" -n 100 "$raw" "$udp" >"$work/uping.out" 2>"$work/uping.log" ||
  fail "uping: $(cat "$work/uping.log")"
grep -q 'for this network namespace' "$work/uping.log" || fail "it takes a socket of another one: $(cat "$work/uping.out")"

# ---- a copy -----------------------------------------------------------------------------------

# copies NAME ADDRESS-OF-TAKER ADDRESS-FOR-GIVER
copies() {
  rm -f "$work/files/copy"
  DODO_SOCKET_DIR=$work/b proc_start "take-$1" b setpriv "${id[@]}" --inh-caps=-all "$work/bin/ucopy" take "$2" "$work/files/copy"
  must "$1: the taker is ready" grep -qs 'takes at' "$work/take-$1.out"
  DODO_SOCKET_DIR=$work/a as first a timeout 120 "$work/bin/ucopy" give "$3" "$work/files/file" >"$work/give-$1.out" ||
    fail "$1: the giver failed"
  proc_wait "take-$1" || fail "$1: the taker ended with status $?: $(cat "$work/take-$1.log")"
  cmp "$work/files/file" "$work/files/copy" || fail "$1: the copy is not the file"
  told "$1: $(cat "$work/give-$1.out")"
}
head -c 3000001 /dev/urandom >"$work/files/file"
copies raw any/7001%eth0 "${host_mac[b]}/7001%eth0"
copies udp "${host_ip[b]}:7001" "${host_ip[b]}:7001"

# An error says of which file.
for side in "give $udp" "take ${host_ip[b]}:7001"; do
  # shellcheck disable=SC2086 # words
  as stranger b "$work/bin/ucopy" $side "$work/files/none/file" 2>"$work/none.log" && fail "$side: a copy without a file"
  grep -q "^ucopy: $work/files/none/file: No such file or directory: make sure" "$work/none.log" ||
    fail "$side: it does not say which file: $(cat "$work/none.log")"
done

# The switch loses 3 % of the frames, also of those that acknowledge.
on switch nft -f - <<'END'
table bridge faults {
  counter lost { }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ether type 0x88b5 numgen random mod 1000 < 30 counter name lost drop
  }
}
END
copies lossy any/7002%eth0 "${host_mac[b]}/7002%eth0"
grep -q ' [1-9][0-9]* sent again' "$work/give-lossy.out" || fail "nothing was lost"

# ---- without a helper -------------------------------------------------------------------------

proc_signal socket-a TERM
proc_wait socket-a || fail "the helper ended with status $?"
pings first "$udp" "$raw" "$udp"
grep -q 'start dodo-socket' "$work/uping.log" || fail "nobody says what to do: $(cat "$work/uping.log")"

# ---- without a group --------------------------------------------------------------------------

proc_start socket-a2 a "$bin_socket" --interface eth0 --socket "$work/a/eth0" --group nobody-has-made-it
must "the helper of a is ready" grep -qs "^dodo-socket ready: " "$work/socket-a2.out"
grep -q 'no_group group=nobody-has-made-it' "$work/socket-a2.log" || fail "it does not say that there is no group"
pings administrator "$udp" "$raw" "$udp"
grep -q 'refused requests=1 uid=4304 ' "$work/socket-a2.log" || fail "root's group counts as the one that there is not"

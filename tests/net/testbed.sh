#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A testbed in use: what is asked for is there, commands run on its hosts as on hosts, links are cut,
# lose and heal; two of them do not know each other.
# shellcheck disable=SC2016 # what stands in single quotes is for shells on the hosts
. "$(dirname "$0")/testbed_lib.sh"

# Nobody dies here, and nobody shall be taken for dead because the machine is busy.
printf '[client]\ntransfer_deadline = 60s\nrequest_deadline = 120s\n[cmd]\nhost_dead = 120s\nrequest_deadline = 60s\n' >"$work/patient.conf"
up --config "$work/patient.conf" --hosts 2 --pool 16M --rate 1gbit --memory 64M --disk position=0,bandwidth=8G,parallel=4 \
  --host 'h2 rate=100mbit pool=8M' --host 'store disk=hdd' || fail "up ended with status $?"
says "[x['name'] for x in s['hosts']] == ['client', 'manager', 'h1', 'h2', 'store']" || fail "its hosts"
says "all(d['runs'] for x in s['hosts'] for d in x['daemons'])" || fail "its daemons run"
says "sum(x['state'] == 'idle' for x in s['cluster']['hosts']) == 2" || fail "its cluster"
says "sorted(x['pool_bytes'] for x in s['cluster']['hosts']) == [8 << 20, 16 << 20]" || fail "its pools"
says "h['h2']['rate_bits'] == 10**8 and h['h1']['rate_bits'] == 10**9" || fail "its rates"
told "up with two hosts"

# ---- commands there ------------------------------------------------------------------------------

cd "$work"
status=0
testbed exec client -- sh -c 'pwd; cat; exit 7' <<<"from outside" >here || status=$?
[ "$status" -eq 7 ] || fail "exec passes the status on, not $status"
[ "$(<here)" = "$work"$'\n'"from outside" ] || fail "exec keeps directory and input, not $(<here)"
[ "$(testbed exec h1 sh -c 'ip -4 -o addr show eth0 | grep -o "inet [0-9.]*"')" = \
  "inet $(testbed exec h1 sh -c 'echo "${DODO_MANAGER%.*}"').3" ] || fail "h1 has its address"
testbed exec client dodo ping --timeout "${patience}s" >ping.log || fail "dodo ping from the client"
head -c 3000000 /dev/urandom >"$(testbed exec client sh -c 'echo "$TESTBED_DATA"')/hello.data"
hello_tells() {
  testbed exec client sh -c '"$0" "$TESTBED_DISK/hello.data"' "$DODO_BUILD/examples/hello" >hello.log 2>&1 ||
    fail "hello failed"
  grep -qE 'held by .*: [0-9]{6,} bytes came from its memory' hello.log
}
must "hello reads its modelled disk's file from another host's memory" hello_tells

# The page cache is the host's: of a longer file no more than its memory remains.
if says "h['client']['memory'] and h['client']['disk']['modelled']"; then
  testbed exec client sh -c 'truncate -s 160M "$TESTBED_DATA/long" && cat "$TESTBED_DISK/long" >/dev/null &&
    fincore -nb -o res "$TESTBED_DISK/long"' >cached
  if [ "$(<cached)" -eq 0 ] || [ "$(<cached)" -gt $((64 << 20)) ]; then fail "$(<cached) bytes are cached"; fi
  told "$(<cached) bytes of 160M are cached in 64M of memory"
else
  says "len(s['skipped']) >= 1" || fail "what is not there is skipped silently"
  told "memory or disk were skipped, aloud"
fi

# Regions are retained on a modelled disk: the configuration says that its stamps are honest.
if says "h['store']['disk']['modelled']"; then
  kept=$(testbed exec store sh -c 'echo "$TESTBED_DATA"')/kept
  head -c $((8 << 20)) /dev/urandom >"$kept"
  number=$(stat -c %i "$kept")
  numbers=$(testbed exec store sh -c 'stat -c %i "$TESTBED_DISK/kept"; ls -i "$TESTBED_DISK" | sed -n "s/ *\([0-9]*\) kept$/\1/p"' | paste -sd' ')
  [ "$numbers" = "$number $number" ] || fail "a file keeps its number on a modelled disk: $numbers, not $number"
  settled() {
    local changed
    changed=$(stat -c %.9Z "$kept")
    [ $(($(date +%s%N) - ${changed/./})) -gt 100000000 ]
  }
  must "the file's stamp is settled" settled
  for what in new found; do
    testbed exec store sh -c '"$0" "$TESTBED_DISK/kept" "$1"' "$DODO_BUILD/tests/net/keeper" "$what" >kept.log 2>&1 ||
      fail "a run whose regions should be $what ended with status $?: $(<kept.log)"
  done
  told "regions are retained on a modelled disk"
fi

# What comes out of links and disks is this machine's mood; what was asked for is not.
testbed measure --json --seconds 0.05 >measured.json || fail "measure ended with status $?"
/usr/bin/python3 -c 'import json
lines = {x["what"]: x for x in json.load(open("measured.json"))}
assert all(x["measured"] is None or x["measured"] >= 0 for x in lines.values()), lines
assert round(lines["h1 to client"]["asked"]) == 120, lines
store = [x["asked"] for what, x in lines.items() if what.startswith("disk of store, random 8K")]
assert all(abs(rate - 1.0) < 0.01 for rate in store), lines
assert len(store) == 1 or any(what.startswith("plain disk of store") for what in lines), lines
' || fail "what measure says is not what was asked for"
told "links and disks are measured"

# ---- faults ----------------------------------------------------------------------------------------

reaches() { testbed exec client dodo ping --timeout 1s >/dev/null 2>&1; }
cut_off() { ! reaches; }
must "the manager is reached" reaches
for fault in "cut client" "cut manager client" "cut client manager" "loss manager 100"; do
  # shellcheck disable=SC2086 # words
  testbed $fault
  cut_off || fail "the manager is reached in spite of $fault"
  told "with $fault the manager is not reached"
  testbed heal "$([ "$fault" = "loss manager 100" ] && echo manager || echo client)"
  must "healed, it is" reaches
done
testbed cut h1
testbed loss h2 12.5
says "h['h1']['cut'] and h['h2']['loss_percent'] == 12.5 and not h['client']['cut']" || fail "status tells of faults"
must "the other hosts still talk" reaches

manager=$(testbed exec client sh -c 'echo "${DODO_MANAGER%:*}"')
# lost_of N: how many of N datagrams from the client to the manager's host are lost.
lost_of() {
  mkfifo port
  testbed exec manager /usr/bin/python3 -c 'import socket, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
s.bind((sys.argv[1], 0))
print(s.getsockname()[1], flush=True)
n = 0
while s.recv(10) != b"end": n += 1
print(n)' "$manager" >port &
  {
    read -r number
    # The word of the end comes until it has come.
    testbed exec client /usr/bin/python3 -c 'import socket, sys
s = socket.socket(type=socket.SOCK_DGRAM)
s.connect((sys.argv[1], int(sys.argv[2])))
for i in range(int(sys.argv[3])): s.send(b"datagram")
try:
    for i in range(1000): s.send(b"end")
except OSError: pass' "$manager" "$number" "$1"
    read -r got
  } <port
  wait $!
  rm port
  echo $(($1 - got))
}
[ "$(lost_of 400)" -eq 0 ] || fail "datagrams are lost without a fault"
testbed loss client 25
lost=$(lost_of 400)
if [ "$lost" -lt 50 ] || [ "$lost" -gt 150 ]; then fail "$lost of 400 are lost"; fi
told "$lost of 400 datagrams were lost at 25 %"
testbed heal
says "not any(x['cut'] or x['loss_percent'] for x in s['hosts'])" || fail "heal heals all"

# ---- a second one, and bad words -------------------------------------------------------------------

# The second's host is lent by an rmd that finds nobody at it, whatever this machine does.
member=(--rmd)
[ -x "$DODO_BUILD/rmd/rmd" ] || member=() # built without
# Its log level takes the place of the testbed's.
printf '[rmd]\nidle_after = 1ms\nload_below = 100000\ndedicated = yes\n[dodo]\nlog_level = info\n' >rmd.conf
up --dir "$work/bed2" --hosts 1 --insecure "${member[@]}" --pool 16M --config rmd.conf ||
  fail "a second up ended with status $?"
lent() {
  testbed exec --dir "$work/bed2" client dodo status --json >two.json && grep -q '"idle"' two.json
}
must "a second testbed's host is lent" lent
says "len(s['cluster']['hosts']) == 2" || fail "the first knows of the second"
[ "$(grep -o '"idle"' two.json | wc -l)" -eq 1 ] || fail "the second knows of the first"
testbed down --dir "$work/bed2" >/dev/null
must "the first one goes on" reaches

refused() { # STATUS WORDS...
  local status=$1 got=0
  shift
  testbed "$@" >refused.log 2>&1 || got=$?
  [ "$got" -eq "$status" ] || fail "testbed $* ended with status $got, not $status: $(<refused.log)"
}
refused 2
refused 2 nonsense
refused 2 up --nonsense
refused 2 up --dir "$work/bed3" --disk nonsense --build "$DODO_BUILD"
refused 2 up --dir "$work/bed3" --memory lots --build "$DODO_BUILD"
refused 2 up --dir "$work/bed3" --host 'h1 colour=red' --build "$DODO_BUILD"
refused 2 exec nobody true
refused 2 loss h1 much
refused 1 up --build "$DODO_BUILD"
refused 1 status --dir "$work/bed3"
[ ! -e "$work/bed3" ] || fail "a bad command line leaves a directory"
mkdir "$work/other"
refused 1 up --dir "$work/other" --build "$DODO_BUILD"
refused 0 down --dir "$work/other"
[ -d "$work/other" ] || fail "down removes what is no testbed"
told "bad words are refused"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tshark with the dissector sees what goes over the wire: every datagram of a cluster is one of Dodo's, each ends where
# its message ends, and what it shows is what was asked for. Sealed, it shows the sessions alone.
. "$(dirname "$0")/lib.sh"

command -v tshark >/dev/null || {
  echo "SKIP: tshark is not installed"
  exit 77
}
nobody_gives_up

# mark TEXT CAPTURE: a datagram that is not Dodo's and says TEXT; true when that capture has one.
mark() {
  # shellcheck disable=SC2016 # another shell expands them
  on client bash -c 'echo "$0" >"/dev/udp/$1/9"' "$1" "${host_ip[manager]}"
  grep -qsF "$1" "$work/$2.pcap"
}
# capture_start NAME: all that crosses the switch into $work/NAME.pcap. tshark says that it captures before it does: a mark
# in the file tells. The kernel's buffer (MiB) holds all that follows, so nothing is dropped when tshark does not run for
# a while.
capture_start() {
  proc_start "$1" switch tshark -q -i br0 -f udp -B 64 -w "$work/$1.pcap"
  wait_for "$patience" mark "the start of $1" "$1" || fail "the capture does not begin"
}
# What comes last is a mark: all before it is in the file when that is.
capture_end() {
  wait_for "$patience" mark "the end of $1" "$1" || fail "the capture does not end"
  proc_signal "$1" INT
  proc_wait "$1" || fail "tshark ended with status $?"
  ! grep -q "packets dropped" "$work/$1.log" || fail "$(grep "packets dropped" "$work/$1.log")"
}
# look NAME: what tshark says of that capture, a datagram a line, into $work/shown; its columns are the fields. What must
# be so comes on standard input, a line each: "some EXPRESSION" is true of a datagram, "none EXPRESSION" of none. f has the
# fields of a datagram, info is its line in the list of packets, dodo tells whether it is one of Dodo's.
fields=(_ws.col.Info _ws.col.Protocol ip.src udp.dstport dodo.too_short dodo.too_long _ws.malformed dodo.type dodo.sealed
  dodo.counter dodo.hello.role dodo.open.len dodo.host.ip4 dodo.host_status.pool_bytes)
shark=(tshark -o udp.try_heuristic_first:TRUE -X "lua_script:$DODO_BUILD/packaging/dodo.lua" -Y udp -T fields -E 'separator=|')
look() {
  local field words=() wanted
  wanted=$(cat)
  for field in "${fields[@]}"; do words+=(-e "$field"); done
  "${shark[@]}" -r "$work/$1.pcap" "${words[@]}" >"$work/shown" 2>"$work/seen.log" || fail "tshark: $(cat "$work/seen.log")"
  ! grep -q "Lua: " "$work/seen.log" || fail "$(cat "$work/seen.log")"
  python3 - "$work/shown" "$wanted" "${fields[@]}" >"$work/wrong" <<'END' || fail "$1: $(cat "$work/wrong")"
import sys
shown = [dict(zip(sys.argv[3:], line.rstrip("\n").split("|"))) for line in open(sys.argv[1], encoding="utf-8")]
every = """none not dodo and f['udp.dstport'] != '9'
none f['dodo.too_short'] or f['dodo.too_long'] or f['_ws.malformed']"""
right = bool(shown)
for line in (every + "\n" + sys.argv[2]).split("\n"):
    word, text = line.split(" ", 1)
    true_of = compile(text, "line", "eval")
    found = [f for f in shown
             if eval(true_of, {"f": f, "info": f["_ws.col.Info"], "dodo": f["_ws.col.Protocol"] == "Dodo"})]
    if bool(found) != (word == "some"):
        print(f"of {len(shown)} datagrams {len(found)} are shown with {text}", *found[:1])
        right = False
sys.exit(not right)
END
}

# talk NAME: a cluster of one host, a program that uses it, and a tool, under the capture NAME.
head -c $((1 << 20)) /dev/urandom >"$work/file"
talk() {
  capture_start "$1"
  manager_up
  imd_up 1
  must "the host has joined" hosts_idle client 1
  on client "$DODO_BUILD/examples/hello" "$work/file" >"$work/hello.out" 2>&1 || fail "hello: $(cat "$work/hello.out")"
  must "the region is given back" status_is client "s['regions'] == 0"
  proc_signal imd1 TERM
  proc_wait imd1 || fail "imd1 ended with status $?"
  must "the host has left" hosts_idle client 0
  capture_end "$1"
  proc_kill cmd
}

config
cluster_hosts 1

DODO_INSECURE=1 talk plain
{
  for words in HELLO HELLO_ACK READ 'REQUEST OPEN' 'REPLY OPEN OK' 'REQUEST CLOSE' 'REQUEST JOIN' 'REQUEST ALLOC' \
    'REPLY ALLOC OK' 'REPLY STATUS OK' 'REQUEST PART' 'REQUEST LEAVE'; do
    echo "some info == '$words'"
  done
  cat <<END
some info.startswith("DATA segment 0, ")
some info.startswith("WRITE segment 0, ")
some info == 'HELLO' and f['dodo.hello.role'] == '1' and f['ip.src'] == '${host_ip[client]}'
some info == 'REPLY OPEN OK' and f['dodo.host.ip4'] == '${host_ip[h1]}'
some info == 'REQUEST OPEN' and f['dodo.open.len'] == '$((1 << 20))'
some info == 'REPLY STATUS OK' and f['dodo.host_status.pool_bytes'] == '$((16 << 20))'
END
} | look plain
told "the dissector shows what was said"

unset DODO_MANAGER
talk sealed
look sealed <<END
some f["dodo.sealed"] == "1"
none dodo and f["dodo.sealed"] == "0" and int(f["dodo.type"]) > 3
none f["dodo.sealed"] == "1" and f["dodo.counter"] == "0"
some f['dodo.hello.role'] == '2' and f['ip.src'] == '${host_ip[h1]}'
END
told "sealed, it shows what is open"

# The same reply without what was added at its end; from a port by which tshark knows another protocol, as a tool's may be.
reply=$("${shark[@]}" -r "$work/plain.pcap" -e _ws.col.Info -e udp.payload 2>"$work/seen.log" | sed -n 's/^REPLY JOIN OK|//p' | head -n 1)
[ ${#reply} -gt 16 ] || fail "no reply to a JOIN was captured"
capture_start earlier
on client python3 - "$reply" "${host_ip[manager]}" <<'END'
import socket
import sys
enip = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
enip.bind(("", 44818))
enip.sendto(bytes.fromhex(sys.argv[1])[:-8], (sys.argv[2], 9))
END
capture_end earlier
look earlier <<END
some info == 'REPLY JOIN OK'
END
told "a message of an earlier build ends where it did"

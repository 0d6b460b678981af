#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Hosts are taken out of service: an idle one, one with regions that wait for a next run, and two
# under load, the second while the manager is killed and started again. Programs lose nothing.
. "$(dirname "$0")/lib.sh"

# drain_on WHERE STATUS OPTION... HOST: it ends so; what it says is in drain.out.
drain() { drain_on client "$@"; }
drain_on() {
  local where=$1 wanted=$2 status=0
  shift 2
  on "$where" timeout "$patience" "$bin_dodo" drain "$@" >"$work/drain.out" 2>&1 </dev/null || status=$?
  [ "$status" -eq "$wanted" ] || fail "dodo drain $* ended with $status: $(cat "$work/drain.out")"
}
says() { grep -q -- "$1" "$work/drain.out" || fail "it does not say \"$1\": $(cat "$work/drain.out")"; }
# regions [OPTION...]: how many there are.
regions() {
  on client timeout 10 "$bin_dodo" regions --json "$@" </dev/null |
    python3 -c 'import json, sys; print(len(json.load(sys.stdin)["regions"]))'
}
regions_kept() {
  on client timeout 10 "$bin_dodo" regions --json </dev/null |
    python3 -c 'import json, sys; print(sum(r["state"] == "kept" for r in json.load(sys.stdin)["regions"]))'
}
host_of_largest() {
  on client timeout 10 "$bin_dodo" regions --json </dev/null |
    python3 -c 'import json, sys; print(max(json.load(sys.stdin)["regions"], key=lambda r: r["bytes"])["host"])'
}
host_of_first() {
  on client timeout 10 "$bin_dodo" regions --json </dev/null |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["regions"][0]["host"])'
}
# regions_are EXPRESSION: it holds of r, the list.
regions_are() {
  on client timeout 10 "$bin_dodo" regions --json </dev/null |
    python3 -c 'import json, sys; r = json.load(sys.stdin)["regions"]; sys.exit(not eval(sys.argv[1]))' "$1"
}
# shows PATTERN COMMAND...: a line of what dodo prints.
shows() {
  on client timeout 10 "$bin_dodo" "${@:2}" </dev/null >"$work/shown.out"
  grep -q -- "$1" "$work/shown.out" || fail "dodo $2 shows no \"$1\": $(cat "$work/shown.out")"
}
# keep WHAT: one run of a program that keeps its regions; they are new or found.
keep() {
  on client timeout "$patience" "$DODO_BUILD/tests/net/keeper" "$work/file" "$1" >"$work/keeper.log" 2>&1 ||
    fail "a run whose regions should be $1 failed"
}
# state_is HOST STATE REASON
state_is() {
  status_is client "any(h['address'] == '$1' and h['state'] == '$2' and '$3' in h['reason'] for h in s['hosts'])"
}

nobody_gives_up
cluster 3
h1=${proc_address[imd1]} h2=${proc_address[imd2]} h3=${proc_address[imd3]}

drain 0 "$h3"
says "done, nothing is left there"
state_is "$h3" leaving "nothing is left" || fail "dodo status does not show the drain"
drain 0 --cancel "$h3"
hosts_idle client 3 || fail "a drain is not cancelled"
drain 1 "${h3%:*}:9"
says "knows no host"
drain 2 --cancel --drop "$h3"
drain 2 --here "$h3"
drain_on client 1 --here
says "this host lends no memory"
read -ra words < <(sed -n 's|^ExecStop=-@bindir@/dodo drain ||p' "$root/packaging/systemd/drain-on-stop.conf.in")
drain_on h3 0 "${words[@]}"
says "^$h3: done"
drain_on h3 0 --cancel --here
hosts_idle client 3 || fail "a drain is not cancelled"
told "an idle host is drained at once, and lends again when that is cancelled"

head -c $((8 << 20)) /dev/urandom >"$work/file"
must "the file's stamp is settled" file_settled "$work/file"
keep new
all=$(regions) kept=$(host_of_first)
drain 0 "$kept"
[ "$(regions --host "$kept")" -eq 0 ] || fail "what is kept is still there"
[ "$(regions)" -eq "$all" ] || fail "what is kept is not kept elsewhere"
keep found
drain 0 --cancel "$kept"
told "what is kept for a next run leaves a drained host, and is found"

kept=$(host_of_largest) # at that rate it is on its way for long
proc_start drain client "$bin_dodo" drain --json --rate 100K "$kept"
moving() { grep -q '"asking":1' "$work/drain.out"; }
must "what is kept is on its way" moving
must "dodo status says how far that is" status_is client \
  "any(d['host'] == '$kept' and d['asking'] == 1 and d['to_copy_bytes'] > 0 and d['rate'] == 100 << 10 for d in s['drains'])"
shows "^$kept is being drained: .* 1 program moves its regions" status
regions_are "any(x['leaves'] and x['copies'] == 2 for x in r) and any(not x['leaves'] for x in r)" ||
  fail "dodo regions does not say what moves"
shows " 2  moving$" regions --host "$kept"
told "dodo status and dodo regions show what is on its way"
proc_signal drain INT
! proc_wait drain || fail "an interrupted drain counts as done"
grep -q "still being drained" "$work/drain.log" || fail "it does not say that the drain goes on"
[ "$(regions_kept)" -eq "$all" ] || fail "what was on its way is lost"
keep found
told "an interrupted drain loses nothing of what is kept, and a program finds it on a host that is drained"
drain 0 --cancel "$kept"
kept=$(host_of_first) there=$(regions --host "$(host_of_first)")
drain 0 --drop "$kept"
[ "$(regions --host "$kept")" -eq 0 ] || fail "what is kept was not freed"
[ "$(regions)" -eq $((all - there)) ] || fail "other regions were freed"
drain 0 --cancel "$kept"
told "it goes if that is said"

rm -rf "$work/state"
loader_start
loader_mark
must "reads come from remote memory" loader_remote 60 5
if [ "$(regions --host "$h1")" -gt 0 ]; then # hosts are chosen at random
  drain 1 --drop --rate 10K --within 100ms "$h1"
  says "not done in the time that was given"
fi
drain 0 --drop "$h1"
[ "$(regions --host "$h1")" -eq 0 ] || fail "regions are left"
proc_signal imd1 TERM
proc_wait imd1 || fail "imd1 failed"
loader_mark
must "a drained host can end, and reads come from remote memory" loader_remote 90 5

# A rate that leaves the time for it.
proc_start drain client "$bin_dodo" drain --json --drop --rate 2M "$h2"
must "the program moves its regions" moving
proc_kill cmd
manager_up
proc_wait drain || fail "it is not done: $(cat "$work/drain.out")"
says '"state":"done"'
state_is "$h2" leaving "nothing is left" || fail "the new manager does not know of the drain"
[ "$(regions --host "$h2")" -eq 0 ] || fail "regions are left"
told "a manager that starts again does not end a drain"
[ "$(loader_value lost)" -eq 0 ] || fail "regions were lost"
loader_end

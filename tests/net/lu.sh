#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# lu finds the same factors, bit for bit, from its disk and through Dodo, also when a host of its
# regions dies meanwhile; gives its regions back; and a run that is killed leaves nothing that looks
# like factors.
. "$(dirname "$0")/lib.sh"

# Only who dies is taken for dead: what a busy machine holds up is back before.
host_silence=10s manager_silence=60s host_dead=30s client_dead=20s
bin_lu=$DODO_BUILD/examples/lu

# judge FILE EXPRESSION: of what lu told, r.
judge() {
  /usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
print(sys.argv[1].rsplit("/", 1)[1], r)
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$work/$1" "$2" || fail "not so: $2"
}
# factor NAME BACKEND OPTION...: into $work/NAME, what it tells into $work/NAME.out.
factor() {
  local name=$1 backend=$2
  shift 2
  # It is at work all the time, and has much of that on a busy machine.
  on client timeout $((4 * patience)) "$bin_lu" --dir "$work/$name" --backend "$backend" --check --json "$@" \
    >"$work/$name.out" 2>"$work/$name.log" </dev/null || fail "lu on $backend ended with status $?"
}
same_factors() {
  local file
  diff <(cd "$work/$1" && ls) <(cd "$work/$2" && ls) || fail "$1 and $2 have other files"
  for file in "$work/$1"/*; do
    cmp "$file" "$work/$2/${file##*/}" || fail "the factors differ"
  done
  told "the factors of $1 and $2 are the same"
}
# As long as it lives, it has at least N regions.
lu_has() {
  ours "${proc_pid[lu]}" || fail "lu ended too early"
  status_is client "s['regions'] >= $1"
}
no_regions() { status_is client "s['regions'] == 0"; }

cluster 3

matrix=(--generate 11 --order 700 --slab 48 --files 5)
factor disk disk "${matrix[@]}"
factor remote dodo "${matrix[@]}"
judge disk.out "r['errors'] == 0 and r['residual'] < 1 and r['remote_bytes'] == 0"
judge remote.out "r['errors'] == 0 and r['residual'] < 1 and r['regions_opened'] == 73 and
  r['remote_bytes'] > r['file_bytes'] and r['remote_bytes'] + r['file_bytes'] == r['read_bytes']"
same_factors disk remote
must "the regions are given back" no_regions

matrix=(--generate 12 --order 900 --slab 16)
factor disk2 disk "${matrix[@]}"
proc_start lu client "$bin_lu" --dir "$work/killed" --check --json "${matrix[@]}"
must "a long run has regions" lu_has 120
proc_kill lu
grep -q 'contents = partial' "$work/killed/layout" || fail "a killed run's files: $(cat "$work/killed/layout")"
if on client "$bin_lu" --dir "$work/killed" --check >"$work/again.out" 2>"$work/again.log"; then
  fail "what a killed run left counts as factors"
fi
grep -q 'was interrupted' "$work/again.log" || fail "what it says of it: $(cat "$work/again.log")"
must "the killed run's regions are freed" no_regions

proc_start lu client "$bin_lu" --dir "$work/lost" --check --json "${matrix[@]}"
must "another run has regions" lu_has 120
proc_kill imd2
wait_for $((4 * patience)) proc_gone "${proc_pid[lu]}" || fail "lu does not end"
proc_wait lu || fail "lu ended with status $?, when a host died"
judge lu.out "r['errors'] == 0 and r['residual'] < 1 and r['regions_lost'] > 0 and r['remote_bytes'] > 0"
same_factors disk2 lost
must "the regions are given back" no_regions

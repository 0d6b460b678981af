#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dmine finds the same from disk and through Dodo, what another miner finds, in either format; its
# second run reads nothing from the file; and when a host is lost
# between two runs, it costs nothing but reads of the file.
. "$(dirname "$0")/lib.sh"

support=0.01 passes=0

# make FILE [OPTION...]: data that gives some six scans.
make() {
  "$DODO_BUILD/examples/dmine-generate" --transactions 20000 --items 500 --patterns 200 --size 12 --seed 3 --output "$@" ||
    fail "dmine-generate ended with status $?"
}
# mine NAME FILE OPTION...: a run on the client's host; its result goes to $work/NAME.json.
mine() {
  local name=$1 file=$2
  shift 2
  on client timeout "$patience" "$DODO_BUILD/examples/dmine" --input "$file" --min-support "$support" \
    --min-confidence 0.6 --region-size 32K --json "$@" >"$work/$name.json" 2>>"$work/dmine.log" ||
    fail "dmine ($name) ended with status $?"
}
# result NAME EXPRESSION: judges the result `r`; `o` is that of another miner.
result() {
  /usr/bin/python3 - "$work/$1.json" "$work/other.json" "$2" <<'END' ||
import json, sys
r, o = (json.load(open(name)) for name in sys.argv[1:3])
sys.exit(not eval(sys.argv[3]))
END
    fail "$1: not $2: $(cut -c 1-1500 "$work/$1.json")"
}
# right NAME: it found what another miner found.
right() {
  result "$1" "all(r[k] == o[k] for k in ('transactions', 'min_count', 'itemsets', 'by_size', 'support_sums'))"
  result "$1" "len(r['rules']) == o['rules'] > 0"
}
# rerun NAME FILE: a first and a second run through Dodo.
rerun() {
  local size
  size=$(stat -c %s "$2")
  must "the stamp of $1 is settled" file_settled "$2"
  mine "$1-first" "$2" --backend dodo
  right "$1-first"
  result "$1-first" "r['regions_reused'] == 0 and r['file_bytes'] >= $size and r['remote_bytes'] > 0"
  mine "$1-second" "$2" --backend dodo
  right "$1-second"
  result "$1-second" "r['file_bytes'] == 0 and r['remote_bytes'] == $size * $passes"
  result "$1-second" "r['regions_reused'] == r['regions_opened'] > 0 == r['regions_lost']"
  told "the second run of $1 read nothing from the file"
}

make "$work/text" --format text
make "$work/binary" --format binary
/usr/bin/python3 "$root/tests/lib/itemsets.py" "$work/text" "$support" 0.6 >"$work/other.json"
nobody_gives_up
first_answer=2s
cluster 2

mine disk "$work/text" --backend disk
right disk
result disk "r['remote_bytes'] == 0 and len(r['pass_seconds']) == len(r['pass_sizes']) >= 4"
passes=$(grep -o '"pass_sizes":\[[0-9,]*\]' "$work/disk.json" | tr -cd ',' | wc -c)
passes=$((passes + 1))
result disk "r['file_bytes'] == $(stat -c %s "$work/text") * $passes"
told "another miner found the same"

head -c 5000 "$work/binary" >"$work/damaged"
on client "$DODO_BUILD/examples/dmine" --input "$work/damaged" --backend disk >"$work/damaged.out" 2>&1 &&
  fail "a truncated file was mined"
grep -q "the file ends after [0-9]* of 20000 transactions: make or copy it again" "$work/damaged.out" ||
  fail "of a truncated file dmine says: $(cat "$work/damaged.out")"
told "a truncated file is refused"

rerun text "$work/text"
rerun binary "$work/binary"

proc_kill imd1
host_silence=1s manager_silence=3s
config # a dead host is given up soon
mine lost "$work/text" --backend dodo
right lost
result lost "r['file_bytes'] > 0"
told "with one host lost the result is the same"
proc_kill imd2
proc_kill cmd
mine alone "$work/text" --backend dodo
right alone
result alone "r['remote_bytes'] == 0"
told "with all of them lost, too"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# policies.sh PROGRAM: the table and the plot of docs/policies.md are what the program prints; and of a trace
# it prints the misses that anybody can count.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" --table >"$dir/table" || complain "${1##*/} --table fails"
"$1" --svg >"$dir/svg" || complain "${1##*/} --svg fails"
sed '1,/^<!-- policies --table -->$/d' docs/policies.md >"$dir/page"
[ -s "$dir/table" ] || complain "${1##*/} --table prints nothing"
diff "$dir/table" "$dir/page" || complain "docs/policies.md is not what ${1##*/} --table prints"
diff "$dir/svg" docs/policies.svg || complain "docs/policies.svg is not what ${1##*/} --svg prints"

# A loop of three blocks, twice. Room for three: each is missed once. Room for two: LRU has none of them in
# time, the optimum keeps one.
printf '7\n18446744073709551615 \r\n0\n7\r\n18446744073709551615\n0' >"$dir/loop"
"$1" --trace "$dir/loop" --cache 2,3 --optimum --json >"$dir/json" || complain "${1##*/} --trace fails"
python3 - "$dir/json" <<'END' || complain "${1##*/} --trace prints other misses"
import json, sys
got = json.load(open(sys.argv[1]))
assert (got["reads"], got["blocks"]) == (6, 3), got
misses = {(r["cache"], r["policy"]): r["misses"] for r in got["results"]}
policies = {"LRU", "MRU", "first-in", "adaptive", "S3-FIFO", "SIEVE", "optimum"}
assert misses.keys() == {(size, p) for size in (2, 3) for p in policies}, misses
assert all(misses[3, p] == 3 for p in policies), misses
assert (misses[2, "LRU"], misses[2, "optimum"]) == (6, 4), misses
assert all(4 <= misses[2, p] <= 6 for p in policies), misses
assert all(abs(r["miss_ratio"] - r["misses"] / 6) < 1e-6 for r in got["results"]), got
END
"$1" --trace - --cache 3 <"$dir/loop" >"$dir/text" || complain "${1##*/} --trace - fails"
grep -qE '^ +3 +adaptive +3 +0\.5000$' "$dir/text" || complain "no line of adaptive: $(cat "$dir/text")"
! grep -q optimum "$dir/text" || complain "the optimum was not asked for"

# refuse STATUS TEXT OPTION...: it ends with STATUS, and says TEXT.
program=$1
refuse() {
  local wanted=$1 text=$2 status=0
  shift 2
  "$program" "$@" >"$dir/out" 2>"$dir/err" || status=$?
  if [ "$status" != "$wanted" ] || ! grep -qF -- "$text" "$dir/err"; then
    complain "policies $*: status $status, $(cat "$dir/err")"
  fi
}
printf '1\n2\nthree\n' >"$dir/bad"
refuse 1 "$dir/bad:3: 'three' is no block number" --trace "$dir/bad" --cache 2
refuse 1 "$dir/none: No such file" --trace "$dir/none" --cache 2
refuse 2 "--trace needs --cache" --trace "$dir/loop"
refuse 2 "go with --trace" --table --json
for size in 0 "2," ",2" two "$((1 << 27))" "1,2,-3"; do refuse 2 "--cache" --trace "$dir/loop" --cache "$size"; done
finish

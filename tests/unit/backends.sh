#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# backends.sh SYNTHETIC GENERATE DMINE: through the region cache, which is much smaller than the
# data, the programs find what they find on the disk, with each policy. No cluster.
set -euo pipefail
synthetic=$1 generate=$2 dmine=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export DODO_CONFIG=/dev/null DODO_CACHE_SIZE=300K
unset DODO_MANAGER DODO_STATS

fail() {
  printf '%s\n' "$*"
  exit 1
}
# mine NAME OPTION...: the sets and the rules, without what is said of times and places.
mine() {
  "$dmine" --input "$dir/data" --min-support 0.02 --min-confidence 0.5 "${@:2}" |
    sed -E '/scans in/d; s/transactions on [a-z]+:/transactions:/' >"$dir/$1"
}

"$generate" --output "$dir/data" --transactions 8000
mine disk --backend disk
[ "$(wc -l <"$dir/disk")" -gt 10 ] || fail "dmine finds too little to be compared"
for policy in lru mru first-in; do
  mine "$policy" --backend manage --policy "$policy"
  cmp "$dir/disk" "$dir/$policy" || fail "dmine finds something else with $policy"
done

"$synthetic" --make --file "$dir/set" --size 3M
for pattern in sequential hotcold random; do
  for policy in lru mru first-in; do
    "$synthetic" --file "$dir/set" --size 3M --request 8K --pattern "$pattern" --backend manage \
      --policy "$policy" --json >"$dir/out" || fail "synthetic fails: $(cat "$dir/out")"
    grep -q '"verified_bytes":12582912,"wrong_bytes":0,"errors":0' "$dir/out" ||
      fail "synthetic, $pattern, $policy: $(cat "$dir/out")"
    # Every byte came from somewhere, once.
    python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))
sys.exit(r["local_bytes"] + r["remote_bytes"] + r["file_bytes"] != 12582912)' "$dir/out" ||
      fail "synthetic, $pattern, $policy: the sources do not add up: $(cat "$dir/out")"
  done
done

# Every request is in the histogram; all are to the hot data, for all other data is wrong.
dd if=/dev/zero of="$dir/set" bs=8K seek=3 count=381 conv=notrunc 2>/dev/null
"$synthetic" --file "$dir/set" --size 3M --request 8K --pattern hotcold --hot-data 1 --hot-requests 100 \
  --backend manage --compute sleep --compute-time 10us --histogram --json >"$dir/out" ||
  fail "synthetic, hot data: $(cat "$dir/out")"
python3 -c 'import json, sys; r = json.load(open(sys.argv[1]))
sys.exit(sum(n for _, n in r["histogram_us"]) != r["requests"] or r["verified_bytes"] != 12582912)' \
  "$dir/out" || fail "synthetic, hot data: $(cat "$dir/out")"
if "$synthetic" --file "$dir/set" --size 3M --request 8K --pattern hotcold --hot-data 1 --hot-requests 99 \
  --backend manage --json >"$dir/out" 2>/dev/null; then
  fail "synthetic, cold data: $(cat "$dir/out")"
fi

# A policy that there is not, or for a back end that has no cache.
for wrong in "--backend manage --policy best" "--backend disk --policy lru" "--policy lru"; do
  for program in "$dmine --input $dir/data" "$synthetic --file $dir/set"; do
    status=0
    read -r -a command <<<"$program $wrong"
    "${command[@]}" >/dev/null 2>&1 || status=$?
    [ "$status" -eq 2 ] || fail "$program $wrong: status $status"
  done
done

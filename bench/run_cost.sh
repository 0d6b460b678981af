#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run_cost.sh PROGRAM CALL_COST: they run, print what they say they do, and notice another output or status, or a read
# that fails. Nothing of the figures is looked at.
set -euo pipefail
program=$1 calls=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# dodo_is COMMAND: what stands for `dodo run PROGRAM ARGUMENT...`.
# shellcheck disable=SC2016 # the shell of that script expands it
dodo_is() {
  printf '#!/bin/sh\n[ "$1 $2 $3" = "run --how namespace" ] && shift 3\n%s\n' "$1" >"$dir/dodo"
  chmod +x "$dir/dodo"
}
# judge STATUS WRONG: it says so of 4 rounds.
judge() {
  local status=0
  "$program" 4 namespace "$dir/dodo" sh -c 'echo some; exit 3' >"$dir/out" || status=$?
  [ "$status" -eq "$1" ] || { echo "status $status, not $1" && exit 1; }
  python3 - "$dir/out" "$2" <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["rounds"] == 4 and r["wrong"] == int(sys.argv[2]), r
for part in r["plain"], r["run"]:
    assert 0 < part["p10_us"] <= part["median_us"] <= part["p90_us"], r
EOF
}

# shellcheck disable=SC2016 # so below
dodo_is 'exec "$@"'
judge 0 0
dodo_is 'echo more; exec "$@"'
judge 1 5
dodo_is '"$@"'
judge 0 0
dodo_is '"$@"; exit 0'
judge 1 5

for wrong in "" "4 auto dodo" "0 auto dodo true" "4x auto dodo true" "1000000 auto dodo true"; do
  read -r -a arguments <<<"$wrong"
  status=0
  "$program" "${arguments[@]}" >"$dir/out" 2>"$dir/err" || status=$?
  if [ "$status" -ne 2 ] || [ -s "$dir/out" ] || ! grep -q '^Usage: ' "$dir/err"; then
    printf '%s: status %s\n' "$wrong" "$status"
    exit 1
  fi
done

head -c 8K /dev/zero >"$dir/file"
"$calls" "$dir/file" | python3 -c 'import json, sys; assert json.load(sys.stdin)["call_ns"] > 0'
: >"$dir/empty"
for wrong in "$dir/empty" "$dir/none" ""; do
  status=0
  "$calls" ${wrong:+"$wrong"} >"$dir/out" 2>"$dir/err" || status=$?
  if [ "$status" -ne 2 ] || [ -s "$dir/out" ] || [ ! -s "$dir/err" ]; then
    printf 'call-cost %s: status %s\n' "$wrong" "$status"
    exit 1
  fi
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manage_hit.sh PROGRAM: it runs, finds all in local memory and no wrong byte, and prints what it
# says it does. Nothing of the figures is looked at.
set -euo pipefail
program=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$program" --rounds 1 --calls 200 --threads 3 --request 8192 --large 2 >"$dir/out"
python3 - "$dir/out" <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["wrong"] == 0 and r["all_local"] is True, r
assert (r["request"], r["rounds"], r["calls"]) == (8192, 1, 200), r
assert [s["bytes"] for s in r["sets"]] == [256 << 10, 2 << 20], r
assert [t["threads"] for t in r["threads"]] == [1, 2, 3], r
figures = [f for part in r["sets"] + r["threads"] for f in part.values() if isinstance(f, list)]
assert len(figures) == 2 * 4 + 3 * 2 and all(len(f) == 3 for f in figures), r
EOF

for wrong in "--rounds 0" "--threads 1000" "--request 524288" "--large much" "--best" "more"; do
  read -r -a options <<<"$wrong"
  status=0
  "$program" "${options[@]}" >"$dir/out" 2>"$dir/err" || status=$?
  if [ "$status" -ne 2 ] || [ -s "$dir/out" ] || ! grep -q '^Usage: ' "$dir/err"; then
    printf '%s: status %s\n' "$wrong" "$status"
    exit 1
  fi
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# manage_two.sh PROGRAM SYNTHETIC: it verifies every byte, counts each read once, and prints what it
# says it does. Nothing of the figures is looked at.
set -euo pipefail
program=$1 synthetic=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_STATE_HOME=$dir/state DODO_CACHE_SIZE=256K DODO_MANAGER=

# expect STATUS OPTION...: how it ends.
expect() {
  local wanted=$1 status=0
  shift
  "$program" "$@" >"$dir/out" 2>"$dir/err" || status=$?
  [ "$status" = "$wanted" ] || { echo "$*: status $status instead of $wanted" && cat "$dir/err" && exit 1; }
}

"$synthetic" --make --file "$dir/data" --size 1M
"$synthetic" --make --file "$dir/cheap" --size 512K
reads=(--requests 300 --settle 100 --request 4K)
for backend in disk manage; do
  expect 0 --file "$dir/data" --cheap "$dir/cheap" --share 30 --warm 50 --backend $backend "${reads[@]}"
  python3 - "$dir/out" $backend <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["backend"] == sys.argv[2] and r["wrong_bytes"] == 0 and r["regions_failed"] == 0, r
assert r["file"]["reads"] + r["cheap"]["reads"] == 300 and r["file"]["reads"] < r["cheap"]["reads"], r
assert r["local_bytes"] + r["remote_bytes"] + r["file_bytes"] == 400 * 4096, r
EOF
done
expect 0 --file "$dir/data" "${reads[@]}"
python3 - "$dir/out" <<'EOF'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["file"]["reads"] == 300 and "cheap" not in r and r["backend"] == "manage", r
EOF

# One byte that is not what the data set has there: every read meets it.
printf x | dd of="$dir/cheap" bs=1 seek=1000 conv=notrunc 2>/dev/null
truncate -s 4K "$dir/cheap"
expect 1 --file "$dir/cheap" "${reads[@]}"
grep -q '"wrong_bytes": 400,' "$dir/out" || { cat "$dir/out" && exit 1; }
truncate -s 1K "$dir/cheap"
expect 1 --file "$dir/cheap" "${reads[@]}"
grep -q "cheap: is shorter than a request" "$dir/err"
expect 1 --file "$dir/none"
grep -q "none: No such file" "$dir/err"

for wrong in "" "--file x --share 50" "--file x --request 2M" "--file x --backend dodo" "--file x --warm 101" "--file x more"; do
  read -r -a options <<<"$wrong"
  expect 2 "${options[@]}"
  if [ -s "$dir/out" ] || ! grep -q "help" "$dir/err"; then
    echo "$wrong" && cat "$dir/err" && exit 1
  fi
done

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/evaluate runs, checks and reports one program; what has been run is not run again.
# Root only: elsewhere there is no memory limit for the program's host.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "no root: the program's memory cannot be limited" && exit 77; }
unset MALLOC_PERTURB_ # it touches what programs only reserve: the limits are for what they take
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

evaluate() {
  "$root/scripts/evaluate" --quick --profile paper --only lu --build "$DODO_BUILD" --json "$work/runs.json" "$@" \
    >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
}
printf 'before\n<!-- evaluate: begin -->\n<!-- evaluate: end -->\n' >"$work/page.md"
evaluate
[ "$(grep -c '; checked; ' "$work/log")" -eq 2 ] || { cat "$work/log" && exit 1; }
evaluate --report "$work/page.md"
! grep -q '; checked; ' "$work/log" || { echo "it ran again" && cat "$work/log" && exit 1; }
grep -qE '^\| lu( \*)? \| ' "$work/page.md" || { echo "no row" && cat "$work/page.md" && exit 1; }
grep -q '</svg>' "$work/page.svg" || { echo "no plot" && exit 1; }
# How quiet the machine was is not for a test to say, but somebody must.
grep -qE '^(A|Not a|Not always a) quiet machine: ' "$work/page.md" || { echo "no verdict" && cat "$work/page.md" && exit 1; }
/usr/bin/python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert len(r["calibrations"]) >= 2 and all(isinstance(c["quiet"], bool) for c in r["calibrations"]), r["calibrations"]
assert len(r["runs"]) == 2 and all(isinstance(run["quiet"], bool) for run in r["runs"].values()), r["runs"]
' "$work/runs.json"

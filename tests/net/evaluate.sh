#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# scripts/evaluate runs, checks and reports one program; what has been run is not run again.
# Root only: elsewhere there is no memory limit for the program's host.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "no root: the program's memory cannot be limited" && exit 77; }
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
grep -q '^| lu | ' "$work/page.md" && grep -q '</svg>' "$work/page.svg"

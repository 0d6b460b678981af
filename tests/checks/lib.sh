# SPDX-License-Identifier: MIT
# Shared by the checks. Each runs with the source tree's top as its working directory.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

failures=0
# complain TEXT...: notes a failure and goes on, so that one run shows all.
complain() {
  printf '%s\n' "$*"
  failures=$((failures + 1))
}
# finish: the check's verdict.
finish() {
  [ "$failures" -eq 0 ] || printf '%d found\n' "$failures"
  exit $((failures > 0))
}
need() {
  command -v "$1" >/dev/null || {
    echo "$1 is missing: install it (scripts/test does)"
    exit 1
  }
}
# files PATTERN...: the tree's own files of these names; build directories are left out.
files() {
  local names=() pattern
  for pattern; do names+=(-o -name "$pattern"); done
  find . \( -name .git -o -type d -exec test -e '{}/meson-private' \; \) -prune -o \
    -type f \( "${names[@]:1}" \) -print | sort
}
# scripts: the shell scripts of the tree, with and without a suffix, and what a shell reads.
scripts() {
  {
    files '*.sh'
    find .ci packaging scripts tests -type f \( ! -name '*.*' -o -name '*.p*[mt]' \) \
      -exec grep -lE '^#!.*\b(ba)?sh\b' {} +
    find packaging/bash-completion -type f
  } | sed 's|^\./||' | sort -u
}
# compare TEXT-A FILE-A TEXT-B FILE-B: complains of lines that are in one sorted file only.
compare() {
  local line
  while read -r line; do complain "$line: in $1, not in $3"; done < <(comm -23 "$2" "$4")
  while read -r line; do complain "$line: in $3, not in $1"; done < <(comm -13 "$2" "$4")
}

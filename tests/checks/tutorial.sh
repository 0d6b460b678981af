#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tutorial.sh BUILD-ROOT: the programs of README.md and docs/managing-regions.md compile as they stand, without a
# warning.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# programs PAGE COUNT
programs() {
  local program page=${1##*/}
  mkdir "$dir/$page"
  awk -v dir="$dir/$page" '/^```c$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > (dir "/" n ".c") }' "$1"
  [ "$(find "$dir/$page" -name '*.c' | wc -l)" -eq "$2" ] || complain "$1 has not its $2 programs"
  for program in "$dir/$page"/*.c; do
    cc -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I include -I "$build/include" "$program" ||
      complain "program ${program##*/} of $1 does not compile"
  done
}
build=$1
programs README.md 1
programs docs/managing-regions.md 2
finish

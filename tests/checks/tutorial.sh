#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# tutorial.sh BUILD-ROOT: the programs of docs/managing-regions.md compile without a warning.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
awk -v dir="$dir" '/^```c$/ { n++; on = 1; next } /^```$/ { on = 0 } on { print > (dir "/" n ".c") }' docs/managing-regions.md
[ "$(find "$dir" -name '*.c' | wc -l)" -eq 2 ] || complain "docs/managing-regions.md has not its two programs"
for program in "$dir"/*.c; do
  cc -std=gnu17 -Wall -Wextra -Werror -fsyntax-only -I include -I "$1/include" "$program" ||
    complain "program ${program##*/} of docs/managing-regions.md does not compile"
done
finish

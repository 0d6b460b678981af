#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo-rmd(8) is true: its facts, with their units, and its sources are those of the code.
. "$(dirname "$0")/lib.sh"

page=docs/dodo-rmd.8
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sed -n 's/^ *X(\([a-z_]*\), "\([^"]*\)",.*/\1 \2/p' rmd/facts.h | sort >"$dir/facts"
[ -s "$dir/facts" ] || complain "rmd/facts.h: no facts found"
awk -F '\t' '/^\.SH/ { on = /FACTS/ } on && NF == 3 && $3 == "T{" { print $1, $2 }' "$page" |
  sort >"$dir/page"
compare rmd/facts.h "$dir/facts" "$page" "$dir/page"

sed -n 's/^const SourceKind source_[a-z0-9]* = {"\([a-z0-9]*\)",.*/\1/p' rmd/source_*.c |
  sort -u >"$dir/sources"
[ -s "$dir/sources" ] || complain "rmd/source_*.c: no sources found"
awk '/^\.SH/ { on = /SOURCES/ } on && tp && /^\.B / { print $2 } { tp = /^\.TP/ }' "$page" |
  sort >"$dir/page"
compare "rmd/source_*.c" "$dir/sources" "$page" "$dir/page"
finish

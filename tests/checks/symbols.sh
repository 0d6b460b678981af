#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbols.sh LIBRARY: it exports just what its symbol map names, what the public header declares and
# what the manual documents.
. "$(dirname "$0")/lib.sh"

need nm
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort -u >"$dir/library"
sed -n '/global:/,/local:/p' libdodo/libdodo.map | grep -oE '\bdodo_[a-z_]+' | sort -u >"$dir/map"
awk '/^DODO_API/, /;/' include/dodo/dodo.h | grep -oE '\bdodo_[a-z_]+ *\(' | tr -d ' (' |
  sort -u >"$dir/header"
# The NAME section of each page: "dodo_mopen, dodo_mopen_flags \- ...".
cat docs/*.3 | awk '/^\.SH/ { name = /NAME/ } name' | sed 's/\\-.*//; s/\\//g' |
  grep -oE '\bdodo_[a-z_]+' | sort -u >"$dir/manual"
[ -s "$dir/library" ] || complain "$1 exports nothing"
compare "the library" "$dir/library" "libdodo.map" "$dir/map"
compare "the library" "$dir/library" "dodo.h" "$dir/header"
compare "the library" "$dir/library" "the manual" "$dir/manual"
# Each can be found by its own name.
while read -r symbol; do
  [ -e "docs/$symbol.3" ] || complain "docs/$symbol.3 is missing (a page, or .so to one)"
done <"$dir/library"
finish

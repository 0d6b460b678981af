#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# symbols.sh LIBRARY MAP HEADER: it exports just what its symbol map names, what its public header
# declares and what the manual's pages of that header document; beside that, under DODO_PRIVATE, what
# one library has for the other, which the map alone names.
. "$(dirname "$0")/lib.sh"

need nm
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' >"$dir/all"
grep -v '@DODO_PRIVATE' "$dir/all" | sed 's/@.*//' | sort -u >"$dir/library"
sed -n 's/@*@DODO_PRIVATE$//p' "$dir/all" | sort -u >"$dir/private"
sed '1,/^DODO_PRIVATE/d' "$2" | awk '/^ *dodo_[a-zA-Z_]+;/ { print $1 }' | tr -d ';' | sort -u >"$dir/private-map"
compare "the library's own" "$dir/private" "$2" "$dir/private-map"
sed -n '/global:/,/local:/p;/^DODO_PRIVATE/q' "$2" | grep -oE '\bdodo_[a-zA-Z_]+' | sort -u >"$dir/map"
# A program with more privileges than its user must not obey the user's environment.
nm -D --undefined-only "$1" | awk '{ print $2 }' | sed 's/@.*//' | grep -x getenv >"$dir/getenv" &&
  complain "$1 calls getenv: use secure_getenv"
awk '/^DODO_API/, /;/' "include/dodo/$3" | grep -oE '\bdodo_[a-zA-Z_]+ *\(' | tr -d ' (' |
  sort -u >"$dir/header"
# The NAME section of each page: "dodo_mopen, dodo_mopen_flags \- ...".
grep -lF "#include <dodo/$3>" docs/*.3 | xargs cat | awk '/^\.SH/ { name = /NAME/ } name' | sed 's/\\-.*//; s/\\//g' |
  grep -oE '\bdodo_[a-zA-Z_]+' | sort -u >"$dir/manual"
[ -s "$dir/library" ] || complain "$1 exports nothing"
compare "the library" "$dir/library" "$2" "$dir/map"
compare "the library" "$dir/library" "$3" "$dir/header"
compare "the library" "$dir/library" "the manual" "$dir/manual"
# Each can be found by its own name.
while read -r symbol; do
  [ -e "docs/$symbol.3" ] || complain "docs/$symbol.3 is missing (a page, or .so to one)"
done <"$dir/library"
finish

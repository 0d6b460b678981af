#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# stories.sh PROGRAM: docs/stories.md has what the program prints.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" >"$dir/stories" || complain "${1##*/} fails"
[ -s "$dir/stories" ] || complain "${1##*/} prints nothing"
sed '1,/^<!-- stories -->$/d' docs/stories.md >"$dir/page"
diff "$dir/stories" "$dir/page" || complain "docs/stories.md is not what ${1##*/} prints: take it over if that is right"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# policies.sh PROGRAM: the table and the plot of docs/policies.md are what the program prints.
. "$(dirname "$0")/lib.sh"

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$1" --table >"$dir/table" || complain "${1##*/} --table fails"
"$1" --svg >"$dir/svg" || complain "${1##*/} --svg fails"
sed '1,/^<!-- policies --table -->$/d' docs/policies.md >"$dir/page"
[ -s "$dir/table" ] || complain "${1##*/} --table prints nothing"
diff "$dir/table" "$dir/page" || complain "docs/policies.md is not what ${1##*/} --table prints"
diff "$dir/svg" docs/policies.svg || complain "docs/policies.svg is not what ${1##*/} --svg prints"
finish

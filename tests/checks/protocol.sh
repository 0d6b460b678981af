#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The protocol's page is true: its numbers are the headers', its layouts those of messages.def.
. "$(dirname "$0")/lib.sh"

page=docs/dodo-protocol.7
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
{
  sed -n '/^enum WireType/,/^}/s/^ *WIRE_\([A-Z_]*\) = \([0-9]*\),.*/\2 \1/p
          /^enum Op /,/^}/s/^ *OP_\([A-Z_]*\) = \([0-9]*\),.*/\2 \1/p' proto/wire.h
  sed -n 's/^X(\([A-Z_]*\), \([0-9]*\),.*/\2 \1/p' proto/status.def
} | sort >"$dir/headers"
awk -F '\t' '$1 ~ /^[0-9]+$/ && $2 ~ /^[A-Z_]+$/ { print $1, $2 }' "$page" | sort >"$dir/page"
compare "the headers" "$dir/headers" "$page" "$dir/page"

tests/checks/layouts.py >"$dir/layouts" || [ -s "$dir/layouts" ] || complain "layouts.py has failed"
while read -r line; do complain "$page: $line"; done <"$dir/layouts"
finish

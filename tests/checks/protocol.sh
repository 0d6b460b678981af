#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The protocol's page is true: its numbers are the headers', and in each table of a layout a field
# starts where the one before it ends.
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

sizes=$(awk -F '\t' '
  /^\.TS/ { at = 0 }
  $1 ~ /^[0-9]+$/ && ($2 ~ /^[0-9]+$/ || $2 == "rest") {
    if ($1 != at) print "line " NR ": starts at " $1 ", not " at > "/dev/stderr"
    at += $2
    header = at
  }
  /^\.TE/ && at { print at; at = 0 }' "$page" 2>"$dir/gaps" | tr '\n' ' ')
while read -r gap; do complain "$page: $gap"; done <"$dir/gaps"
# Header, HELLO, PING, address, READ, DATA, WRITE, WRITE_ACK, REQUEST, REPLY, as wire.h has them.
number() { sed -n "s/.*\b$1 = \([0-9]*\).*/\1/p" proto/wire.h; }
wanted="$(number WIRE_HEADER_SIZE) $(number WIRE_HELLO_SIZE) 24 36 $(number WIRE_READ_SIZE) \
$(number WIRE_DATA_HEADER_SIZE) $(number WIRE_WRITE_HEADER_SIZE) $(number WIRE_WRITE_ACK_SIZE) \
$(number WIRE_REQUEST_HEADER_SIZE) $(number WIRE_REPLY_HEADER_SIZE) "
[ "$sizes" = "$wanted" ] || complain "$page: its layouts have $sizes bytes, wire.h's $wanted"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The manual's table of constants is true: its keys and defaults are those of base/defaults.h, and
# each key that a program's table or the library knows stands in it.
. "$(dirname "$0")/lib.sh"

page=docs/dodo.conf.5
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# "group key default" of the page; "-" where there is none.
awk -F '\t' '
  /^\.SS Group \[/ { split($0, part, /[][]/); group = part[2] }
  /^\.SS/ && !/Group/ { group = "" }
  group && NF == 3 && $3 == "T{" { sub(/\\-/, "-", $2); print group, $1, $2 }' "$page" |
  sort >"$dir/page"

# The same of the header: a comment that starts with [group] key, then the definition. Each group
# of a comment counts; keys without a number as default (addresses, names) are not compared.
awk '
  /^\/\* \[/ { comment = $0 }
  /^#define DEFAULT_/ && comment {
    value = $0
    sub(/^#define [A-Z_0-9]+ /, "", value)
    gsub(/[()"]/, "", value)
    gsub(/ \* NS_PER_MS/, "ms", value)
    if (value ~ /^24 \* 3600 \* NS_PER_S$/) value = "24h"
    gsub(/ \* NS_PER_US/, "us", value)
    gsub(/ \* NS_PER_S/, "s", value)
    gsub(/ull << 20/, "M", value)
    sub(/^\/\* \[/, "", comment)
    split(comment, part, /[] :,*]+/)
    if (part[2] != "listen") print part[1], part[2], value
    comment = ""
  }' base/defaults.h | sort >"$dir/header"
[ -s "$dir/header" ] || complain "base/defaults.h: no constants found"
while read -r line; do
  complain "$line: in base/defaults.h, not in $page"
done < <(comm -23 "$dir/header" "$dir/page")

# Every key of the tables of options and of the library.
cut -d ' ' -f 1,2 "$dir/page" >"$dir/keys"
{
  grep -hv "groups\[\]" daemon/config.c imd/options.c cmd/options.c |
    grep -oE '\{"(dodo|imd|cmd)", "[a-z_]+"' |
    sed -E 's/\{"([a-z]+)", "([a-z_]+)"/\1 \2/'
  sed -n '/client_times\[\]/,/^};/s/^ *{"\([a-z_]*\)".*/client \1/p' libdodo/settings.c
  sed -n '/^static int set_client/,/^}/s/.*strcmp(key, "\([a-z_]*\)").*/client \1/p' \
    libdodo/settings.c
} | sort -u >"$dir/known"
compare "the programs' tables" "$dir/known" "$page" "$dir/keys"
finish

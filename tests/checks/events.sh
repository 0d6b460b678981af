#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo_set_log(3) lists the events that libdodo logs, and no others.
. "$(dirname "$0")/lib.sh"

page=docs/dodo_set_log.3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
event='(manager|host|region|start)_[a-z_]+'
grep -ohE "\"${event}[ \"]" libdodo/*.c | tr -d '" ' | sort -u >"$dir/code"
grep -oE "^${event}"$'\t' "$page" | tr -d '\t' | sort >"$dir/page"
[ -s "$dir/code" ] || complain "no event in libdodo/*.c looks as this check expects it"
compare libdodo "$dir/code" "$page" "$dir/page"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every shell script passes shellcheck.
. "$(dirname "$0")/lib.sh"

need shellcheck
stubs=$(mktemp -d)
trap 'rm -rf "$stubs"' EXIT
# The tests of tests/net see the names of what they share, and not its text: to look at that again in each of them takes
# three times as long as they do. Functions do nothing there; each name that it has is set, and used.
shared=(tests/net/lib.sh scripts/lib/hosts.sh scripts/lib/cluster.sh tests/net/words.sh)
{
  echo '# shellcheck shell=bash'
  grep -hE '^declare -A' "${shared[@]}"
  sed -nE 's/^([a-z_0-9]+)\(\) .*/\1() { :; }/p' "${shared[@]}"
  grep -hoE '(^|[;&( ])[a-z_0-9]+=|\$\{?[#!]?[A-Za-z_][A-Za-z_0-9]*' "${shared[@]}" | grep -oE '[A-Za-z_][A-Za-z_0-9]*' | sort -u |
    sed 's/.*/&=${&:-}/'
} >"$stubs/lib.sh"
mapfile -t net < <(scripts | grep '^tests/net/')
mapfile -t others < <(scripts | grep -v '^tests/net/')
shellcheck -x -P "$stubs" -P SCRIPTDIR -s bash "${net[@]}"
shellcheck -x -P SCRIPTDIR -s bash "${others[@]}"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every page of the manual is sound roff and of this version, is installed, and refers only to pages that exist.
. "$(dirname "$0")/lib.sh"

need groff
version=$(sed -n "s/^project('dodo'.* version: '\([^']*\)'.*/\1/p" meson.build)
for page in docs/*.[1-8]; do
  name=${page#docs/}
  head -n 1 "$page" | grep -q '^\.so' && continue
  out=$(groff -t -man -ww -z -Tutf8 -I docs "$page" 2>&1)
  [ -z "$out" ] || complain "$out"
  grep -qE "^\.TH .*\"[dD]odo ($version|${version%.*})\"" "$page" || complain "$page is not of version $version"
  grep -q "'$name'" docs/meson.build || complain "$page is not in docs/meson.build"
  while read -r other; do
    [ -e "docs/$other" ] || complain "$page refers to $other, which is not there"
  done < <(sed 's/\\-/-/g' "$page" | grep -oE '^\.(BR|RB \() (dodo|cmd|imd|rmd)[a-zA-Z_.-]* \([1-8]\)' |
    sed -E 's/^.* ([^ ]+) \(([1-8])\)/\1.\2/')
done
finish

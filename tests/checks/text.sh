#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every source file says its licence first; no line ends in a space; every file ends its last line.
. "$(dirname "$0")/lib.sh"

mapfile -t listed < <(
  files '*.[ch]' '*.def' '*.sh' '*.py' meson.build meson_options.txt '*.[1-8]' '*.map' '*.js' '*.css'
  scripts
)
while read -r file; do complain "$file: has no SPDX line at its top"; done < <(awk '
FNR <= 3 && /SPDX-License-Identifier: MIT/ { has[FILENAME] = 1 }
FNR >= 3 { nextfile }
END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in has)) print ARGV[i] }' "${listed[@]}")

mapfile -t listed < <(
  files '*.[ch]' '*.def' '*.sh' '*.py' meson.build meson_options.txt '*.[1-8]' '*.map' '*.md' '*.js' '*.css' '*.html' \
    '*.service' '*.example' '*.allow'
  scripts
)
while IFS=: read -r file line _; do complain "$file:$line: space at the end of the line"; done < <(
  grep -Hnm 1 -E '[[:space:]]+$' "${listed[@]}" || true
)
while read -r file; do complain "$file: its last line has no end"; done < <(
  grep -lPz '[^\n]\z' "${listed[@]}" || true
)
finish

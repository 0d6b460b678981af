#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every source file says its licence first; no line ends in a space; every file ends its last line.
. "$(dirname "$0")/lib.sh"

while read -r file; do
  head -n 3 "$file" | grep -q 'SPDX-License-Identifier: MIT' ||
    complain "$file: has no SPDX line at its top"
done < <(
  files '*.[ch]' '*.def' '*.sh' '*.py' meson.build meson_options.txt '*.[1-8]' '*.map'
  scripts
)
while read -r file; do
  line=$(grep -nm 1 -E '[[:space:]]+$' "$file" | cut -d: -f1 || true)
  [ -z "$line" ] || complain "$file:$line: space at the end of the line"
  [ ! -s "$file" ] || [ -z "$(tail -c 1 "$file")" ] || complain "$file: its last line has no end"
done < <(
  files '*.[ch]' '*.def' '*.sh' '*.py' meson.build meson_options.txt '*.[1-8]' '*.map' '*.md' \
    '*.service' '*.example' '*.allow'
  scripts
)
finish

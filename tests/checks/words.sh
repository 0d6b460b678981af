#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Texts that people read are in plain English: these phrases have plainer ones, named beside them.
. "$(dirname "$0")/lib.sh"

# "phrase | say instead"; a phrase may be broken by the end of a line. Names of functions do not count.
phrases='
(to|can|cannot|could|must|may) be had | available, or: there is (none)
mend(s|ed|ing)? | fix, correct
(is|are|was|were|be|been|being) told | learns, hears; or who reports it to whom
anew | again
dear(er|est)? | expensive
bears?|borne | carries, has; tolerates
by and by | in time
lest | so that ... not
who(so)?ever | the one who; or name him
of (its|his|her|their|our) own accord | by itself
in the same words by | the same ... for all
nought|aught|hither|thither|whence | plain words
'
mapfile -t listed < <({
  files '*.[ch]' '*.def' '*.py' '*.js' '*.html' '*.md' '*.[1-8]' '*.example' '*.service' '*.map' meson.build
  scripts
} | grep -v '/checks/words.sh$')
while read -r line; do complain "$line"; done < <(awk -v phrases="$phrases" '
BEGIN {
  n = split(phrases, lines, "\n")
  for (i = 1; i <= n; i++)
    if (split(lines[i], part, " [|] ") == 2)
      say["(^|[^a-z_])(" part[1] ")($|[^a-z_])"] = part[2]
}
FNR == 1 { before = "" }
{
  # The last words of the line before, in which a phrase may begin.
  text = $0
  sub(/^[ \t*#\/]+/, "", text)
  text = before " " text
  for (phrase in say)
    if (match(tolower(text), phrase) && RSTART + RLENGTH - 1 > length(before) + 1)
      printf "%s:%d: %s: say %s\n", FILENAME, FNR, substr(text, RSTART, RLENGTH), say[phrase]
  count = split(text, word, " ")
  before = ""
  for (i = count > 4 ? count - 3 : 1; i <= count; i++) before = before " " word[i]
}' "${listed[@]}")
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# completion.sh PROGRAM: bash completes what `dodo --help` says: each command, and each of its options,
# with "=" where it takes a value; and no option with a value offers other options after it.
. "$(dirname "$0")/lib.sh"

dodo=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# What the package bash-completion has for it; the words are the command line's.
_init_completion() {
  words=("${line[@]}")
  cword=$((${#line[@]} - 1))
  cur=${line[cword]}
  prev=${line[cword - 1]}
}
_filedir() { COMPREPLY=(FILES); }
compopt() { :; }
. packaging/bash-completion/dodo

# offered WORD...: what is offered for the last of these words.
offered() {
  line=("$@")
  COMPREPLY=()
  _dodo
  printf '%s\n' "${COMPREPLY[@]}" | sort
}
# options [COMMAND]: what its help says.
options() { "$dodo" "$@" --help | sed -nE 's/^ +(-h, )?(--[a-z-]+=?).*/\2/p' | sort; }

"$dodo" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort >"$dir/commands"
[ -s "$dir/commands" ] || complain "dodo --help tells no command"
offered dodo "" >"$dir/offered"
compare "dodo --help" "$dir/commands" "the completion" "$dir/offered"
options >"$dir/options"
offered dodo -- >"$dir/offered"
compare "dodo --help" "$dir/options" "the completion" "$dir/offered"
while read -r command; do
  options "$command" >"$dir/options"
  offered dodo "$command" -- >"$dir/offered"
  compare "dodo $command --help" "$dir/options" "the completion" "$dir/offered"
  grep '=$' "$dir/options" >>"$dir/values" || true
done <"$dir/commands"
while read -r option; do
  line=(dodo bench "${option%=}" --)
  COMPREPLY=()
  _dodo
  [[ ${COMPREPLY[0]-} != --* ]] || complain "the completion does not know that $option takes a value"
done < <(sort -u "$dir/values")
[ "$(offered dodo survey "")" = FILES ] || complain "dodo survey: no files are offered"
[ "$(offered dodo st)" = status ] || complain "dodo st: not completed to status"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# completion.sh PROGRAM: bash completes what `dodo --help` says: each command, and each of its options,
# with "=" where it takes a value; an option offers others after it unless it takes a value; and what comes
# after `dodo run` is a program with options of its own.
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
  COMP_WORDS=() # where bash divides them
  local word
  for word in "${line[@]}"; do
    if [[ $word == --*=* ]]; then COMP_WORDS+=("${word%%=*}" "=" "${word#*=}"); else COMP_WORDS+=("$word"); fi
  done
  [[ $cur != --*=* ]] || { prev=${cur%%=*} && cur=${cur#*=}; } # -s
}
_filedir() { COMPREPLY=(FILES); }
compopt() { :; }
_command_offset() { COMPREPLY=("COMMAND $1"); }
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
  while read -r option; do
    line=(dodo "$command" "${option%=}" --)
    COMPREPLY=()
    _dodo
    if [[ $option == *= ]]; then
      [[ ${COMPREPLY[0]-} != --* ]] || complain "dodo $command: the completion does not know that $option takes a value"
    else
      [[ ${COMPREPLY[0]-} == --* ]] || complain "dodo $command: the completion waits for a value of $option"
    fi
  done <"$dir/options"
done <"$dir/commands"
# program INDEX WORD...: of these, as bash divides them, the word INDEX is the program that is run, and the rest is its own.
program() {
  local got
  got=$(offered "${@:2}")
  [ "$got" = "COMMAND $1" ] || complain "${*:2}: completed with $got, and not as the command at word $1"
}
program 2 dodo run ""
program 2 dodo run sqlite3 --read
program 2 dodo run grep --dir ""
program 4 dodo run --cache-size 2M sqlite3 --read
program 5 dodo run --cache-size=2M sqlite3 -x
program 3 dodo run --local sqlite3 ""
program 3 dodo run -- sql
[ "$(offered dodo run --dir "")" = FILES ] || complain "dodo run --dir: no directories are offered"
[ "$(offered dodo run --how=pre)" = preload ] || complain "dodo run --how=pre: not completed"
[ "$(offered dodo run --local --ver)" = "$(printf '%s\n' --verbose --version)" ] || complain "dodo run --local --ver: not completed"
[ "$(offered dodo survey "")" = FILES ] || complain "dodo survey: no files are offered"
[ "$(offered dodo st)" = status ] || complain "dodo st: not completed to status"
finish

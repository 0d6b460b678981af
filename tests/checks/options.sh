#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# options.sh PAGE PROGRAM [SUBCOMMAND...]: the options that --help tells, of the program and of each
# subcommand, are those in the page's OPTIONS and COMMANDS sections.
. "$(dirname "$0")/lib.sh"

page=$1 program=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
options() { grep -oE -- '(^|[^-a-z])--[a-z][a-z-]+' | sed 's/^[^-]*//' | sort -u; }
{
  "$program" --help </dev/null
  for command; do "$program" "$command" --help </dev/null; done
} >"$dir/text" || complain "${program##*/} --help fails"
options <"$dir/text" >"$dir/help"
awk '/^\.SH/ { on = /OPTIONS|COMMANDS/ } on' "$page" | sed 's/\\-/-/g; s/\\f[A-Z]//g' |
  options >"$dir/page"
[ -s "$dir/help" ] || complain "${program##*/} --help tells no option"
compare "${program##*/} --help" "$dir/help" "$page" "$dir/page"
for command; do
  grep -qw -- "$command" "$page" || complain "$page does not tell of the command $command"
done
finish

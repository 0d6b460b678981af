#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# one_case.sh PROGRAM SCENARIOS: a test program, and one of scenarios, run the cases that are asked for, and no others.
set -u
program=$1
scenarios=$2
export CMOCKA_MESSAGE_OUTPUT=TAP
echo 1..6
n=0
expect() { # WHAT, then a command that must succeed
  local what=$1
  n=$((n + 1))
  shift
  if "$@"; then echo "ok $n - $what"; else echo "not ok $n - $what"; fi
}
runs() { # COUNT ARGUMENT...
  [ "$("$program" "${@:2}" | grep -c '^ok .*__')" = "$1" ]
}
names_all() {
  [ "$("$program" --list)" = "$("$program" | sed -n 's/^ok [0-9]* - //p' | grep __)" ]
}
refuses() {
  local status=0
  said=$("$program" "$@" 2>&1) || status=$?
  [ "$status" = 2 ] && [[ $said == *"addr_parse__nothing"* && $said != *"ok 1 "* ]]
}
expect "by name" runs 1 addr_parse__refuses
expect "by pattern, and by the environment" eval \
  'runs 2 "addr_parse__*" && TEST_CASE="addr_parse__*" runs 2'
expect "--list" names_all
expect "a name that is none" refuses addr_parse__nothing
expect "a name that is none beside one that is" refuses addr_parse__refuses addr_parse__nothing
program=$scenarios
expect "a scenario, by the environment" eval \
  'TEST_CASE=exit__beside_a_write_that_hangs runs 1'

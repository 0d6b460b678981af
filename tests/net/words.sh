# SPDX-License-Identifier: MIT
# How the tests with real programs say what they see, and how long they wait for it.
# Sourced by bash; must() needs scripts/lib/cluster.sh, too.
# shellcheck shell=bash

patience=150 # seconds that anything that is waited for may take, on a busy machine too

fail() {
  echo "FAILED: $*"
  exit 1
}
# until_true PID COMMAND...: it succeeds within patience, while that program runs.
until_true() {
  local program=$1 deadline=$((SECONDS + patience + 1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "did not happen within $patience s: $*"
    kill -0 "$program" 2>/dev/null || fail "the program has ended that was to make true: $*"
    sleep 0.05
  done
}
told() { printf '%s\n' "$*"; }
# must WHAT COMMAND...: it succeeds within patience.
must() {
  local what=$1
  shift
  wait_for "$patience" "$@" || fail "$what did not happen within $patience s"
  told "$what"
}

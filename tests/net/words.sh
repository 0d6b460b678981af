# SPDX-License-Identifier: MIT
# How the tests with real programs say what they see, and how long they wait for it.
# Sourced by bash after scripts/lib/cluster.sh.
# shellcheck shell=bash

patience=150 # seconds that anything that is waited for may take, on a busy machine too

fail() {
  echo "FAILED: $*"
  exit 1
}
told() { printf '%s\n' "$*"; }
# must WHAT COMMAND...: it succeeds within patience.
must() {
  local what=$1
  shift
  wait_for "$patience" "$@" || fail "$what did not happen within $patience s"
  told "$what"
}

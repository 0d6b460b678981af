# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # names that lib.sh and the tests have
# What the tests of resource monitors share; behind lib.sh.

bin_rmd=$DODO_BUILD/rmd/rmd
[ -x "$bin_rmd" ] || {
  echo "SKIP: rmd was not built here"
  exit 77
}
# rmd_settings LINE...: no thresholds of production; a touch of the console's file is the owner. The load is this
# machine's, and no business of a test's. The lines are of [rmd].
rmd_settings() {
  printf '%s\n' '[rmd]' 'load_below = 100000' 'beat = 300ms' 'utmp = none' 'input = none' 'imd_port = 0' \
    'idle_priority = no' 'leave_deadline = 5s' "$@" '[imd]' 'owner_silence = 15s' >>"$work/dodo.conf"
}
imd_of() { pgrep -P "${proc_pid[rmd$1]}" -x imd; }
# In $old, for what becomes of it.
found() { old=$(imd_of "$1"); }
gone() { ! [ -e "/proc/$1" ] || [ "$(cut -d' ' -f3 "/proc/$1/stat" 2>/dev/null)" = Z ]; }

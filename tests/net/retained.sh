#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a program keeps for its next run is found again when the manager was killed in between, by a
# manager that learned of it from the hosts, also when its time of grace is over; and it is not found
# once the file has changed.
. "$(dirname "$0")/lib.sh"

regions=5 # of one run

# keep WHAT: one run of the program; its regions are new or found.
keep() {
  on client timeout "$patience" "$DODO_BUILD/tests/net/keeper" "$work/file" "$1" >"$work/keeper.log" 2>&1 ||
    fail "a run whose regions should be $1 ended with status $?"
  told "a run's regions were $1:"
  cat "$work/keeper.log"
}
# kept MS: the manager has been up so long, and knows the hosts and what they keep for nobody.
kept() {
  status_is client "s['uptime_ms'] >= $1 and s['regions'] == $regions and s['clients'] == 0" &&
    hosts_idle client 2
}

nobody_gives_up
grace=6s # and it waits until that is over
cluster 2
head -c $((8 << 20)) /dev/urandom >"$work/file"
must "the file's stamp is settled" file_settled "$work/file"
keep new
must "the manager knows them as kept" kept 0

proc_kill cmd
manager_up
must "a new manager knows of the hosts and regions" kept 0
keep found
must "the manager knows them as kept" kept 0

proc_kill cmd
manager_up
must "a new manager keeps them beyond its time of grace" kept 8000
keep found

printf changed | dd of="$work/file" bs=1 seek=100 conv=notrunc status=none
must "the changed file's stamp is settled" file_settled "$work/file"
proc_kill cmd
manager_up
must "a new manager knows of the hosts and regions" kept 0
keep new
must "what was kept of the file as it was is gone" kept 0
keep found

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The owner comes back while a program reads from the host's memory: the manager knows, imd is gone,
# the program goes on with every byte right; the owner leaves, and the host is lent again. Then imd
# dies, then the monitor.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/rmd_lib.sh"

# rmd_up N: monitor of host hN, whose console is the file consoleN.
rmd_up() {
  [ -e "$work/console$1" ] || touch -a -d '1 hour ago' "$work/console$1"
  mkdir -p "$work/run$1"
  daemon_start "rmd$1" "h$1" env RUNTIME_DIRECTORY="$work/run$1" "$bin_rmd" --manager "$DODO_MANAGER" --listen "${host_ip[h$1]}" \
    --pool 16M --console "$work/console$1" || fail "rmd$1 did not start"
}
# The address's port is imd's while the host is lent, and the monitor's while it is not. An imd that has
# taken its leave stays in the directory for a while.
host_state() {
  status_is client "[h['state'] for h in s['hosts'] if h['address'].startswith('${host_ip[h$1]}:') and h['state'] != 'leaving'] == ['$2']"
}
# event_named KIND ADDRESS WORD: there is such an event, and its reason has that word.
event_named() { on client "$bin_dodo" events | grep -qE " $1 +$2[0-9]+ .*$3"; }
has_imd() { imd_of "$1" >/dev/null; }
# imd_is N FILE PATTERN: the kernel says so in that file of the process. On a machine that stands still for
# a while a monitor takes its host back: then another imd is asked.
imd_is() {
  local said
  found "$1" && said=$(cat "/proc/$old/$2" 2>/dev/null) || return 1
  grep -q "$3" <<<"$said" || fail "imd$1, $2: not $3 but $said"
}
# works N CONDITION...: whether it holds, while the owner is at work: the host stays his meanwhile.
works() {
  touch -a "$work/console$1"
  "${@:2}"
}
# explained N TEXT: dodo explain says so.
explained() {
  on client timeout 10 "$bin_dodo" explain "${proc_address[rmd$1]}" 2>/dev/null | grep -qF "$2"
}
# One that the monitor ends just then, for a reason of its own, is not the one.
killed() {
  host_state "$1" idle && found "$1" && kill -9 "$old" 2>/dev/null &&
    wait_for 20 explained "$1" "imd last ended by itself with signal 9"
}
paused() { found "$1" && kill -STOP "$old" 2>/dev/null; }
is_other() { has_imd "$1" && [ "$(imd_of "$1")" != "$2" ]; }

nobody_gives_up
host_silence=5s # but the hosts whose imd is killed
config
# On a machine with much else to do looks come late: of those of a second each three may fail before a host is taken back
# for it.
rmd_settings 'poll = 1s' 'idle_after = 1s' 'save = 0'
cluster_hosts 2
manager_up
for i in 1 2; do rmd_up "$i"; done
must "both hosts are lent" hosts_idle client 2
for i in 1 2; do
  must "imd$i is the first to go" imd_is "$i" oom_score_adj '^1000$'
  must "imd$i leaves no core file" imd_is "$i" limits '^Max core file size *0 *0 '
done
must "dodo explain says why" explained 1 "The host is lent: the console has been idle for"

loader_start
loader_mark
must "reads come from remote memory" loader_remote 60 20
lost=$(loader_value lost)
must "an imd is there" found 1
touch -a "$work/console1" # once: it is noticed, however late the next look is
must "imd of the returned owner's host is gone" gone "$old"
must "the manager knows that the owner is back" works 1 host_state 1 busy
must "the manager names the host and the reason" event_named host_busy "${host_ip[h1]}:" console
must "the client has heard of it" loader_reached lost $((lost + 1))
loader_mark
must "work goes on" loader_did 1000
must "the host is lent again, when the owner is away" host_state 1 idle
loader_mark
must "reads come from remote memory" loader_remote 60 20

must "an imd is there" found 1
printf '[rmd]\nowner_socket = %s\n' "$work/run1/owner" >"$work/owner.conf"
owner() { on h1 "$bin_dodo" owner --config "$work/owner.conf" "$@"; }
said=$(owner --pause) || fail "no pause: $said"
grep -q '^This host lends nothing: a user of the host has paused the lending, ' <<<"$said" || fail "a pause says: $said"
must "imd of a host that its user has paused is gone" gone "$old"
must "the manager knows why" event_named host_busy "${host_ip[h1]}:" paused
said=$(owner --resume) || fail "no end of a pause: $said"
must "the host is lent again" host_state 1 idle
owner | grep -q '^This host lends .* of its memory, ' || fail "of what it lends it says: $(owner)"

must "dodo explain remembers that imd was killed" killed 2
must "imd that was killed is started again" is_other 2 "$old"
must "the host is lent again" host_state 2 idle
loader_mark
must "reads come from remote memory" loader_remote 60 20

must "an imd is there" found 2
proc_kill rmd2
must "imd of a monitor that was killed is gone" gone "$old"
rmd_up 2
must "the host is lent again, by the next monitor" host_state 2 idle
loader_mark
must "work goes on" loader_did 1000

must "an imd is there" found 2
kill -STOP "${proc_pid[rmd2]}" # it sees no owner
must "imd of a monitor that hangs leaves" gone "$old"
kill -CONT "${proc_pid[rmd2]}"
must "the host is lent again" host_state 2 idle

must "imd is paused" paused 1 # it cannot leave
touch -a -d '2 seconds ago' "$work/console1" # the clock of stamps lags on a machine that is held up
must "imd that does not leave is killed" gone "$old"
loader_end

for name in rmd1 rmd2 cmd; do
  proc_signal "$name" TERM
  wait_for "$patience" proc_gone "${proc_pid[$name]}" || fail "$name does not end"
  proc_wait "$name" || fail "$name ended with status $?"
done
told "all ended with status 0"

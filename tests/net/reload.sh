#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# At SIGHUP cmd and imd read their key file again: who has the new key is served, who has only the old one is not, and
# the reads of a program go on all the while. No daemon is ended by it, and none takes a wrong key file.
. "$(dirname "$0")/lib.sh"

says() { [ "$(grep -cF -- "$2" "$work/$1.log")" -ge "$3" ]; }
status_with() { DODO_KEY=$1 on client "$bin_dodo" status --timeout 2s >/dev/null 2>&1; }
hidden() { ! status_with "$1"; }

cluster_under_load 1
cp -p "$work/key" "$work/old"
"$bin_dodo" keygen "$work/next"
chmod 600 "$work/next"
status_with "$work/old" || fail "no answer with the key"
hidden "$work/next" || fail "an answer with a key that nobody has given"

# reloaded NAME N: it reads its files again, and says so for the Nth time.
reloaded() {
  proc_signal "$1" HUP
  must "$1 has read its keys again" says "$1" ": reloaded" "$2"
}
cat "$work/next" "$work/old" >"$work/key"
reloaded cmd 1
reloaded imd1 1
must "cmd answers with the next key" status_with "$work/next"
must "cmd answers with the old key" status_with "$work/old"
loader_mark
must "reads are remote with both keys" loader_remote 90 10

echo rubbish >"$work/key"
for name in cmd imd1; do
  proc_signal "$name" HUP
  must "$name says what is wrong with the file" says "$name" ": not_reloaded" 1
done
must "cmd goes on with the keys that it has" status_with "$work/next"
loader_mark
must "reads are remote with the keys that imd has" loader_remote 90 10

cat "$work/next" >"$work/key"
sed -i 's/^log_level = .*/log_level = debug/' "$work/dodo.conf"
reloaded cmd 2
must "nobody is let in with the old key" hidden "$work/old"
reloaded imd1 2
must "imd's log has another level" grep -q 'reloaded.*log_level=debug' "$work/imd1.log"
for name in cmd imd1; do
  says "$name" 'changed="[dodo] log_level, [dodo] key"' 1 || fail "$name does not say what has changed"
done
sed -i 's/^beat = .*/beat = 310ms/; s/^grace = .*/grace = 61s/; s/^client_dead = .*/client_dead = 60s/' "$work/dodo.conf"
reloaded cmd 3
reloaded imd1 3
must "cmd says what has to wait" says cmd 'needs_restart keys="[cmd] grace"' 1
must "imd says what has to wait" says imd1 'needs_restart keys="[imd] beat"' 1
says cmd 'changed="[cmd] client_dead"' 1 || fail "cmd does not take another client_dead"
must "the manager has its host with the new key" status_is client "[h['state'] for h in s['hosts']] == ['idle']"

# The manager is somewhere else than the file has said.
sed -i 's/^\[dodo\]/[dodo]\nmanager = 10.88.0.99:7700/' "$work/dodo.conf"
daemon_start imd2 h1 env -u DODO_MANAGER "$bin_imd" --listen "${host_ip[h1]}:0" --pool 16M --nice 0 ||
  fail "imd did not start"
daemon_start rmd h1 env -u DODO_MANAGER "$DODO_BUILD/rmd/rmd" --listen "${host_ip[h1]}:0" || fail "rmd did not start"
sed -i "s/^manager = .*/manager = $DODO_MANAGER/; s/^\[cmd\]/[rmd]\nidle_after = 1h\n[cmd]/" "$work/dodo.conf"
reloaded imd2 1
reloaded rmd 1
must "imd has joined the manager that the file names now" imd_idle 2
must "rmd reports to the manager that the file names now" says rmd ": manager_answers manager=$DODO_MANAGER" 1
says rmd 'changed="[rmd] idle_after, [dodo] manager"' 1 || says rmd 'changed="[dodo] manager, [rmd] idle_after"' 1 ||
  fail "rmd does not say what has changed"
loader_end
loader_start # it reads the key file at its start
loader_mark
must "reads are remote with the next key" loader_remote 60 10
loader_end

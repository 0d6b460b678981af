#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# At SIGHUP cmd reads its key file again: who has the new key is served, who has only the old one is not, and
# the reads of a program go on all the while. No daemon is ended by it.
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

cat "$work/next" "$work/old" >"$work/key"
proc_signal cmd HUP
must "cmd has read its keys again" says cmd reloaded 1
must "cmd answers with the next key" status_with "$work/next"
must "cmd answers with the old key" status_with "$work/old"
cat "$work/next" >"$work/key"
proc_signal cmd HUP
must "cmd has read its key again" says cmd reloaded 2
must "cmd answers with the next key only" status_with "$work/next"
must "nobody is let in with the old key" hidden "$work/old"

echo rubbish >"$work/key"
proc_signal cmd HUP
must "cmd says what is wrong with the file" says cmd not_reloaded 1
must "cmd goes on with the key that it has" status_with "$work/next"
proc_signal imd1 HUP
must "imd says that it cannot" says imd1 not_reloaded 1
loader_mark
must "reads are remote" loader_remote 90 10
loader_end

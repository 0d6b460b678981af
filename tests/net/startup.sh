#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a bad start gets: one line that says what to fix, status 1, or 2 for the command line.
set -euo pipefail
work=$(mktemp -d "${TMPDIR:-/tmp}/dodo-startup.XXXXXX")
export XDG_STATE_HOME=$work/state XDG_RUNTIME_DIR=$work # what the library keeps of retained regions goes, too
trap 'rm -rf "$work"' EXIT
cd "$work"
unset DODO_MANAGER DODO_KEY DODO_INSECURE DODO_LOG
cmd=$DODO_BUILD/cmd/cmd imd=$DODO_BUILD/imd/imd rmd=$DODO_BUILD/rmd/rmd dodo=$DODO_BUILD/tools/dodo
: >empty.conf
export DODO_CONFIG=$work/empty.conf

failures=0
# refused STATUS WORDS COMMAND...: it ends with that status and one line that has those words.
refused() {
  local status=$1 words=$2 got=0
  shift 2
  timeout 150 "$@" >out 2>err </dev/null || got=$?
  if [ "$got" -ne "$status" ] || ! grep -qF -- "$words" err || [ "$(wc -l <err)" -ne 1 ]; then
    printf 'FAILED: %s\n  status %s, expected %s and one line with "%s":\n' "${*##*/}" "$got" "$status" "$words"
    sed 's/^/  /' err
    failures=$((failures + 1))
  fi
}

"$dodo" keygen key
[ "$(stat -c %a key)" = 600 ] || [ "$(stat -c '%a %G' key)" = '640 dodo' ] || { stat key && exit 1; }
cp key open.key
echo rubbish >bad.key
chmod 600 key bad.key
chmod 644 open.key
printf '[imd]\npol = 5\n' >unknown.conf
printf '[dodo]\nlog_level = loud\n' >value.conf
printf 'nonsense\n' >syntax.conf
here=(--manager 127.0.0.1:1 --listen 127.0.0.1:0)

refused 2 "--listen ADDR[:PORT] is needed" "$cmd"
refused 2 "--nonsense" "$cmd" --nonsense
refused 2 "extra" "$cmd" --listen 127.0.0.1:0 extra
refused 2 "or an interface such as eth0" "$cmd" --listen 10.0.0
refused 1 "--listen nowhere: there is no such interface" "$cmd" --listen nowhere
refused 2 "--manager HOST:PORT is needed" "$imd" --listen 127.0.0.1:0 --pool 1M
refused 2 "--pool SIZE is needed" "$imd" "${here[@]}"
refused 2 "--pool lots" "$imd" "${here[@]}" --pool lots
refused 2 "both be IPv4 or both IPv6" "$imd" --manager '[::1]:1' --listen 127.0.0.1:0 --pool 1M
refused 2 "unknown command" "$dodo" nonsense
refused 2 "--timeout" "$dodo" status --timeout soon
refused 1 "there is no key file" "$cmd" --listen 127.0.0.1:0 --key nofile
refused 1 "is not overwritten" "$dodo" keygen key
refused 2 "one file at most" "$dodo" keygen key2 key3
if ! (umask 022 && "$dodo" keygen >printed 2>err && grep -q 'others can read' err); then
  echo "FAILED: a key that others can read, without a warning"
  failures=$((failures + 1))
fi
if ! (umask 077 && rm printed && "$dodo" keygen >printed 2>err && [ ! -s err ] && [ "$(wc -c <printed)" -eq 65 ]); then
  echo "FAILED: a key printed"
  failures=$((failures + 1))
fi
refused 1 "readable by others" "$cmd" --listen 127.0.0.1:0 --key open.key
refused 1 "64 hexadecimal digits" "$cmd" --listen 127.0.0.1:0 --key bad.key
secret=$(cat key)
name="expected the name of a file"
printf '[dodo]\nkey = %s\n' "$secret" >secret.conf
for program in "$cmd" "$imd" "$rmd" "$dodo status" "$dodo check" "$dodo config" "$dodo rekey --status" "$dodo run true"; do
  for place in "--key $secret" "--config secret.conf" "DODO_KEY=$secret"; do
    variable=() option=()
    if [[ $place == DODO_* ]]; then variable=("$place"); else read -r -a option <<<"$place"; fi
    read -r -a words <<<"$program"
    env "${variable[@]}" "${words[@]:0:2}" "${option[@]}" "${words[@]:2}" >out 2>&1 </dev/null && status=0 || status=$?
    if [ "$status" -eq 0 ] || ! grep -qF "$name" out || grep -qF "$secret" out; then
      printf 'FAILED: %s with a key that is no name: status %s\n' "${program##*/} ${place%% *}" "$status"
      sed "s/$secret/SECRET/; s/^/  /" out
      failures=$((failures + 1))
    fi
  done
done
refused 1 "not a loopback address" "$cmd" --listen 192.0.2.1:0
refused 1 "name the one address" "$cmd" --listen 0.0.0.0:0 --key key
refused 1 "name the one address" "$cmd" --listen 0.0.0.0:0
refused 1 "no answer can come from it" "$cmd" --listen 224.0.0.1 --key key
refused 1 "no answer can come from it" "$imd" --manager 10.0.0.1 --listen 255.255.255.255 --pool 1M
refused 1 "more than this host has" "$imd" "${here[@]}" --pool 200T
few="it may have only 12 files open, and needs"
refused 1 "$few 64: raise ulimit -n" prlimit --nofile=12:12 "$imd" "${here[@]}" --pool 1M
refused 1 "$few 304: raise ulimit -n" prlimit --nofile=12:12 "$imd" "${here[@]}" --pool 1M --threads 64
refused 1 "$few 64: raise ulimit -n" prlimit --nofile=12:12 "$cmd" --listen 127.0.0.1:0
refused 1 "$few 64: raise ulimit -n" prlimit --nofile=12:12 "$rmd" "${here[@]}"
for daemon in "$cmd" "$imd" "$rmd"; do
  refused 1 "its stack may have only 100 KiB, and needs 256: raise ulimit -s" prlimit --stack=102400 "$daemon" "${here[@]: -2}"
done
refused 1 'unknown key "pol"' "$imd" "${here[@]}" --pool 1M --config unknown.conf
refused 1 "log_level" "$imd" "${here[@]}" --pool 1M --config value.conf
refused 1 'expected "key = value"' "$cmd" --listen 127.0.0.1:0 --config syntax.conf
refused 1 "nofile.conf" "$cmd" --listen 127.0.0.1:0 --config nofile.conf
refused 1 "value.conf:2: log_level: expected" "$dodo" config --config value.conf
refused 1 "syntax.conf:1: expected" "$dodo" config --json --config syntax.conf
refused 1 "nofile.conf" "$dodo" config --config nofile.conf
refused 2 "--manager 10.0.0.256: expected a name" "$dodo" config --manager 10.0.0.256
printf '[dodo]\nmanager = elsewhere\n' >named.conf
if ! DODO_LOG=debug "$dodo" config --config named.conf --insecure >out 2>err || [ -s err ] ||
  ! grep -qE '^\[dodo\] manager +elsewhere +named.conf:2$' out ||
  ! grep -qE '^\[dodo\] log_level +debug +DODO_LOG$' out || ! grep -qE '^\[dodo\] insecure +yes +command line$' out ||
  ! "$dodo" config --json | /usr/bin/python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["faults"] != [])'; then
  echo "FAILED: dodo config does not say where its values come from"
  failures=$((failures + 1))
fi
refused 1 "which manager" "$dodo" status
refused 1 "127.0.0.1:1" "$dodo" status --manager 127.0.0.1:1 --timeout 100ms

# An address in use: that of a manager that is running.
mkfifo ready
"$cmd" --listen 127.0.0.1:0 >ready 2>cmd.log </dev/null &
running=$!
trap 'kill "$running" 2>/dev/null || true; rm -rf "$work"' EXIT
read -r -t 150 line <ready || line=
address=$(grep -oE '127\.0\.0\.1:[0-9]+' <<<"$line")
refused 1 "in use" "$cmd" --listen "$address"

# A log that is as long as a file may be: it ends with its own status, and warnings before its loop do not end it.
kill "$running"
wait "$running" || true
full=(prlimit --fsize=0)
# status_is STATUS COMMAND...
status_is() {
  local status=$1 got=0
  shift
  "${full[@]}" "$@" 2>err </dev/null >/dev/null || got=$?
  if [ "$got" -ne "$status" ]; then
    echo "FAILED: with a full log, ${*##*/}: status $got, expected $status"
    failures=$((failures + 1))
  fi
}
for daemon in "$cmd" "$imd" "$rmd"; do
  status_is 2 "$daemon" --nonsense
  status_is 1 "$daemon" "${here[@]: -2}" --config nofile.conf
done
status_is 2 "$DODO_BUILD/usocket/helper/dodo-socket" --nonsense
"${full[@]}" "$cmd" --listen 192.0.2.1:0 --insecure >ready 2>cmd.log </dev/null &
running=$!
read -r -t 150 line <ready || line=
if [[ $line != "cmd ready: "* ]]; then
  echo "FAILED: a warning to a full log ends cmd at its start"
  failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] && echo "all refused as they should be"
exit $((failures > 0))

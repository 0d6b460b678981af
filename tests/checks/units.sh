#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# units.sh DIRECTORY: the service manager understands the units in it, and finds little that the
# daemons which talk to the whole network could do beside their work.
. "$(dirname "$0")/lib.sh"

if ! command -v systemd-analyze >/dev/null; then
  echo "SKIP: systemd-analyze is not installed"
  exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# exposed UNIT TENTHS: at most so much.
exposed() {
  systemd-analyze security --offline=true --no-pager --threshold="$2" "$1" >"$dir/report" 2>&1 ||
    complain "$(grep -E '✗|Overall|rror' "$dir/report")"
}
exposed "$1/dodo-cmd.service" 20
exposed "$1/dodo-imd.service" 20
exposed "$1/dodo-rmd.service" 20
exposed "$1/dodo-socket@.service" 20

# The units of daemons that lend, as an administrator completes them.
mkdir "$dir/completed"
for name in imd rmd; do
  [ -e "$1/dodo-$name.service" ] || continue
  cp "$1/dodo-$name.service" "$dir/completed"
  mkdir "$dir/completed/dodo-$name.service.d"
  cp "$1/drain-on-stop.conf" "$dir/completed/dodo-$name.service.d"
done

# Programs and pages are where the unit will be installed, perhaps not here.
for unit in "$1"/dodo-*.service "$dir"/completed/dodo-*.service; do
  systemd-analyze verify --man=no "$unit" >"$dir/report" 2>&1 || true
  while read -r line; do complain "$line"; done < <(
    grep -F 'dodo-' "$dir/report" | grep -vF 'is not executable: No such file' || true
  )
  grep -q '^RestartSec=' "$unit" || complain "$unit: tries again at once (no RestartSec)"
  grep -q '^StartLimitIntervalSec=0$' "$unit" || complain "$unit: stops trying to start (no StartLimitIntervalSec=0)"
done
# These end their own processes, in an order.
for name in cmd rmd; do
  grep -q '^KillMode=mixed$' "$1/dodo-$name.service" || complain "dodo-$name.service: all its processes end at once"
done
# A dynamic user has a private /tmp, whatever the unit says; rmd asks X servers, which listen in /tmp.
unit=$1/dodo-rmd.service
if [ -e "$unit" ] && grep -q '^DynamicUser=yes$' "$unit"; then
  grep -qx 'BindReadOnlyPaths=-/tmp/.X11-unix' "$unit" || complain "$unit: X servers of the host cannot be reached"
fi
finish

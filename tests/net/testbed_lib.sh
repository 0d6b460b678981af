# SPDX-License-Identifier: MIT
# Shared by the tests of scripts/testbed. DODO_BUILD is the build directory.
# shellcheck shell=bash
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$root/scripts/lib/hosts.sh"
. "$root/scripts/lib/cluster.sh"
. "$root/tests/net/words.sh"

if ! hosts_possible && ! unshare -Urnpm --fork --mount-proc true 2>/dev/null; then
  echo "SKIP: network namespaces are not allowed here"
  exit 77
fi
unset DODO_MANAGER DODO_KEY DODO_INSECURE DODO_LOG DODO_CONFIG
work=$(mktemp -d "${TMPDIR:-/tmp}/dodo-testbed-test.XXXXXX")
export TESTBED_DIR=$work/bed

finish() {
  local status=$? bed
  for bed in "$work"/bed*; do
    [ ! -e "$bed" ] || testbed down --dir "$bed" >/dev/null || status=1
  done
  [ "$status" -eq 0 ] || tail -n 30 "$work"/*.log 2>/dev/null || true
  rm -rf --one-file-system "$work"
  exit "$status"
}
trap finish EXIT
trap 'exit 1' INT TERM

testbed() { "$root/scripts/testbed" "$@"; }
up() { testbed up --build "$DODO_BUILD" "$@" >>"$work/up.log" 2>&1; }
# says PYTHON-EXPRESSION: of the status `s`, with the hosts by name in `h`.
says() {
  testbed status --json >"$work/status.json" 2>"$work/status.log" || return 1
  /usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[2]))
h = {host["name"]: host for host in s["hosts"]}
sys.exit(not eval(sys.argv[1]))' "$1" "$work/status.json"
}

# remains: what there is of the testbed; everything in it has its directory in its environment or is
# the keeper's child.
remains() {
  [ ! -e "$TESTBED_DIR" ] || echo "its directory"
  grep -lzs "^TESTBED_DIR=$TESTBED_DIR\$" /proc/[0-9]*/environ |
    while IFS= read -r file; do inside "$file" && echo "process $file"; done
  grep -s " $TESTBED_DIR" /proc/self/mounts || true
  [ -z "${bed_id-}" ] || ls -d /sys/fs/cgroup/memory/*"$bed_id"* /sys/fs/cgroup/*"$bed_id"* 2>/dev/null || true
}
# Programs of the testbed alone: this test's own have the directory in their environment, too.
inside() { grep -qzs "^TESTBED_HOST=" "$1"; }
gone() { [ -z "$(remains)" ]; }
deserted() { [[ $(remains) != *process* ]]; }

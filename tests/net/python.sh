#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# python.sh PYTHON: the Python package on a cluster: its regions are served from remote memory, other threads
# run while a call waits, and a host that dies costs no byte.
. "$(dirname "$0")/lib.sh"

# client WHAT
client() {
  on client env PATH="$DODO_BUILD/tools:$PATH" PYTHONPATH="$DODO_BUILD/adapters/python" PYTHONDONTWRITEBYTECODE=1 \
    timeout "$patience" "$python" -W error "$root/tests/net/python_client.py" "$1" "$work/file" "${proc_pid[imd1]}" ||
    fail "the program in Python ended with status $?"
}

python=$1
nobody_gives_up
cluster 1
head -c $((4 << 20)) /dev/urandom >"$work/file"
client lives

host_silence=1s
config
client dies

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fortran.sh BUILD: the Fortran module compiles in strict Fortran 2018, its calls work on a file, and the
# example runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v gfortran >/dev/null || {
  echo "SKIP: gfortran is not installed"
  exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export DODO_CONFIG=/dev/null DODO_MANAGER='' XDG_STATE_HOME=$dir XDG_RUNTIME_DIR=$dir
export LD_LIBRARY_PATH=$1/libdodo:$1/libmanage
flags=(-O2 -Wall -Wextra -Werror -Wno-compare-reals -J "$dir")
gfortran "${flags[@]}" -std=f2018 -c adapters/fortran/dodo.f90 -o "$dir/dodo.o"
for program in tests/unit/fortran examples/manage; do # fnum() is of the compiler
  gfortran "${flags[@]}" -std=gnu "$program.f90" "$dir/dodo.o" -o "$dir/${program##*/}" \
    -L"$1/libdodo" -L"$1/libmanage" -lmanage -ldodo
done
perl -e 'print map { chr((7 * $_ % 251 - 128) & 255) } 0 .. 1048575' >"$dir/file"
"$dir/fortran" "$dir/file"
cp "$dir/file" "$dir/copy"
"$dir/manage" "$dir/file" | grep '^20000 reads: '
cmp "$dir/file" "$dir/copy"
# What goes wrong is said on standard error alone, with the status that the example in C has.
fails() { # STATUS TEXT [FILE]
  local rc=0
  DODO_CACHE_SIZE=much "$dir/manage" "${@:3}" >"$dir/out" 2>"$dir/err" || rc=$?
  if [ "$rc" != "$1" ] || [ -s "$dir/out" ] || ! grep -q "^$2" "$dir/err"; then
    echo "manage ${*:3}: status $rc, not $1, or not \"$2\": $(cat "$dir/out" "$dir/err")"
    return 1
  fi
}
fails 2 'usage: '
fails 1 'copen: .*DODO_CACHE_SIZE' "$dir/file"

#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# dodo run says what it would do and what it did, and adds nothing to a program that is run without these options.
. "$(dirname "$0")/lib.sh"

[ -w /dev/fuse ] || {
  echo "SKIP: /dev/fuse cannot be used here"
  exit 77
}
config
mkdir "$work/data"
head -c $((3 << 20)) /dev/urandom >"$work/data/large"

# check STATUS WORDS ARGUMENT...: what --check says has the words, and it exits so.
check() {
  local wanted=$1 words=$2 status=0
  shift 2
  "$bin_dodo" run --check "$@" >"$work/check" 2>"$work/check.log" || status=$?
  [ "$status" -eq "$wanted" ] || fail "dodo run --check $*: status $status: $(cat "$work/check" "$work/check.log")"
  grep -q -- "$words" "$work/check" || fail "dodo run --check $*: \"$words\" is not in: $(cat "$work/check")"
}

# ---- what it would do --------------------------------------------------------------------------

true=$(type -P true)
check 0 "^yes: $true would run in a mount namespace" --min-size 1M true "$work/data/large"
check 0 "^through the cache: $work/data$" --min-size 1M true "$work/data/large"
check 0 "linked dynamically" --dir "$work/data" true
check 0 "user namespace" --how user-namespace --dir "$work/data" true
! mountpoint -q "$work/data" || fail "--check leaves a mount behind"
if printf 'int main(void) { return 0; }' | cc -static -x c -o "$work/static" - 2>/dev/null; then
  check 0 "linked statically" --dir "$work/data" "$work/static"
fi
check 1 "^no: .*nothing-there: No such file" "$work/nothing-there"
check 1 "^no: .*Permission denied" "$work/data/large"
printf '#!%s/nowhere\n' "$work" >"$work/script"
chmod +x "$work/script"
check 1 "^no: $work/nowhere: No such file" "$work/script"
cp "$true" "$work/other"
if chown 1:1 "$work/other" 2>/dev/null; then
  chmod 4755 "$work/other"
  check 0 "^yes" --how namespace --dir "$work/data" "$work/other"
  check 1 "^no: $work/other is set-user-ID.*dodo mount" --how user-namespace --dir "$work/data" "$work/other"
fi
told "it says what it would do"

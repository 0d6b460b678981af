#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# hardening.sh FORTIFIED FILE...: what is installed is built so that a mistake with memory is harder
# to use. Programs, shared libraries, and the archives that they are made of. FORTIFIED: yes or no.
. "$(dirname "$0")/lib.sh"

need readelf
need objdump
fortified=$1
shift
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# linked FILE: a program or a shared library.
linked() {
  readelf -hldW "$1" >"$dir/elf"
  grep -qE 'Type: +DYN' "$dir/elf" || complain "$1: not position-independent (PIE)"
  grep -q 'GNU_RELRO' "$dir/elf" || complain "$1: no RELRO"
  grep -qE '\(FLAGS\).*BIND_NOW|\(FLAGS_1\).*NOW' "$dir/elf" || complain "$1: symbols are bound late (no BIND_NOW)"
  grep -qE 'GNU_STACK.* RW ' "$dir/elf" || complain "$1: the stack can be executed"
  ! grep -qE 'LOAD.* RWE ' "$dir/elf" || complain "$1: memory that can be written and executed"
  readelf --dyn-syms -W "$1" >"$dir/symbols"
  grep -q '__stack_chk_fail' "$dir/symbols" || complain "$1: no stack protector"
}
# archive FILE: of each object in it. Only some functions have the stack that the others are about.
archive() {
  if [ "$(uname -m)" = x86_64 ]; then
    readelf -nW "$1" >"$dir/notes" 2>/dev/null
    awk '/^File:/ { if (file && !both) print file; file = $2; both = 0 }
      /x86 feature: IBT, SHSTK/ { both = 1 } END { if (file && !both) print file }' \
      "$dir/notes" >"$dir/without"
    while read -r object; do complain "$object: no control-flow protection (CET)"; done <"$dir/without"
  fi
}

probed=0 checked=0
for file; do
  case $file in
    *.a) archive "$file" ;;
    *)
      linked "$file"
      # A touch of each page of a large frame, and a checked copy, in one of them at least.
      objdump -d "$file" >"$dir/code"
      ! grep -qE "or[ql] +[$]0x0,(0x0)?[(]%[re]sp[)]" "$dir/code" || probed=1
      ! grep -qE '__(mem|str|v?s?n?printf|v?fprintf|read|recv)[a-z]*_chk' "$dir/symbols" || checked=1
      ;;
  esac
done
[ "$(uname -m)" != x86_64 ] || [ "$probed" -eq 1 ] || complain "no program probes its large frames (-fstack-clash-protection)"
[ "$fortified" = no ] || [ "$checked" -eq 1 ] || complain "no program has checked copies (_FORTIFY_SOURCE)"
finish

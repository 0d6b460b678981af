#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# preload_symbols.sh LIBRARY: all names by which the C library offers read(2) and its kin, and those that set a handler
# of a signal, are the preload library's, too, or stand here with the reason why not. So a new name is noticed. It has no names that the C library has not.
# `dodo run --check` knows the same ones.
. "$(dirname "$0")/lib.sh"

need nm cc
library=$1
# "name | why it is left alone"; the name may be a pattern of extended regular expressions.
left_alone='
_IO_.* | stdio: what fileno() and the positions of streams mean stays as it is
(__)?fread(_unlocked)?(_chk)? | stdio
__fread(able|ing) | stdio
aio_read(64)? | the C library has threads for it, which call what is inside it
eventfd_read | no file
(fts|fts64)_read | directories
readdir.* | directories
(__)?readlink(at)?(_chk)? | symbolic links
readahead | a hint, which the kernel gets
process_vm_readv | memory
.*thread.* | threads
gsignal | sends one
(pidfd_send_|cnd_|p|str)signal | sends or names one
sigvec | of old programs alone
'
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# names LIBRARY: of what it exports to all; GLIBC_PRIVATE is for the parts of the C library alone.
names() { nm -D --defined-only --with-symbol-versions "$1" | awk '$NF !~ /GLIBC_PRIVATE/ && $2 != "A" { sub(/@.*/, "", $NF); print $NF }' | sort -u; }

libc=$(realpath "$(cc -print-file-name=libc.so.6)")
names "$libc" >"$dir/libc"
names "$library" >"$dir/ours"
sed -n 's/ | .*//p' <<<"$left_alone" | sed 's/.*/^(&)$/' >"$dir/patterns"
grep -E 'read|sigaction$|signal$|^sig(set|vec)$' "$dir/libc" | grep -vEf "$dir/patterns" >"$dir/reads"
for name in read pread64 preadv2 __read_chk sigaction __sysv_signal sigset; do
  grep -qx "$name" "$dir/reads" || complain "this test does not find $name in $libc"
done
while read -r name; do
  complain "$library does not have $name, which $libc has: export it, or say here why not"
done < <(comm -13 "$dir/ours" "$dir/reads")
while read -r name; do
  complain "$library exports $name, which is no name of $libc: programs may have one"
done < <(comm -23 "$dir/ours" "$dir/libc" | grep -v '^dodo_preload_')
while read -r name; do
  ! grep -qEf "$dir/patterns" <<<"$name" || complain "$library exports $name, which is left alone here"
done <"$dir/ours"
sed -n '/IMPORTS_READ, "/,/}/p' adapters/run/imports.c | grep -o '"[^"]*"' | grep -oE '[a-z0-9_]+' | sort >"$dir/known"
while read -r name; do
  complain "adapters/run/imports.c and $library differ in $name"
done < <(grep read "$dir/ours" | grep -v '^dodo_preload_' | comm -3 - "$dir/known")
finish

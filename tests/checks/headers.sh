#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every header stands alone: the public ones in strict C99 and in C++11, with <sys/mman.h> before,
# after and not at all, and without GLib or libevent; the others in the project's C.
. "$(dirname "$0")/lib.sh"

need gcc
need g++

# try WHAT COMPILER...: the program on standard input compiles without a warning.
try() {
  local what=$1 out
  shift
  out=$("$@" -Wall -Wextra -Werror -Iinclude -fsyntax-only - 2>&1) || complain "$what: $out"
}

mman='#include <sys/mman.h>'
# Both functions of this name, told apart by their arguments.
use='int use(int rd, void *p); int use(int rd, void *p) { return msync(rd) + msync(p, 1, MS_SYNC); }'
for header in include/dodo/*.h; do
  include="#include <${header#include/}>"
  for language in "gcc -x c -std=c99 -pedantic" "gcc -x c -std=c11 -pedantic" \
    "g++ -x c++ -std=c++11 -pedantic" "g++ -x c++ -std=c++17"; do
    read -r -a compiler <<<"$language"
    short=(-Wno-unused-function)
    try "$header, $language" "${compiler[@]}" "${short[@]}" <<<"$include"
    try "$header twice, $language" "${compiler[@]}" "${short[@]}" <<<"$include"$'\n'"$include"
    try "$header, no short names, $language" "${compiler[@]}" -DDODO_NO_SHORT_NAMES <<<"$include"
    for order in "$include"$'\n'"$mman" "$mman"$'\n'"$include"; do
      try "$header with sys/mman.h, $language" "${compiler[@]}" -D_DEFAULT_SOURCE \
        <<<"#include <dodo/dodo.h>"$'\n'"$order"$'\n'"$use"
      try "$header with sys/mman.h, $language" "${compiler[@]}" -D_DEFAULT_SOURCE \
        <<<"$order"$'\n'"#include <dodo/dodo.h>"$'\n'"$use"
    done
    if "${compiler[@]}" -Wall -Werror -D_DEFAULT_SOURCE -Iinclude -fsyntax-only - 2>/dev/null \
      <<<"$mman"$'\n'"#include <dodo/dodo.h>"$'\n''int bad(void *p) { return msync(p, 1); }'; then
      complain "$header, $language: msync with two arguments compiles"
    fi
  done
  # The paper's names are the program's own where it says so.
  try "$header, names of its own" gcc -x c -std=c99 -pedantic -DDODO_NO_SHORT_NAMES \
    <<<"$include"$'\n''struct own { int copen, cread, mopen, mread; }; double copen(char *, struct own);
struct manage_stats { int own; }; struct manage_entry { int own; }; struct manage_policy { int own; };
struct manage_directory { int own; }; double manage_stats(void), manage_entry_unlink(void);
double u_socket, u_send(char *); typedef char macaddr_t; enum manage_option { MANAGE_LRU = 7, MANAGE_CACHE_BYTES, MANAGE_ENTRY_BUSY, MANAGE_WRITE_THROUGH };'
  ! grep -nE '#include *[<"](glib|event|base/|proto/)' "$header" ||
    complain "$header: includes what is not public"
done

read -r -a glib < <(pkg-config --cflags glib-2.0 libevent_core 2>/dev/null || true)
for dir in base conf proto usocket libdodo libmanage imd cmd daemon tools examples bench tests; do
  while read -r header; do
    try "$header" gcc -x c -std=gnu17 -D_GNU_SOURCE -I. "${glib[@]}" -DDODO_VERSION='""' \
      -Wno-unused-function -Wno-missing-field-initializers <<<"#include \"${header#./}\""
  done < <(files '*.h' | grep "^\./$dir/")
done
finish

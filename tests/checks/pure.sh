#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# pure.sh ARCHIVE...: the cores are pure. What they leave undefined is defined by another of these
# archives or is one of the functions below, none of which reads a clock, opens, prints, waits or
# starts anything.
. "$(dirname "$0")/lib.sh"

need nm
allowed='^(mem(cpy|move|set|cmp|chr|rchr|mem|pcpy)|str[a-z]+|__(mem|str)[a-z]+_chk
|malloc|calloc|realloc|reallocarray|free|aligned_alloc|qsort(_r)?|bsearch|exp
|v?snprintf|__v?snprintf_chk|(__isoc[0-9]+_)?strto[a-z]+|inet_(pton|ntop)
|__errno_location|__ctype_[a-z]+_loc|tolower|toupper
|__(popcount|clz|ctz|bswap|u?div|u?mod)[sdt]i[23]|__assert_fail|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_
|__(asan|ubsan|tsan|lsan|sanitizer|sanitize)_.*|__atomic_.*
|(EVP|HMAC|OSSL|OPENSSL|CRYPTO)_[A-Za-z0-9_]+)$'
allowed=${allowed//$'\n'/}

for archive; do # nm's status is the number of files that it could not read
  nm "$archive" >/dev/null 2>&1 || complain "$archive: nm cannot read it; build it first (ninja)"
done
[ "$failures" -eq 0 ] || finish
defined=$(mktemp)
trap 'rm -f "$defined"' EXIT
nm --defined-only "$@" 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u >"$defined"
[ -s "$defined" ] || complain "these archives define nothing: $*"
for archive; do
  while read -r symbol; do
    complain "${archive##*/} calls $symbol"
  done < <(nm -u "$archive" | awk 'NF == 2 { print $2 }' | sort -u | comm -23 - "$defined" |
    grep -vE "$allowed")
done
finish

/* SPDX-License-Identifier: MIT */
/* What people write on command lines and in config files: sizes, times, booleans, key files.
 * One parser for the daemons, the tools and the library, so that one file means one thing to all
 * of them; the library may not drag GLib into a user's program. */
#ifndef DODO_BASE_PARSE_H
#define DODO_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "64M", "1G", "4096", "512K" (powers of 1024; T too; a fraction as "1.5G" is fine).
 * 0, or -EINVAL / -ERANGE with the output untouched. */
int parse_size(const char *text, uint64_t *ret_bytes);
/* "500ms", "30s", "5min", "2us", "1h"; a bare number is seconds. */
int parse_time(const char *text, uint64_t *ret_ns);
int parse_bool(const char *text, bool *ret); /* yes/no, true/false, on/off, 1/0 */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* "1.5 GiB"; @buf of 32 is enough; returns @buf. */
char *format_size(uint64_t bytes, char *buf, size_t cap);
char *format_time(uint64_t ns, char *buf, size_t cap); /* "30s", "500ms", "5min" */

/* A key file: "[group]" lines, "key = value" lines, "#" comments; calls @fn for each key in order.
 * @fn returns 0, or -errno to stop with a message in @error.
 * 0; -errno of open/read; -EINVAL for a syntax error. @error gets "FILE:LINE: what to mend". */
typedef int (*KeyFileFn)(void *ctx, const char *group, const char *key, const char *value,
                         char *error, size_t error_cap);
int key_file_read(const char *path, KeyFileFn fn, void *ctx, char *error, size_t error_cap);

/* A cluster key file: 64 hexadecimal digits a line, one or two lines, "#" comments; readable by
 * owner and perhaps group, never by others (-EACCES). */
enum { KEY_BYTES = 32, KEYS_MAX = 2 };
int cluster_key_read(const char *path, uint8_t ret_keys[KEYS_MAX][KEY_BYTES], unsigned *ret_count,
                     char *error, size_t error_cap);

#endif

/* SPDX-License-Identifier: MIT */
/* What people write on command lines and in config files: sizes, times, booleans, key files.
 * One parser for the daemons, the tools and the library, so that one file means one thing to all
 * of them; the library may not drag GLib into a user's program. */
#ifndef DODO_BASE_PARSE_H
#define DODO_BASE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strict: no spaces, no signs, nothing after what is read. All return 0, or -EINVAL / -ERANGE with
 * the output untouched. Fractions have at most PARSE_FRACTION_DIGITS digits and need a unit that
 * they can be a fraction of; what is below a byte or a nanosecond is cut off. */
enum { PARSE_FRACTION_DIGITS = 6 };
/* "64M", "1G", "4096", "512K" (powers of 1024; T too; k m g t are the same; "1.5G" is fine). */
int parse_size(const char *text, uint64_t *ret_bytes);
/* "500ms", "30s", "5min", "2us", "1h", "0.5s", "10ns"; a bare number is seconds. */
int parse_time(const char *text, uint64_t *ret_ns);
int parse_bool(const char *text, bool *ret); /* yes/no, true/false, on/off, 1/0 */
/* Decimal digits only; -ERANGE outside [min, max]. */
int parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* "2", "0.5": digits, perhaps with a fraction; -ERANGE outside [min, max]. */
int parse_number(const char *text, double min, double max, double *ret);

/* Both always terminate; @buf of 32 is enough; they return @buf. */
/* "512 B", "64 MiB", "1.5 GiB": rounded to a tenth. */
char *format_size(uint64_t bytes, char *buf, size_t cap);
/* "30s", "500ms", "5min", "90s": exact and fit for parse_time() where that takes at most four
 * digits, as what people configure does; else rounded to a thousandth: "12.035ms". TIME_NEVER is
 * "never". */
char *format_time(uint64_t ns, char *buf, size_t cap);

/* A key file: "[group]" lines, "key = value" lines, "#" comment lines; calls @fn for each of the
 * first two in order. Keys stand below a group; a value reaches to the end of its line, spaces
 * around it apart, and may be empty. @fn returns 0, or -errno to stop with what to do in its
 * @error (without file and line; they are put before it). What @fn is given is borrowed until it
 * returns. 0; -errno of open/read or of @fn; -EFBIG; -EINVAL for a syntax error. @error gets
 * "FILE:LINE: what to do". */
enum { KEY_ERROR_MAX = 512 };
typedef struct KeyLine {
    const char *group;
    const char *key, *value; /* NULL: the line of the group itself */
    unsigned number;         /* of the line, from 1 */
} KeyLine;
typedef int (*KeyFileFn)(void *ctx, const KeyLine *line, char *error, size_t error_cap);
int key_file_read(const char *path, KeyFileFn fn, void *ctx, char *error, size_t error_cap);
/* The same for a text in memory that came from @name. Pure. */
int key_text_parse(const char *name, const char *text, size_t len, KeyFileFn fn, void *ctx,
                   char *error, size_t error_cap);

#endif

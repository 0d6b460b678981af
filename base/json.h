/* SPDX-License-Identifier: MIT */
/* JSON into a buffer that is not overrun. The caller sees to commas and braces. Pure. */
#ifndef DODO_BASE_JSON_H
#define DODO_BASE_JSON_H

#include <stddef.h>

/* @at is beyond @cap once something did not fit. */
typedef struct Json {
    char *buf;
    size_t at, cap;
} Json;

/* Punctuation, names and numbers. */
void json_add(Json *j, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A string: in quotes, and nothing in it can end it, or a script that it is in. What is not ASCII
 * is taken for Latin-1, so that any bytes give valid JSON. */
void json_string(Json *j, const char *text);
/* The length of all; 0: there was no room for it. */
size_t json_end(const Json *j);

#endif

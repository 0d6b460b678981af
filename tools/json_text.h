/* SPDX-License-Identifier: MIT */
/* A text as JSON has it. */
#ifndef DODO_TOOLS_JSON_TEXT_H
#define DODO_TOOLS_JSON_TEXT_H

#include <glib.h>

/* Adds a string, in quotes. What is no UTF-8 in @text, such as in the name of a file, becomes
 * U+FFFD. (json_string() is for texts of peers: it takes them for Latin-1.) */
void json_text_add(GString *out, const char *text);

#endif

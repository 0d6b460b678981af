/* SPDX-License-Identifier: MIT */
#include "tools/json_text.h"

void json_text_add(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_string_append_c(out, '"');
    for (const char *c = valid; *c; c++) {
        if (*c == '"' || *c == '\\')
            g_string_append_printf(out, "\\%c", *c);
        else if ((unsigned char)*c < ' ')
            g_string_append_printf(out, "\\u%04x", (unsigned char)*c);
        else
            g_string_append_c(out, *c);
    }
    g_string_append_c(out, '"');
}

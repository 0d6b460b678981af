/* SPDX-License-Identifier: MIT */
#include "tools/json_text.h"

void json_text_add(GString *out, const char *text)
{
    g_autofree char *valid = g_utf8_make_valid(text, -1);
    g_string_append_c(out, '"');
    for (const char *c = valid; *c; c = g_utf8_next_char(c)) {
        const gunichar u = g_utf8_get_char(c);
        if (u == '"' || u == '\\')
            g_string_append_printf(out, "\\%c", *c);
        else if (u < ' ' || (u >= 0x7f && u < 0xa0)) /* they steer a terminal */
            g_string_append_printf(out, "\\u%04x", u);
        else
            g_string_append_unichar(out, u);
    }
    g_string_append_c(out, '"');
}

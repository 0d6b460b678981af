/* SPDX-License-Identifier: MIT */
/* Reads config files from the disk; parse.c knows what is in them. */
#include "base/cleanup.h"
#include "base/parse.h"
#include "base/text_file.h"

int key_file_read(const char *path, KeyFileFn fn, void *ctx, char *error, size_t error_cap)
{
    CLEANUP(text_file_wipe) TextFile text = {0};

    int r = text_file_read(path, NULL, &text, error, error_cap);
    if (r != 0)
        return r;
    return key_text_parse(path, text.bytes, text.len, fn, ctx, error, error_cap);
}

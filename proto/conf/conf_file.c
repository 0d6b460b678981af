/* SPDX-License-Identifier: MIT */
/* The config file on the disk, and the variables that beat it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "proto/conf/conf.h"
#include "proto/conf/defaults.h"

int conf_file_read(const char *path, unsigned reader, ConfFn fn, void *ctx, char *error, size_t cap)
{
    const char *name = path ? path : DEFAULT_CONFIG_PATH;
    ConfReading *r = calloc(1, sizeof *r); /* too much for the stack of a user's thread */
    if (!r) {
        (void)snprintf(error, cap, "%s: no memory", name);
        return -ENOMEM;
    }
    r->reader = reader;
    r->fn = fn;
    r->ctx = ctx;
    int res = key_file_read(name, conf_on_line, r, error, cap);
    if (res == 0)
        res = conf_rules(r, name, error, cap);
    free(r);
    if (res == -ENOENT && !path) { /* the default one need not exist */
        *error = '\0';
        return 0;
    }
    return res;
}

int conf_env_read(unsigned reader, char *(*get)(const char *name), ConfFn fn, void *ctx,
                  char *error, size_t cap)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        char what[256];
        ConfValue v;
        const char *text = k->env && (k->readers & reader) ? get(k->env) : NULL;
        if (!text || !*text)
            continue;
        if (conf_parse(k, text, &v) != 0) {
            (void)snprintf(what, sizeof what, "%s=%s", k->env, text);
            return conf_refuse(k, what, error, cap);
        }
        int res = fn(ctx, k, &v, error, cap);
        if (res != 0)
            return res;
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* Prints proto/conf/conf_keys.c, a key a line, for constants.py: group, key, variable, type,
 * default. */
#include <inttypes.h>
#include <stdio.h>

#include "proto/conf/conf.h"

static const char *const kinds[] = {
    [CONFIG_TEXT] = "text",     [CONFIG_BOOL] = "bool",     [CONFIG_ADDR] = "address",
    [CONFIG_LISTEN] = "listen", [CONFIG_PLACES] = "places", [CONFIG_SIZE] = "size",
    [CONFIG_TIME] = "time",     [CONFIG_COUNT] = "number",  [CONFIG_LEVEL] = "level",
    [CONFIG_NUMBER] = "number", [CONFIG_LIST] = "list",     [CONFIG_CHOICE] = "choice",
    [CONFIG_TYPES] = "types",
};

static void print_default(const ConfKey *k)
{
    if (k->text)
        printf("%s\n", k->text);
    else if (!k->preset)
        printf("-\n");
    else if (k->kind == CONFIG_BOOL)
        printf("%s\n", k->count ? "yes" : "no");
    else if (k->kind == CONFIG_NUMBER)
        printf("%g\n", k->number);
    else
        printf("%" PRIu64 "\n", k->count);
}

int main(void)
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        printf("%s\t%s\t%s\t%s\t", k->group, k->name, k->env ? k->env : "-", kinds[k->kind]);
        print_default(k);
    }
    return 0;
}

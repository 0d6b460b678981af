/* SPDX-License-Identifier: MIT */
#include "daemon/config_changes.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

static bool equal_lists(char *const *a, char *const *b)
{
    if (!a || !b)
        return a == b;
    return g_strv_equal((const gchar *const *)a, (const gchar *const *)b);
}

static bool equal(const ConfigKey *k, const void *a, const void *b)
{
    const void *left = (const char *)a + k->offset, *right = (const char *)b + k->offset;
    switch ((enum ConfigKind)config_key(k).kind) {
    case CONFIG_TEXT:
    case CONFIG_CHOICE:
    case CONFIG_TYPES:
    case CONFIG_PLACES:
        return g_strcmp0(*(char *const *)left, *(char *const *)right) == 0;
    case CONFIG_LIST:
        return equal_lists(*(char **const *)left, *(char **const *)right);
    case CONFIG_BOOL:
        return *(const bool *)left == *(const bool *)right;
    case CONFIG_ADDR:
        return addr_equal(left, right);
    case CONFIG_LISTEN:
        return listen_equal(left, right);
    case CONFIG_LEVEL:
        return *(const enum LogLevel *)left == *(const enum LogLevel *)right;
    case CONFIG_SIZE:
    case CONFIG_TIME:
    case CONFIG_COUNT:
        return *(const uint64_t *)left == *(const uint64_t *)right;
    case CONFIG_NUMBER:
        return memcmp(left, right, sizeof(double)) == 0;
    }
    return true;
}

static void add(char text[CONFIG_CHANGES_MAX], const ConfigKey *k)
{
    char one[128];
    const size_t at = strlen(text);
    const int len = snprintf(one, sizeof one, "%s[%s] %s", at ? ", " : "", k->group, k->name);
    if (at + (size_t)len + sizeof ", ..." <= CONFIG_CHANGES_MAX)
        memcpy(text + at, one, (size_t)len + 1);
    else if (!g_str_has_suffix(text, "..."))
        memcpy(text + at, ", ...", sizeof ", ...");
}

void config_changes(const ConfigProgram *program, const void *before, const void *now,
                    const void *wanted, ConfigChanges *ret)
{
    *ret = (ConfigChanges){.taken = ""};
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && program->tables[t]; t++) {
        const ConfigTable *table = program->tables[t];
        for (size_t i = 0; i < table->count && table != &config_manager_unused; i++) {
            const ConfigKey *k = &table->keys[i];
            if (!k->group)
                continue;
            if (!equal(k, now, wanted))
                add(ret->waiting, k);
            else if (!equal(k, before, wanted))
                add(ret->taken, k);
        }
    }
}

void config_changes_key(ConfigChanges *c)
{
    static const ConfigKey key = {"dodo", "key"};
    if (!strstr(c->taken, "[dodo] key"))
        add(c->taken, &key);
}

/* SPDX-License-Identifier: MIT */
/* Values of keys: what is one, what is said of one that is not; and files of them. */
#include "proto/conf/conf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hidden.h"
#include "base/places.h"
#include "base/printable.h"

/* So much of what was given stands in an error: what to do stands behind it. */
enum { SHOWN_MAX = 100 };

static const char levels[] = "error|warn|info|debug";

const ConfKey *conf_find(const char *group, const char *name)
{
    for (size_t i = 0; i < conf_keys_count; i++)
        if (strcmp(conf_keys[i].group, group) == 0 && strcmp(conf_keys[i].name, name) == 0)
            return &conf_keys[i];
    return NULL;
}

bool conf_group_known(const char *group)
{
    for (size_t i = 0; i < conf_keys_count; i++)
        if (strcmp(conf_keys[i].group, group) == 0)
            return true;
    return false;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Which of @words the text is, or -EINVAL. */
static int word_index(const char *words, const char *text)
{
    const size_t len = strlen(text);
    for (int i = 0;; i++) {
        const size_t n = strcspn(words, "|");
        if (n == len && memcmp(words, text, n) == 0)
            return i;
        if (!words[n])
            return -EINVAL;
        words += n + 1;
    }
}

static int hex_value(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
    return at ? (int)(at - digits) : -EINVAL;
}

int conf_types(const char *text, int64_t ret[CONF_TYPES_MAX])
{
    int count = 0;
    for (const char *at = text; *at;) {
        uint64_t v = 0;
        int digits = 0;
        if (at[0] == '0' && (at[1] == 'x' || at[1] == 'X'))
            at += 2;
        for (; hex_value(*at) >= 0; at++, digits++)
            v = v << 4 | (uint64_t)hex_value(*at);
        if (digits == 0 || digits > 16 || count == CONF_TYPES_MAX)
            return -EINVAL;
        ret[count++] = (int64_t)v;
        at += strspn(at, " \t");
        if (*at == ',')
            at += 1 + strspn(at + 1, " \t");
        else if (*at)
            return -EINVAL;
    }
    return count;
}

static int parse_count(const ConfKey *k, const char *text, uint64_t *ret)
{
    uint64_t v;
    if (k->words && word_index(k->words, text) == 0) {
        *ret = UINT64_MAX;
        return 0;
    }
    int res = k->kind == CONFIG_SIZE   ? parse_size(text, &v)
              : k->kind == CONFIG_TIME ? parse_time(text, &v)
                                       : parse_u64(text, 0, UINT64_MAX, &v);
    if (res != 0 || ((v < k->min || v > k->max) && !(k->zero && v == 0)))
        return -EINVAL;
    *ret = v;
    return 0;
}

static int parse_choice(const char *words, const char *text, unsigned *ret)
{
    const int i = word_index(words, text);
    if (i >= 0)
        *ret = (unsigned)i;
    return i < 0 ? i : 0;
}

static int parse_places(const ConfKey *k, ConfValue *v)
{
    Places places;
    Addr addresses[PLACES_MAX];
    if (strlen(v->text) >= PLACES_TEXT_MAX || places_parse(v->text, (uint16_t)k->min, &places) != 0)
        return -EINVAL;
    if (places_addresses(&places, addresses) > 0)
        v->addr = addresses[0];
    return 0;
}

static int parse_value(const ConfKey *k, ConfValue *v)
{
    int64_t types[CONF_TYPES_MAX];
    switch ((enum ConfigKind)k->kind) {
    case CONFIG_TEXT:
        if (k->file && hidden_is(v->text))
            return -EINVAL;
        return *v->text && (k->max == 0 || strlen(v->text) <= k->max) ? 0 : -EINVAL;
    case CONFIG_LIST:
        return v->text[strspn(v->text, " \t\n")] ? 0 : -EINVAL;
    case CONFIG_BOOL:
        return parse_bool(v->text, &v->flag);
    case CONFIG_ADDR:
        return addr_parse(v->text, (uint16_t)k->min, &v->addr);
    case CONFIG_LISTEN:
        return listen_parse(v->text, (uint16_t)k->min, &v->listen);
    case CONFIG_PLACES:
        return parse_places(k, v);
    case CONFIG_LEVEL:
        return parse_choice(levels, v->text, &v->choice);
    case CONFIG_CHOICE:
        return parse_choice(k->words, v->text, &v->choice);
    case CONFIG_SIZE:
    case CONFIG_TIME:
    case CONFIG_COUNT:
        return parse_count(k, v->text, &v->count);
    case CONFIG_NUMBER:
        return parse_number(v->text, (double)k->min, (double)k->max, &v->number);
    case CONFIG_TYPES:
        return conf_types(v->text, types) < 0 ? -EINVAL : 0;
    }
    return -EINVAL;
}

int conf_parse(const ConfKey *k, const char *text, ConfValue *ret)
{
    ConfValue v = {.text = text};
    if (parse_value(k, &v) != 0)
        return -EINVAL;
    *ret = v;
    return 0;
}

int conf_default(const ConfKey *k, ConfValue *ret)
{
    if (!k->preset)
        return -ENOENT;
    if (k->text)
        return conf_parse(k, k->text, ret);
    *ret = (ConfValue){.count = k->count, .number = k->number, .flag = k->count != 0};
    return 0;
}

/* ---- what is said of what is none ------------------------------------------------------------ */

/* "coarse, full or off". */
static void list_words(const char *words, char *buf, size_t cap)
{
    size_t at = 0;
    *buf = '\0';
    for (;;) {
        const size_t n = strcspn(words, "|");
        const char *after = words + n;
        const char *separator = !*after ? "" : strchr(after + 1, '|') ? ", " : " or ";
        if (at < cap)
            at += (size_t)snprintf(buf + at, cap - at, "%.*s%s", (int)n, words, separator);
        if (!*after)
            return;
        words = after + 1;
    }
}

static void describe_size(const ConfKey *k, char *buf, size_t cap)
{
    char low[32], high[32];
    (void)snprintf(buf, cap, "a size such as 64M or 1.5G, %s to %s",
                   format_size(k->min, low, sizeof low), format_size(k->max, high, sizeof high));
}

static void describe_time(const ConfKey *k, char *buf, size_t cap)
{
    char low[32], high[32];
    (void)snprintf(buf, cap, "a time such as 500ms, 30s or 5min, %s to %s",
                   format_time(k->min, low, sizeof low), format_time(k->max, high, sizeof high));
}

/* @min is the default port. */
static void describe_address(const ConfKey *k, char *buf, size_t cap)
{
    const unsigned port = (unsigned)k->min;
    if (k->kind == CONFIG_ADDR)
        (void)snprintf(buf, cap, "a numeric address such as 10.0.0.1:%u or [fd00::1]:%u", port,
                       port);
    else if (k->kind == CONFIG_LISTEN)
        (void)snprintf(buf, cap,
                       "an address such as 10.0.0.1:%u or [fd00::1]:%u, or an interface such as "
                       "eth0",
                       port, port);
    else
        (void)snprintf(buf, cap,
                       "a name or an address such as manager.example:%u, 10.0.0.1:%u or "
                       "[fd00::1]:%u, or up to %d with commas between them",
                       port, port, port, PLACES_MAX);
}

/* What a value of the key looks like. */
static void describe(const ConfKey *k, char *buf, size_t cap)
{
    switch ((enum ConfigKind)k->kind) {
    case CONFIG_TEXT:
        if (k->file)
            (void)snprintf(buf, cap,
                           "the name of a file, of at most %" PRIu64
                           " characters, and not what is in the file",
                           k->max);
        else if (k->max)
            (void)snprintf(buf, cap, "a text of at most %" PRIu64 " characters", k->max);
        else
            (void)snprintf(buf, cap, "a text");
        return;
    case CONFIG_LIST:
        (void)snprintf(buf, cap, "texts, with blanks between them");
        return;
    case CONFIG_BOOL:
        (void)snprintf(buf, cap, "yes or no");
        return;
    case CONFIG_ADDR:
    case CONFIG_LISTEN:
    case CONFIG_PLACES:
        describe_address(k, buf, cap);
        return;
    case CONFIG_LEVEL:
    case CONFIG_CHOICE:
        list_words(k->kind == CONFIG_LEVEL ? levels : k->words, buf, cap);
        return;
    case CONFIG_SIZE:
        describe_size(k, buf, cap);
        return;
    case CONFIG_TIME:
        describe_time(k, buf, cap);
        return;
    case CONFIG_COUNT:
        (void)snprintf(buf, cap, "a number, %" PRIu64 " to %" PRIu64, k->min, k->max);
        return;
    case CONFIG_NUMBER:
        (void)snprintf(buf, cap, "a number such as 0.5, %" PRIu64 " to %" PRIu64, k->min, k->max);
        return;
    case CONFIG_TYPES:
        (void)snprintf(buf, cap,
                       "numbers of file systems in hexadecimal, as stat -f -c %%t prints them, "
                       "with commas between them, at most %d",
                       CONF_TYPES_MAX);
        return;
    }
}

int conf_refuse(const ConfKey *k, const char *what, char *error, size_t cap)
{
    char wanted[160], given[SHOWN_MAX], copy[2 * SHOWN_MAX];
    describe(k, wanted, sizeof wanted);
    const bool or_word = (k->kind == CONFIG_SIZE || k->kind == CONFIG_TIME) && k->words;
    (void)snprintf(error, cap, "%s: expected %s%s%s",
                   printable_short(hidden_copy(what, copy, sizeof copy), given, sizeof given),
                   or_word   ? k->words
                   : k->zero ? "0"
                             : "",
                   or_word || k->zero ? ", or " : "", wanted);
    return -EINVAL;
}

/* ---- files ----------------------------------------------------------------------------------- */

enum { GROUPS_TEXT_MAX = 128 };

/* "[dodo], [daemon] or [cmd]": the groups of the table, which stand together there. */
static void list_groups(char *buf, size_t cap)
{
    char words[GROUPS_TEXT_MAX] = "";
    size_t at = 0;
    for (size_t i = 0; i < conf_keys_count && at < sizeof words; i++)
        if (i == 0 || strcmp(conf_keys[i].group, conf_keys[i - 1].group) != 0)
            at += (size_t)snprintf(words + at, sizeof words - at, "%s[%s]", at ? "|" : "",
                                   conf_keys[i].group);
    list_words(words, buf, cap);
}

static int check_group(const char *group, char *error, size_t cap)
{
    char expected[GROUPS_TEXT_MAX];
    if (conf_group_known(group))
        return 0;
    list_groups(expected, sizeof expected);
    (void)snprintf(error, cap, "unknown group [%s]: expected %s; see dodo.conf(5)", group,
                   expected);
    return -EINVAL;
}

int conf_on_line(void *ctx, const KeyLine *l, char *error, size_t cap)
{
    ConfReading *r = ctx;
    ConfValue v;
    if (!l->key)
        return check_group(l->group, error, cap);
    const ConfKey *k = conf_find(l->group, l->key);
    if (!k) {
        char key[SHOWN_MAX];
        (void)snprintf(error, cap, "unknown key \"%s\" in [%s]; see dodo.conf(5)",
                       printable_short(l->key, key, sizeof key), l->group);
        return -EINVAL;
    }
    if (conf_parse(k, l->value, &v) != 0)
        return conf_refuse(k, l->key, error, cap);
    ConfSeen *seen = &r->seen[k - conf_keys];
    if (seen->line && seen->file == r->file) {
        (void)snprintf(error, cap, "[%s] %s is given twice, first at line %u: remove one of them",
                       k->group, k->name, seen->line);
        return -EINVAL;
    }
    *seen = (ConfSeen){.file = r->file, .line = l->number, .value = v};
    seen->value.text = NULL; /* it is valid during this call only */
    return (k->readers & r->reader) && r->fn ? r->fn(r->ctx, k, &v, error, cap) : 0;
}

void conf_on_variable(ConfReading *r, const ConfKey *k, const ConfValue *v)
{
    ConfSeen *seen = &r->seen[k - conf_keys];
    *seen = (ConfSeen){.variable = k->env, .value = *v};
    seen->value.text = NULL;
}

int conf_text_read(const char *name, const char *text, size_t len, unsigned reader, ConfFn fn,
                   void *ctx, char *error, size_t cap)
{
    ConfReading r = {.names = &name, .reader = reader, .fn = fn, .ctx = ctx};
    int res = key_text_parse(name, text, len, conf_on_line, &r, error, cap);
    return res != 0 ? res : conf_rules(&r, error, cap);
}

/* SPDX-License-Identifier: MIT */
#include "tools/settings_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/lines.h"
#include "base/printable.h"
#include "base/time.h"
#include "tools/json_text.h"

enum { VALUE_MAX = 6144, PLACE_MAX = 4608 };

void settings_list_init(SettingsList *l, const char *const *files)
{
    *l = (SettingsList){.reading.names = files, .faults = g_ptr_array_new_with_free_func(g_free)};
    for (size_t i = 0; i < conf_keys_count; i++)
        if (conf_keys[i].preset || conf_keys[i].text)
            l->settings[i].source = SETTING_DEFAULT;
}

void settings_list_deinit(SettingsList *l)
{
    for (size_t i = 0; i < conf_keys_count; i++)
        g_free(l->settings[i].text);
    g_ptr_array_unref(l->faults);
}

void settings_list_fault(SettingsList *l, const char *text)
{
    if (*text)
        g_ptr_array_add(l->faults, g_strdup(text));
}

/* ---- what comes in --------------------------------------------------------------------------- */

static void set(SettingsList *l, const ConfKey *k, enum SettingSource source, const char *text,
                unsigned line)
{
    Setting *s = &l->settings[k - conf_keys];
    g_free(s->text);
    *s = (Setting){.source = source, .text = g_strdup(text), .file = l->reading.file, .line = line};
}

static const char *file_name(const SettingsList *l, unsigned file)
{
    return l->reading.names[file];
}

void settings_list_next(SettingsList *l)
{
    l->reading.file++;
}

int settings_list_line(void *list, const KeyLine *line, char *error, size_t cap)
{
    SettingsList *l = list;
    if (conf_on_line(&l->reading, line, error, cap) != 0) {
        char name[LINES_NAME_MAX];
        g_ptr_array_add(l->faults, g_strdup_printf("%s:%u: %s",
                                                   printable_path(file_name(l, l->reading.file),
                                                                  name, sizeof name),
                                                   line->number, error));
        *error = '\0';
    } else if (line->key) {
        set(l, conf_find(line->group, line->key), SETTING_FILE, line->value, line->number);
    }
    return 0; /* the next lines may have faults of their own */
}

/* The rules of all, and those of rmd where it is set up. */
void settings_list_rules(SettingsList *l)
{
    char error[KEY_ERROR_MAX] = "";
    for (size_t i = 0; i < conf_keys_count; i++)
        if (l->reading.seen[i].line && strcmp(conf_keys[i].group, "rmd") == 0)
            l->reading.reader = CONF_RMD;
    (void)conf_rules(&l->reading, error, sizeof error);
    settings_list_fault(l, error);
}

void settings_list_environment(SettingsList *l, char *(*get)(const char *name))
{
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        const char *text = k->env ? get(k->env) : NULL;
        char error[KEY_ERROR_MAX];
        ConfValue v;
        if (!text || !*text)
            continue;
        if (conf_parse(k, text, &v) == 0) {
            set(l, k, SETTING_ENVIRONMENT, text, 0);
            conf_on_variable(&l->reading, k, &v);
            continue;
        }
        g_autofree char *what = g_strdup_printf("%s=%s", k->env, text);
        (void)conf_refuse(k, what, error, sizeof error);
        settings_list_fault(l, error);
    }
}

void settings_list_variable_rules(SettingsList *l)
{
    char error[KEY_ERROR_MAX] = "";
    (void)conf_variable_rules(&l->reading, error, sizeof error);
    settings_list_fault(l, error);
}

void settings_list_option(SettingsList *l, const char *group, const char *name, const char *text)
{
    const ConfKey *k = conf_find(group, name);
    if (k)
        set(l, k, SETTING_OPTION, text, 0);
}

/* ---- what goes out --------------------------------------------------------------------------- */

static void format_default(const ConfKey *k, char *buf, size_t cap)
{
    if (k->text)
        (void)snprintf(buf, cap, "%s", k->text);
    else if (k->kind == CONFIG_BOOL)
        (void)snprintf(buf, cap, "%s", k->count ? "yes" : "no");
    else if (k->kind == CONFIG_NUMBER)
        (void)snprintf(buf, cap, "%g", k->number);
    else if (k->kind == CONFIG_TIME && k->count % NS_PER_US == 0)
        (void)format_time(k->count, buf, cap);
    else
        (void)snprintf(buf, cap, "%" PRIu64, k->count);
}

/* Sizes of whole units are printed with them, as a file has them. */
static void format_size_default(const ConfKey *k, char *buf, size_t cap)
{
    static const char units[] = " KMGT";
    uint64_t bytes = k->count;
    unsigned i = 0;
    for (; bytes && bytes % 1024 == 0 && units[i + 1]; i++)
        bytes /= 1024;
    (void)snprintf(buf, cap, "%" PRIu64 "%.*s", bytes, i > 0, &units[i]);
}

/* NULL: it has none. */
static const char *value(const SettingsList *l, size_t i, char buf[VALUE_MAX])
{
    const ConfKey *k = &conf_keys[i];
    const Setting *s = &l->settings[i];
    if (s->source == SETTING_UNSET)
        return NULL;
    if (s->text)
        return s->text;
    if (k->kind == CONFIG_SIZE && !k->text)
        format_size_default(k, buf, VALUE_MAX);
    else
        format_default(k, buf, VALUE_MAX);
    return buf;
}

static const char *place(const SettingsList *l, size_t i, char buf[PLACE_MAX])
{
    const ConfKey *k = &conf_keys[i];
    const Setting *s = &l->settings[i];
    switch (s->source) {
    case SETTING_FILE:
        (void)snprintf(buf, PLACE_MAX, "%s:%u", file_name(l, s->file), s->line);
        return buf;
    case SETTING_ENVIRONMENT:
        return k->env;
    case SETTING_OPTION:
        return "command line";
    case SETTING_DEFAULT:
        return "default";
    case SETTING_UNSET:
    case SETTING_SOURCE_MAX:
        break;
    }
    return "not set";
}

void settings_list_print(const SettingsList *l, GString *out)
{
    char text[VALUE_MAX], where[PLACE_MAX];
    for (size_t i = 0; i < conf_keys_count; i++) {
        const ConfKey *k = &conf_keys[i];
        const char *v = value(l, i, text);
        g_autofree char *name = g_strdup_printf("[%s] %s", k->group, k->name);
        g_autofree char *shown = printable(g_strdup(v ? v : "-"));
        g_autofree char *from = printable(g_strdup(place(l, i, where)));
        g_string_append_printf(out, "%-28s %-24s %s\n", name, shown, from);
    }
}

static void add_setting(const SettingsList *l, size_t i, GString *out)
{
    static const char *const sources[SETTING_SOURCE_MAX] = {"unset", "default", "file",
                                                            "environment", "option"};
    char text[VALUE_MAX], where[PLACE_MAX];
    const char *v = value(l, i, text);
    g_string_append_printf(out, "%s{\"group\":\"%s\",\"key\":\"%s\",\"value\":", i ? "," : "",
                           conf_keys[i].group, conf_keys[i].name);
    if (v)
        json_text_add(out, v);
    else
        g_string_append(out, "null");
    g_string_append_printf(out, ",\"source\":\"%s\",\"where\":", sources[l->settings[i].source]);
    json_text_add(out, place(l, i, where));
    g_string_append_c(out, '}');
}

void settings_list_json(const SettingsList *l, GString *out)
{
    g_string_append(out, "{\"settings\":[");
    for (size_t i = 0; i < conf_keys_count; i++)
        add_setting(l, i, out);
    g_string_append(out, "],\"faults\":[");
    for (guint i = 0; i < l->faults->len; i++) {
        if (i)
            g_string_append_c(out, ',');
        json_text_add(out, g_ptr_array_index(l->faults, i));
    }
    g_string_append(out, "]}\n");
}

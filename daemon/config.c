/* SPDX-License-Identifier: MIT */
#include "daemon/config.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defaults.h"
#include "base/parse.h"

/* Groups of the one config file; each program checks its own and [dodo], and leaves the others to
 * those they are for. */
static const char *const groups[] = {"dodo", "daemon", "client", "cmd", "imd", "rmd", "manage"};

static const ConfigKey common_keys[] = {
    {"dodo", "key", "DODO_KEY", "Cluster key file (made by dodo keygen)", "FILE", CONFIG_TEXT,
     offsetof(CommonOptions, key), 0, 0},
    {"dodo", "cluster", "DODO_CLUSTER", NULL, NULL, CONFIG_TEXT, offsetof(CommonOptions, cluster),
     0, 0},
    {"dodo", "insecure", "DODO_INSECURE", "Do without a key on addresses other than loopback", NULL,
     CONFIG_BOOL, offsetof(CommonOptions, insecure), 0, 0},
    {"dodo", "log_level", "DODO_LOG", "error, warn, info or debug", "LEVEL", CONFIG_LEVEL,
     offsetof(CommonOptions, log_level), 0, 0},
    {"dodo", "hello_retry", NULL, NULL, NULL, CONFIG_TIME, offsetof(CommonOptions, hello_retry_ns),
     NS_PER_MS, 3600 * NS_PER_S},
};
static const ConfigKey manager_keys[] = {
    {"dodo", "manager", "DODO_MANAGER", "Address of the central manager (cmd)", "ADDR:PORT",
     CONFIG_ADDR, offsetof(CommonOptions, manager), DEFAULT_CMD_PORT, 0},
};
static const ConfigKey manager_unused_keys[] = {
    {"dodo", "manager", NULL, NULL, NULL, CONFIG_ADDR, offsetof(CommonOptions, manager),
     DEFAULT_CMD_PORT, 0},
};
static const ConfigKey daemon_keys[] = {
    {"daemon", "user", NULL, "Started as root: become this user", "NAME", CONFIG_TEXT,
     offsetof(CommonOptions, user), 0, 0},
};
const ConfigTable config_common = CONFIG_TABLE(common_keys);
const ConfigTable config_daemon = CONFIG_TABLE(daemon_keys);
const ConfigTable config_manager = CONFIG_TABLE(manager_keys);
const ConfigTable config_manager_unused = CONFIG_TABLE(manager_unused_keys);

void config_common_init(CommonOptions *o)
{
    *o = (CommonOptions){.cluster = g_strdup(DEFAULT_CLUSTER),
                         .log_level = LOG_LEVEL_INFO,
                         .hello_retry_ns = DEFAULT_HELLO_RETRY_NS};
}

/* ---- setting a field ------------------------------------------------------------------------- */

/* What the value of a kind looks like, for messages. */
static void describe(const ConfigKey *k, char *buf, size_t cap)
{
    char low[32], high[32];
    switch ((enum ConfigKind)k->kind) {
    case CONFIG_TEXT:
        (void)snprintf(buf, cap, "a text");
        break;
    case CONFIG_BOOL:
        (void)snprintf(buf, cap, "yes or no");
        break;
    case CONFIG_ADDR:
        (void)snprintf(buf, cap, "a numeric address such as 10.0.0.1:%u or [fd00::1]:%u",
                       (unsigned)k->min, (unsigned)k->min);
        break;
    case CONFIG_LEVEL:
        (void)snprintf(buf, cap, "error, warn, info or debug");
        break;
    case CONFIG_SIZE:
        (void)snprintf(buf, cap, "a size such as 64M or 1.5G, %s to %s",
                       format_size(k->min, low, sizeof low),
                       format_size(k->max, high, sizeof high));
        break;
    case CONFIG_TIME:
        (void)snprintf(buf, cap, "a time such as 500ms, 30s or 5min, %s to %s",
                       format_time(k->min, low, sizeof low),
                       format_time(k->max, high, sizeof high));
        break;
    case CONFIG_COUNT:
        (void)snprintf(buf, cap, "a number, %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                       (guint64)k->min, (guint64)k->max);
        break;
    case CONFIG_NUMBER:
        (void)snprintf(buf, cap,
                       "a number such as 0.5, %" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                       (guint64)k->min, (guint64)k->max);
        break;
    case CONFIG_LIST:
        (void)snprintf(buf, cap, "texts, with blanks between them");
        break;
    }
}

static int set_quantity(const ConfigKey *k, uint64_t *field, const char *text)
{
    uint64_t v;
    int res = k->kind == CONFIG_SIZE   ? parse_size(text, &v)
              : k->kind == CONFIG_TIME ? parse_time(text, &v)
                                       : parse_u64(text, k->min, k->max, &v);
    if (res != 0 || v < k->min || v > k->max)
        return -EINVAL;
    *field = v;
    return 0;
}

static int set_number(const ConfigKey *k, double *field, const char *text)
{
    char *end;
    double v = g_ascii_strtod(text, &end);
    if (!g_ascii_isdigit(text[0]) || *end || !(v >= (double)k->min && v <= (double)k->max))
        return -EINVAL;
    *field = v;
    return 0;
}

static int set_list(char ***field, const char *text)
{
    g_auto(GStrv) words = g_strsplit_set(text, " \t\n", -1);
    guint count = 0;
    for (guint i = 0; words[i]; i++) { /* without those between two blanks */
        if (*words[i])
            words[count++] = words[i];
        else
            g_free(words[i]);
    }
    words[count] = NULL;
    if (count == 0)
        return -EINVAL;
    g_strfreev(*field);
    *field = g_steal_pointer(&words);
    return 0;
}

/* 0, or -EINVAL: the text is no such value, the field is as it was. */
static int set_field(const ConfigKey *k, void *options, const char *text)
{
    void *field = (char *)options + k->offset;
    switch ((enum ConfigKind)k->kind) {
    case CONFIG_TEXT:
        if (!*text)
            return -EINVAL;
        g_free(*(char **)field);
        *(char **)field = g_strdup(text);
        return 0;
    case CONFIG_BOOL:
        return parse_bool(text, field);
    case CONFIG_ADDR:
        return addr_parse(text, (uint16_t)k->min, field);
    case CONFIG_LEVEL:
        return log_level_parse(text, field);
    case CONFIG_SIZE:
    case CONFIG_TIME:
    case CONFIG_COUNT:
        return set_quantity(k, field, text);
    case CONFIG_NUMBER:
        return set_number(k, field, text);
    case CONFIG_LIST:
        return set_list(field, text);
    }
    return -EINVAL;
}

/* "WHAT: expected ...". */
static int refuse(const ConfigKey *k, const char *what, char *error, size_t cap)
{
    char wanted[160];
    describe(k, wanted, sizeof wanted);
    (void)snprintf(error, cap, "%s: expected %s", what, wanted);
    return -EINVAL;
}

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct FileContext {
    const ConfigProgram *program;
    void *options;
} FileContext;

static bool known_group(const char *group)
{
    for (size_t i = 0; i < G_N_ELEMENTS(groups); i++)
        if (strcmp(groups[i], group) == 0)
            return true;
    return false;
}

/* @ret_ours: the program has keys of this group, so it knows them all. */
static const ConfigKey *find_key(const ConfigProgram *p, const char *group, const char *name,
                                 bool *ret_ours)
{
    *ret_ours = false;
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && p->tables[t]; t++) {
        for (size_t i = 0; i < p->tables[t]->count; i++) {
            const ConfigKey *k = &p->tables[t]->keys[i];
            if (!k->group || strcmp(k->group, group) != 0)
                continue;
            *ret_ours = true;
            if (strcmp(k->name, name) == 0)
                return k;
        }
    }
    return NULL;
}

static int on_file_key(void *ctx, const char *group, const char *key, const char *value,
                       char *error, size_t cap)
{
    const FileContext *f = ctx;
    bool ours;
    const ConfigKey *k = find_key(f->program, group, key, &ours);
    if (!k && !known_group(group))
        (void)snprintf(error, cap, "unknown group [%s]", group);
    else if (!k && ours)
        (void)snprintf(error, cap, "unknown key \"%s\" in [%s]; see dodo.conf(5)", key, group);
    else if (k && set_field(k, f->options, value) != 0)
        return refuse(k, key, error, cap);
    else
        return 0;
    return -EINVAL;
}

static int load_file(const ConfigProgram *p, const char *option, void *options, char *error)
{
    const char *path = option ? option : g_getenv("DODO_CONFIG");
    bool asked = path && *path;
    FileContext f = {p, options};
    int res =
        key_file_read(asked ? path : DEFAULT_CONFIG_PATH, on_file_key, &f, error, CONFIG_ERROR_MAX);
    if (res != -ENOENT || asked)
        return res;
    *error = '\0'; /* nobody need have the default one */
    return 0;
}

/* ---- the environment and the command line ---------------------------------------------------- */

static int load_env(const ConfigProgram *p, void *options, char *error)
{
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && p->tables[t]; t++) {
        for (size_t i = 0; i < p->tables[t]->count; i++) {
            const ConfigKey *k = &p->tables[t]->keys[i];
            const char *text = k->env ? g_getenv(k->env) : NULL;
            if (!text || !*text || set_field(k, options, text) == 0)
                continue;
            g_autofree char *what = g_strdup_printf("%s=%s", k->env, text);
            return refuse(k, what, error, CONFIG_ERROR_MAX);
        }
    }
    return 0;
}

/* One option as GLib reads it: its text is kept until file and environment have been read. */
typedef struct Option {
    const ConfigKey *key;
    char *name;
    char *text;
    GStrv texts;    /* CONFIG_LIST */
    gboolean given; /* CONFIG_BOOL */
} Option;

static void option_clear(gpointer p)
{
    Option *o = p;
    g_free(o->name);
    g_free(o->text);
    g_strfreev(o->texts);
}

/* All options of the tables. The array must not grow afterwards: GLib writes into it. */
static GArray *options_collect(const ConfigProgram *p)
{
    GArray *a = g_array_new(FALSE, TRUE, sizeof(Option));
    g_array_set_clear_func(a, option_clear);
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && p->tables[t]; t++) {
        for (size_t i = 0; i < p->tables[t]->count; i++) {
            Option o = {.key = &p->tables[t]->keys[i]};
            if (!o.key->help)
                continue;
            o.name = g_strdelimit(g_strdup(o.key->name), "_", '-');
            g_array_append_val(a, o);
        }
    }
    return a;
}

static GArray *entries_make(const ConfigProgram *p, GArray *options, char **ret_config,
                            gboolean *ret_version)
{
    GArray *entries = g_array_new(TRUE, TRUE, sizeof(GOptionEntry));
    for (guint i = 0; i < options->len; i++) {
        Option *o = &g_array_index(options, Option, i);
        bool flag = o->key->kind == CONFIG_BOOL, list = o->key->kind == CONFIG_LIST;
        GOptionEntry e = {.long_name = o->name,
                          .arg = flag   ? G_OPTION_ARG_NONE
                                 : list ? G_OPTION_ARG_STRING_ARRAY
                                        : G_OPTION_ARG_STRING,
                          .arg_data = flag   ? (gpointer)&o->given
                                      : list ? (gpointer)&o->texts
                                             : (gpointer)&o->text,
                          .description = o->key->help,
                          .arg_description = o->key->value};
        g_array_append_val(entries, e);
    }
    GOptionEntry config = {.long_name = "config",
                           .arg = G_OPTION_ARG_FILENAME,
                           .arg_data = ret_config,
                           .description = "Config file, " DEFAULT_CONFIG_PATH " if not given",
                           .arg_description = "FILE"};
    GOptionEntry version = {.long_name = "version",
                            .arg = G_OPTION_ARG_NONE,
                            .arg_data = ret_version,
                            .description = "Print the version and exit"};
    if (p->tables[0])
        g_array_append_val(entries, config);
    g_array_append_val(entries, version);
    return entries;
}

/* Reads the command line; --help is printed here. */
static enum ConfigOutcome parse_options(const ConfigProgram *p, GArray *options, int *argc,
                                        char ***argv, char **ret_config, char *error)
{
    gboolean version = FALSE, help = FALSE;
    g_autoptr(GError) failure = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new(p->arguments);
    g_autoptr(GArray) entries = entries_make(p, options, ret_config, &version);
    GOptionEntry help_entry = {.long_name = "help",
                               .short_name = 'h',
                               .arg = G_OPTION_ARG_NONE,
                               .arg_data = &help,
                               .description = "Print this and exit"};
    g_array_append_val(entries, help_entry);
    g_option_context_set_help_enabled(context, FALSE); /* GLib's would exit from in here */
    g_option_context_set_summary(context, p->summary);
    g_option_context_add_main_entries(context, (GOptionEntry *)(void *)entries->data, NULL);
    if (!g_option_context_parse(context, argc, argv, &failure)) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s (see %s --help)", failure->message, p->name);
        return CONFIG_USAGE;
    }
    if (help) {
        g_set_prgname(p->name);
        g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
        (void)fputs(text, stdout);
        return CONFIG_DONE;
    }
    if (version) {
        printf("%s %s\n", p->name, DODO_VERSION);
        return CONFIG_DONE;
    }
    if (!p->arguments && *argc > 1) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "unexpected argument \"%s\" (see %s --help)",
                       (*argv)[1], p->name);
        return CONFIG_USAGE;
    }
    return CONFIG_OK;
}

/* All that were given, instead of what the field held; a text may have blanks in it here. */
static void apply_list(const Option *o, void *into)
{
    char ***field = (char ***)(void *)((char *)into + o->key->offset);
    g_strfreev(*field);
    *field = g_strdupv(o->texts);
}

static int apply_options(GArray *options, void *into, char *error)
{
    for (guint i = 0; i < options->len; i++) {
        Option *o = &g_array_index(options, Option, i);
        if (o->texts)
            apply_list(o, into);
        const char *text = o->given ? "yes" : o->text;
        if (!text || set_field(o->key, into, text) == 0)
            continue;
        g_autofree char *what = g_strdup_printf("--%s %s", o->name, text);
        return refuse(o->key, what, error, CONFIG_ERROR_MAX);
    }
    return 0;
}

static char **command_line; /* of the last load, which takes its options out of argv */

enum ConfigOutcome config_reload(const ConfigProgram *program, void *options,
                                 char error[CONFIG_ERROR_MAX])
{
    g_auto(GStrv) kept = g_strdupv(command_line);
    g_autofree char **argv = g_memdup2(kept, (g_strv_length(kept) + 1) * sizeof *kept);
    int argc = (int)g_strv_length(kept);
    char **rest = argv;
    return config_load(program, &argc, &rest, options, error);
}

static void keep_command_line(int argc, char **argv)
{
    char **kept = g_new0(char *, (gsize)argc + 1);
    for (int i = 0; i < argc; i++)
        kept[i] = g_strdup(argv[i]);
    g_strfreev(command_line);
    command_line = kept;
}

enum ConfigOutcome config_load(const ConfigProgram *program, int *argc, char ***argv, void *options,
                               char error[CONFIG_ERROR_MAX])
{
    keep_command_line(*argc, *argv);
    g_autofree char *config = NULL;
    g_autoptr(GArray) given = options_collect(program);
    enum ConfigOutcome res = parse_options(program, given, argc, argv, &config, error);
    if (res != CONFIG_OK || !program->tables[0])
        return res;
    g_free(((CommonOptions *)options)->config); /* of an earlier load */
    ((CommonOptions *)options)->config = g_strdup(config);
    /* The command line is judged first: its errors should not hide behind the file's. */
    if (apply_options(given, options, error) != 0)
        return CONFIG_USAGE;
    if (load_file(program, config, options, error) != 0 || load_env(program, options, error) != 0)
        return CONFIG_BAD;
    return apply_options(given, options, error) == 0 ? CONFIG_OK : CONFIG_USAGE;
}

void config_clear(const ConfigProgram *program, void *options)
{
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && program->tables[t]; t++) {
        for (size_t i = 0; i < program->tables[t]->count; i++) {
            const ConfigKey *k = &program->tables[t]->keys[i];
            void *field = (char *)options + k->offset;
            if (k->kind == CONFIG_TEXT)
                g_clear_pointer((char **)field, g_free);
            else if (k->kind == CONFIG_LIST)
                g_clear_pointer((char ***)field, g_strfreev);
        }
    }
    if (program->tables[0])
        g_clear_pointer(&((CommonOptions *)options)->config, g_free);
}

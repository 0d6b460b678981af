/* SPDX-License-Identifier: MIT */
#include "daemon/config.h"

#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "proto/conf/defaults.h"

/* So much of the command line stands in an error: what to do stands behind it. */
enum { SHOWN_MAX = 200 };

#define FIELD(name) offsetof(CommonOptions, name)

static const ConfigKey common_keys[] = {
    {"dodo", "key", "Cluster key file (made by dodo keygen)", "FILE", FIELD(key)},
    {"dodo", "cluster", NULL, NULL, FIELD(cluster)},
    {"dodo", "insecure", "Do without a key on addresses other than loopback", NULL,
     FIELD(insecure)},
    {"dodo", "log_level", "error, warn, info or debug", "LEVEL", FIELD(log_level)},
    {"dodo", "hello_retry", NULL, NULL, FIELD(hello_retry_ns)},
};
static const ConfigKey manager_keys[] = {
    {"dodo", "manager", "Where the central manager (cmd) is: names or addresses", "HOST:PORT[,...]",
     FIELD(manager)},
};
static const ConfigKey manager_unused_keys[] = {
    {"dodo", "manager", NULL, NULL, FIELD(manager)},
};
static const ConfigKey daemon_keys[] = {
    {"daemon", "user", "Started as root: become this user", "NAME", FIELD(user)},
};
const ConfigTable config_common = CONFIG_TABLE(common_keys);
const ConfigTable config_daemon = CONFIG_TABLE(daemon_keys);
const ConfigTable config_manager = CONFIG_TABLE(manager_keys);
const ConfigTable config_manager_unused = CONFIG_TABLE(manager_unused_keys);

ConfKey config_key(const ConfigKey *k)
{
    const ConfKey *known = k->group ? conf_find(k->group, k->name) : NULL;
    if (known)
        return *known;
    return (ConfKey){.name = k->name, .kind = k->kind, .min = k->min, .max = k->max};
}

/* ---- setting a field ------------------------------------------------------------------------- */

static void set_text(char **field, const char *text)
{
    g_free(*field);
    *field = g_strdup(text);
}

static void set_list(char ***field, const char *text)
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
    g_strfreev(*field);
    *field = g_steal_pointer(&words);
}

static void set_field(const ConfigKey *k, uint8_t kind, void *options, const ConfValue *v)
{
    void *field = (char *)options + k->offset;
    switch ((enum ConfigKind)kind) {
    case CONFIG_TEXT:
    case CONFIG_CHOICE:
    case CONFIG_TYPES:
    case CONFIG_PLACES:
        set_text(field, v->text);
        break;
    case CONFIG_LIST:
        set_list(field, v->text);
        break;
    case CONFIG_BOOL:
        *(bool *)field = v->flag;
        break;
    case CONFIG_ADDR:
        *(Addr *)field = v->addr;
        break;
    case CONFIG_LISTEN:
        *(Listen *)field = v->listen;
        break;
    case CONFIG_LEVEL:
        *(enum LogLevel *)field = (enum LogLevel)v->choice;
        break;
    case CONFIG_SIZE:
    case CONFIG_TIME:
    case CONFIG_COUNT:
        *(uint64_t *)field = v->count;
        break;
    case CONFIG_NUMBER:
        *(double *)field = v->number;
        break;
    }
}

int config_set(const ConfigKey *k, void *options, const char *text)
{
    const ConfKey key = config_key(k);
    ConfValue v;
    if (conf_parse(&key, text, &v) != 0)
        return -EINVAL;
    set_field(k, key.kind, options, &v);
    return 0;
}

void config_defaults(const ConfigTable *table, void *options)
{
    for (size_t i = 0; i < table->count; i++) {
        const ConfKey key = config_key(&table->keys[i]);
        ConfValue v;
        if (key.preset && conf_default(&key, &v) == 0)
            set_field(&table->keys[i], key.kind, options, &v);
    }
}

void config_common_init(CommonOptions *o)
{
    *o = (CommonOptions){0};
    config_defaults(&config_common, o);
}

/* ---- file and environment -------------------------------------------------------------------- */

typedef struct Target {
    const ConfigProgram *program;
    void *options;
} Target;

/* A value of the file or of the environment; a key that the program has no field for is not lost
 * on it: another program takes it. */
static int on_value(void *ctx, const ConfKey *key, const ConfValue *v, char *error, size_t cap)
{
    const Target *target = ctx;
    const ConfigProgram *p = target->program;
    if (p->judge && p->judge(NULL, key, v, error, cap) < 0)
        return -EINVAL;
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && p->tables[t]; t++) {
        for (size_t i = 0; i < p->tables[t]->count; i++) {
            const ConfigKey *k = &p->tables[t]->keys[i];
            if (k->group && strcmp(k->group, key->group) == 0 && strcmp(k->name, key->name) == 0)
                set_field(k, key->kind, target->options, v);
        }
    }
    return 0;
}

/* NULL: none. */
static const char *asked_file(const char *option)
{
    const char *path = option ? option : g_getenv("DODO_CONFIG");
    return path && *path ? path : NULL;
}

const char *config_file(const CommonOptions *o)
{
    const char *asked = asked_file(o->config);
    return asked ? asked : DEFAULT_CONFIG_PATH;
}

bool config_file_is_asked(const CommonOptions *o)
{
    return asked_file(o->config) != NULL;
}

size_t config_place(const CommonOptions *o, const char *group, const char *name,
                    char error[CONFIG_ERROR_MAX])
{
    return conf_place(asked_file(o->config), group, name, error, CONFIG_ERROR_MAX);
}

static int load_file(const ConfigProgram *p, const char *option, void *options, char *error)
{
    Target target = {p, options};
    return conf_file_read(asked_file(option), p->reader, on_value, &target, error,
                          CONFIG_ERROR_MAX);
}

static int load_env(const ConfigProgram *p, void *options, char *error)
{
    Target target = {p, options};
    return conf_env_read(p->reader, getenv, on_value, &target, error, CONFIG_ERROR_MAX);
}

/* ---- the command line ------------------------------------------------------------------------ */

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
        const uint8_t kind = config_key(o->key).kind;
        bool flag = kind == CONFIG_BOOL, list = kind == CONFIG_LIST;
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

/* The name that a person gave: cmd, and dodo-cmd where it is installed. */
static const char *called(const ConfigProgram *p, const char *path)
{
    const char *base = path ? strrchr(path, '/') : NULL;
    base = base ? base + 1 : path;
    return base && g_str_has_prefix(base, "dodo-") && strcmp(base + 5, p->name) == 0 ? base
                                                                                     : p->name;
}

static const GOptionEntry *entry_find(const GArray *entries, const char *name, size_t len)
{
    const GOptionEntry *e = (const GOptionEntry *)(void *)entries->data;
    while (e->long_name && (strncmp(e->long_name, name, len) != 0 || e->long_name[len] != '\0'))
        e++;
    return e->long_name ? e : NULL;
}

/* GLib takes --insecure=no for --insecure. */
static int refuse_valued_flags(const ConfigProgram *p, const GArray *entries, int argc, char **argv,
                               char *error)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        bool option = g_str_has_prefix(argv[i], "-");
        if (!option && p->runs_another)
            break;
        size_t len = strcspn(argv[i], "=");
        const GOptionEntry *e =
            option && len > 2 ? entry_find(entries, argv[i] + 2, len - 2) : NULL;
        if (e && e->arg == G_OPTION_ARG_NONE && argv[i][len] == '=') {
            (void)snprintf(error, CONFIG_ERROR_MAX, "--%s takes no value (see %s --help)",
                           e->long_name, called(p, argv[0]));
            return -EINVAL;
        }
        i += e && e->arg != G_OPTION_ARG_NONE && argv[i][len] != '=';
    }
    return 0;
}

/* Reads the command line; --help is printed here. */
static enum ConfigOutcome parse_options(const ConfigProgram *p, GArray *options, int *argc,
                                        char ***argv, char **ret_config, char *error)
{
    gboolean version = FALSE, help = FALSE;
    char given[SHOWN_MAX];
    const char *name = called(p, (*argv)[0]);
    g_autoptr(GError) failure = NULL;
    g_autoptr(GOptionContext) context = g_option_context_new(p->arguments);
    g_autoptr(GArray) entries = entries_make(p, options, ret_config, &version);
    GOptionEntry help_entry = {.long_name = "help",
                               .short_name = 'h',
                               .arg = G_OPTION_ARG_NONE,
                               .arg_data = &help,
                               .description = "Print this and exit"};
    g_array_append_val(entries, help_entry);
    if (refuse_valued_flags(p, entries, *argc, *argv, error) != 0)
        return CONFIG_USAGE;
    g_option_context_set_help_enabled(context, FALSE); /* GLib's would exit from in here */
    g_option_context_set_strict_posix(context, p->runs_another);
    g_option_context_set_summary(context, p->summary);
    g_option_context_add_main_entries(context, (GOptionEntry *)(void *)entries->data, NULL);
    if (!g_option_context_parse(context, argc, argv, &failure)) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "%s (see %s --help)",
                       printable_short(failure->message, given, sizeof given), name);
        return CONFIG_USAGE;
    }
    if (help) {
        g_set_prgname(name);
        g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);
        (void)fputs(text, stdout);
        return CONFIG_DONE;
    }
    if (version) {
        printf("%s %s\n", name, DODO_VERSION);
        return CONFIG_DONE;
    }
    if (!p->arguments && *argc > 1) {
        (void)snprintf(error, CONFIG_ERROR_MAX, "unexpected argument \"%s\" (see %s --help)",
                       printable_short((*argv)[1], given, sizeof given), name);
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

static int apply_option(const ConfigProgram *p, const Option *o, const char *text, void *into,
                        char *error)
{
    const ConfKey key = config_key(o->key);
    const ConfValue v = {.text = text};
    if (config_set(o->key, into, text) == 0)
        return p->judge ? p->judge(NULL, &key, &v, error, CONFIG_ERROR_MAX) : 0;
    g_autofree char *what = g_strdup_printf("--%s %s", o->name, text);
    return conf_refuse(&key, what, error, CONFIG_ERROR_MAX);
}

static int apply_options(const ConfigProgram *p, GArray *options, void *into, char *error)
{
    int res = 0;
    for (guint i = 0; i < options->len && res == 0; i++) {
        Option *o = &g_array_index(options, Option, i);
        if (o->texts)
            apply_list(o, into);
        const char *text = o->given ? "yes" : o->text;
        if (text)
            res = apply_option(p, o, text, into, error);
    }
    return res;
}

static char **command_line; /* of the last load, which takes its options out of argv */
static GArray *last_given;  /* its options */

void config_each_option(ConfigOptionFn *fn, void *ctx)
{
    for (guint i = 0; last_given && i < last_given->len; i++) {
        const Option *o = &g_array_index(last_given, Option, i);
        if (o->text || o->given)
            fn(ctx, o->key, o->given ? "yes" : o->text);
    }
}

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
    GArray *given = options_collect(program);
    if (last_given)
        g_array_unref(last_given);
    last_given = given;
    enum ConfigOutcome res = parse_options(program, given, argc, argv, &config, error);
    if (res != CONFIG_OK || !program->tables[0])
        return res;
    if (config && !*config) { /* as a script gives it whose variable is not set */
        (void)snprintf(error, CONFIG_ERROR_MAX, "--config : expected the name of a file");
        return CONFIG_USAGE;
    }
    g_free(((CommonOptions *)options)->config); /* of an earlier load */
    ((CommonOptions *)options)->config = g_strdup(config);
    /* The command line is judged first: its errors should not hide behind the file's. */
    if (apply_options(program, given, options, error) != 0)
        return CONFIG_USAGE;
    if (load_file(program, config, options, error) != 0 || load_env(program, options, error) != 0)
        return CONFIG_BAD;
    return apply_options(program, given, options, error) == 0 ? CONFIG_OK : CONFIG_USAGE;
}

void config_clear(const ConfigProgram *program, void *options)
{
    for (unsigned t = 0; t < CONFIG_TABLES_MAX && program->tables[t]; t++) {
        for (size_t i = 0; i < program->tables[t]->count; i++) {
            const ConfigKey *k = &program->tables[t]->keys[i];
            void *field = (char *)options + k->offset;
            const uint8_t kind = config_key(k).kind;
            if (kind == CONFIG_TEXT || kind == CONFIG_CHOICE || kind == CONFIG_PLACES)
                g_clear_pointer((char **)field, g_free);
            else if (kind == CONFIG_LIST)
                g_clear_pointer((char ***)field, g_strfreev);
        }
    }
    if (program->tables[0])
        g_clear_pointer(&((CommonOptions *)options)->config, g_free);
}

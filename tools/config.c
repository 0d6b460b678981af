/* SPDX-License-Identifier: MIT */
/* dodo config: what each part of Dodo would take for its settings here, and where it comes from. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/start.h"
#include "tools/client.h"
#include "tools/command.h"
#include "tools/settings_list.h"

static const ConfigKey keys[] = {
    {NULL, "json", "Print JSON", NULL, offsetof(ToolOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo config",
    .reader = CONF_TOOL,
    .summary = "Shows all settings as they are in effect, and where each comes from. Exits with 1 "
               "if one\nis at fault.",
    .tables = {&own, &config_manager, &config_common},
};

static void on_option(void *ctx, const ConfigKey *k, const char *text)
{
    if (k->group)
        settings_list_option(ctx, k->group, k->name, text);
}

/* What is right in one file counts, whatever is in others. False: some of it is not read. */
static bool read_files(SettingsList *l, const ConfFiles *files, const CommonOptions *o)
{
    bool fine = true;
    for (unsigned i = 0; i < files->count; i++) {
        char error[KEY_ERROR_MAX] = "";
        int res = conf_file_lines(files, i, config_file_is_asked(o), settings_list_line, l, error,
                                  sizeof error);
        settings_list_next(l);
        if (res == 0)
            continue;
        settings_list_fault(l, error);
        fine = false;
    }
    if (fine)
        settings_list_rules(l);
    return fine;
}

static int show(const ToolOptions *o)
{
    char error[KEY_ERROR_MAX] = "";
    ConfFiles files;
    SettingsList *l = g_new(SettingsList, 1);
    g_autoptr(GString) out = g_string_new(NULL);
    (void)conf_files_find(config_file(&o->common), &files, error, sizeof error);
    settings_list_init(l, (const char *const *)files.paths);
    settings_list_fault(l, error);
    const bool fine = read_files(l, &files, &o->common);
    settings_list_environment(l, getenv);
    if (fine)
        settings_list_variable_rules(l);
    config_each_option(on_option, l);
    (o->json ? settings_list_json : settings_list_print)(l, out);
    (void)fputs(out->str, stdout);
    for (guint i = 0; i < l->faults->len; i++)
        (void)start_failed(&program, 0, g_ptr_array_index(l->faults, i));
    const int status = l->faults->len ? EXIT_FAILURE : EXIT_SUCCESS;
    settings_list_deinit(l);
    g_free(l);
    conf_files_free(&files);
    return status;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ToolOptions o;
    tool_options_init(&o);
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    /* Faults of file and environment are listed. */
    const bool shown = outcome == CONFIG_OK || outcome == CONFIG_BAD;
    int status = shown ? show(&o) : start_config_failed(&program, outcome, error);
    config_clear(&program, &o);
    return status;
}

const Command command_config = {"config", "Show the settings, and where each comes from", run};

/* SPDX-License-Identifier: MIT */
/* dodo clients: what Dodo does for the programs that run on this host. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/os.h"
#include "daemon/start.h"
#include "tools/command.h"
#include "tools/programs.h"
#include "tools/programs_text.h"

typedef struct ClientsOptions {
    CommonOptions common; /* first */
    bool json;
} ClientsOptions;

static const ConfigKey keys[] = {
    {NULL, "json", "Print JSON", NULL, offsetof(ClientsOptions, json), CONFIG_BOOL},
};
static const ConfigTable own = CONFIG_TABLE(keys);
static const ConfigProgram program = {
    .name = "dodo clients",
    .reader = CONF_TOOL,
    .summary = "Shows the programs of this host that use Dodo, and what it has saved each. To root "
               "it shows\nthose of all users.",
    .tables = {&own},
};

static char *user_name(uint32_t uid)
{
    const struct passwd *p = getpwuid(uid);
    return p ? g_strdup(p->pw_name) : g_strdup_printf("%u", uid);
}

static int clients(const ClientsOptions *o)
{
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(ProgramSeen));
    g_autoptr(GString) out = g_string_new(NULL);
    programs_look(seen);
    programs_sort(seen);
    (o->json ? programs_json : programs_table)(seen, os_clock_ns(CLOCK_BOOTTIME),
                                               geteuid() == 0 ? user_name : NULL, out);
    (void)fputs(out->str, stdout);
    return EXIT_SUCCESS;
}

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ClientsOptions o = {0};
    const enum ConfigOutcome outcome = config_load(&program, &argc, &argv, &o, error);
    const int status =
        outcome == CONFIG_OK ? clients(&o) : start_config_failed(&program, outcome, error);
    config_clear(&program, &o);
    return status;
}

const Command command_clients = {"clients", "Show what Dodo does for the programs of this host",
                                 run};

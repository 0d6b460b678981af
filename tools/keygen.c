/* SPDX-License-Identifier: MIT */
/* dodo keygen: a new cluster key. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/parse.h"
#include "daemon/config.h"
#include "daemon/start.h"
#include "tools/command.h"

static const ConfigProgram program = {
    .name = "dodo keygen",
    .summary = "Prints a new cluster key. Keep it where only Dodo's users can read it:\n"
               "  (umask 027; dodo keygen > /etc/dodo/key)",
};

static int run(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "", text[2 * KEY_BYTES + 2];
    uint8_t key[KEY_BYTES];
    enum ConfigOutcome outcome = config_load(&program, &argc, &argv, NULL, error);
    if (outcome != CONFIG_OK)
        return start_config_failed(&program, outcome, error);
    os_random(NULL, key, sizeof key);
    for (size_t i = 0; i < sizeof key; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", key[i]);
    bool written = puts(text) >= 0 && fflush(stdout) == 0;
    explicit_bzero(key, sizeof key);
    explicit_bzero(text, sizeof text);
    return written ? EXIT_SUCCESS
                   : start_failed(&program, EXIT_START, "cannot write to the standard output");
}

const Command command_keygen = {"keygen", "Print a new cluster key", run};

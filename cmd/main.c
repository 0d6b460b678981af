/* SPDX-License-Identifier: MIT */
/* cmd: options, start, stop. */
#include <stdio.h>

#include "base/os.h"
#include "base/written.h"
#include "cmd/shell.h"
#include "daemon/start.h"

static int run(CmdOptions *o)
{
    char error[CONFIG_ERROR_MAX] = "";
    log_init(cmd_program.name, o->common.log_level);
    if (start_descriptors(START_DESCRIPTORS, error) < 0 || start_as_user(&o->common, error) < 0)
        return start_failed(&cmd_program, EXIT_START, error);
    LeaseCommand lease = {.fd = -1};
    if (o->lease && lease_command_open(&lease, o->lease, LEASE_STILL_NS, error) < 0)
        return start_failed(&cmd_program, EXIT_START, error);
    start_forbid_dumps(); /* capabilities and keys are in here */
    Cmd *cmd = cmd_new(o, &lease, error);
    int status = cmd ? cmd_run(cmd) : start_failed(&cmd_program, EXIT_START, error);
    cmd = cmd_free(cmd);
    lease_command_close(&lease);
    start_allow_dumps();
    return status;
}

int main(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    CmdOptions options;
    int status;
    os_keep_standard();
    start_ignore_full_files();
    if (start_stack(error) < 0)
        return start_failed(&cmd_program, EXIT_START, error);
    cmd_options_init(&options);
    enum ConfigOutcome outcome = config_load(&cmd_program, &argc, &argv, &options, error);
    if (outcome == CONFIG_OK && cmd_options_check(&options, error) != 0)
        outcome = CONFIG_USAGE;
    if (outcome == CONFIG_OK)
        status = run(&options);
    else
        status = start_config_failed(&cmd_program, outcome, error);
    config_clear(&cmd_program, &options);
    return written_check(cmd_program.name, status);
}

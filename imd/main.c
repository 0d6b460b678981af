/* SPDX-License-Identifier: MIT */
/* imd: options, start, stop. */
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "base/written.h"
#include "daemon/start.h"
#include "imd/priority.h"
#include "imd/shell.h"

static unsigned descriptors(const ImdOptions *o)
{
    const unsigned more = o->threads > 4 ? (unsigned)o->threads - 4 : 0;
    return START_DESCRIPTORS + more * START_DESCRIPTORS_OF_A_THREAD;
}

static int run(ImdOptions *o)
{
    char error[CONFIG_ERROR_MAX] = "";
    log_init(imd_program.name, o->common.log_level);
    if (start_descriptors(descriptors(o), error) < 0 || start_as_user(&o->common, error) < 0)
        return start_failed(&imd_program, EXIT_START, error);
    if (o->owner_fd != UINT64_MAX)
        priority_open((int)o->nice, os_now_ns());
    /* Guests' data and keys must not end up in a core file. */
    start_forbid_dumps();
    Imd *imd = imd_new(o, error);
    if (!imd)
        return start_failed(&imd_program, EXIT_START, error);
    int status = imd_run(imd);
    imd = imd_free(imd);
    start_allow_dumps();
    return status;
}

int main(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    ImdOptions options;
    int status;
    os_keep_standard();
    start_ignore_full_files();
    if (start_stack(error) < 0)
        return start_failed(&imd_program, EXIT_START, error);
    imd_options_init(&options);
    enum ConfigOutcome outcome = config_load(&imd_program, &argc, &argv, &options, error);
    if (outcome == CONFIG_OK && imd_options_check(&options, error) != 0)
        outcome = CONFIG_USAGE;
    if (outcome == CONFIG_OK)
        status = run(&options);
    else
        status = start_config_failed(&imd_program, outcome, error);
    config_clear(&imd_program, &options);
    return written_check(imd_program.name, status);
}

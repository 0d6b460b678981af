/* SPDX-License-Identifier: MIT */
/* rmd: options, start, stop. */
#include <stdlib.h>

#include "base/os.h"
#include "base/written.h"
#include "daemon/start.h"
#include "rmd/once.h"
#include "rmd/shell.h"

/* Who reads input devices is started first, and then the right to do that goes. */
static int open_input(const RmdOptions *o, InputHelper *input, char *error)
{
    if (!o->sources.input)
        return start_as_user(&o->common, error);
    int res = input_helper_start(input, &o->common, o->sources.input, o->poll_ns, error);
    return res < 0 ? res : input_give_up(&o->common, o->sources.input, error);
}

static int serve(RmdOptions *o)
{
    char error[CONFIG_ERROR_MAX] = "";
    InputHelper input = {.channel = -1};
    if (open_input(o, &input, error) < 0)
        return start_failed(&rmd_program, EXIT_START, error);
    start_forbid_dumps(); /* of the cluster's key */
    Rmd *rmd = rmd_new(o, o->sources.input ? &input : NULL, error);
    if (!rmd)
        return start_failed(&rmd_program, EXIT_START, error);
    int status = rmd_run(rmd);
    rmd = rmd_free(rmd);
    input_helper_stop(&input);
    start_allow_dumps();
    return status;
}

static int run(RmdOptions *o)
{
    char error[CONFIG_ERROR_MAX] = "";
    log_init(rmd_program.name, o->common.log_level);
    if (start_descriptors(START_DESCRIPTORS, error) < 0)
        return start_failed(&rmd_program, EXIT_START, error);
    if (!o->check && !o->explain)
        return serve(o);
    int res = o->check ? rmd_check(o, error) : rmd_explain(o, error);
    return res < 0 ? start_failed(&rmd_program, EXIT_START, error) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    char error[CONFIG_ERROR_MAX] = "";
    RmdOptions options;
    int status;
    os_keep_standard();
    start_ignore_full_files();
    if (start_stack(error) < 0)
        return start_failed(&rmd_program, EXIT_START, error);
    rmd_options_init(&options);
    enum ConfigOutcome outcome = config_load(&rmd_program, &argc, &argv, &options, error);
    if (outcome == CONFIG_OK && rmd_options_check(&options, error) != 0)
        outcome = CONFIG_USAGE;
    if (outcome == CONFIG_OK)
        status = run(&options);
    else
        status = start_config_failed(&rmd_program, outcome, error);
    config_clear(&rmd_program, &options);
    return written_check(rmd_program.name, status);
}

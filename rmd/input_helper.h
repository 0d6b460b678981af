/* SPDX-License-Identifier: MIT */
/* The process that reads input devices for rmd, so that none both reads them and has a network.
 *
 * It is two: one that opens devices, with no way to a socket or to any other file, and one above it
 * that reads nothing and starts it again when it ends, after a second, then two, and so on up to a
 * minute. The rmd that has both drops what its right to the devices comes from. */
#ifndef DODO_RMD_INPUT_HELPER_H
#define DODO_RMD_INPUT_HELPER_H

#include <sys/types.h>

#include "daemon/config.h"
#include "rmd/input_report.h"

typedef struct InputHelper {
    int channel;    /* -1: none runs */
    pid_t pid;      /* 0: not ours to end */
    uint32_t asked; /* the last request's number */
    uint64_t retry_ns;
    bool silent; /* as last logged */
    bool gone;   /* so is who would start it again */
} InputHelper;

/* Before threads, sockets and keys are there. Becomes the options' user; @every_ns: it looks at the
 * devices no more often than half of that. 0, -errno. */
int input_helper_start(InputHelper *h, const CommonOptions *o, const char *path, uint64_t every_ns,
                       char error[CONFIG_ERROR_MAX]);
void input_helper_stop(InputHelper *h); /* where none runs, nothing happens */
/* An InputAsk of an InputHelper. Waits for the answer for SOURCE_PATIENCE_NS at most; who did not
 * answer is asked again after SOURCE_RETRY_NS. -EPIPE: it has ended for good, which the log says.
 */
int input_helper_ask(void *ctx, uint64_t awake_ns, InputReport *ret);

/* Becomes the options' user, as start_as_user(), without the groups that input devices at @path
 * belong to, and gives up reading what is there. What cannot be given up the log says. 0, -errno.
 */
int input_give_up(const CommonOptions *o, const char *path, char error[CONFIG_ERROR_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
#include "base/written.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int written_check(const char *program, int status)
{
    const bool lost = ferror(stdout); /* what it was is not known any more */
    if (fflush(stdout) == 0 && !lost)
        return status;
    (void)fprintf(stderr, "%s: cannot write to the standard output: %s\n", program,
                  lost ? "some of it is lost" : strerror(errno));
    return status == EXIT_SUCCESS ? EXIT_FAILURE : status;
}

/* SPDX-License-Identifier: MIT */
/* truth-writer FILE SHARED: writes FILE as the writer of `truth` does, until that is over, which
 * reads it and has the file SHARED in common with it. Linked statically where that is possible. */
#include <stdio.h>

#include "tests/net/truth.h"

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    share(argv[2]);
    file_make(argv[1]);
    (void)puts("writes");
    (void)fflush(stdout);
    write_until_over(argv[1], argv[1]);
    return 0;
}

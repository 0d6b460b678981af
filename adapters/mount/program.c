/* SPDX-License-Identifier: MIT */
/* dodo-mount, as a program of its own. */
#include "adapters/mount/program.h"

int main(int argc, char **argv)
{
    return mount_main(argc, argv);
}

/* SPDX-License-Identifier: MIT */
#ifndef DODO_ADAPTERS_MOUNT_PROGRAM_H
#define DODO_ADAPTERS_MOUNT_PROGRAM_H

/* The main() of dodo-mount, also for a process that is a copy of another program: its exit status.
 */
int mount_main(int argc, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether a display runs on this host, of any user. */
#ifndef DODO_RMD_DISPLAYS_H
#define DODO_RMD_DISPLAYS_H

/* Looks for the sockets of X servers and Wayland compositors in @path, a list as /proc/net/unix.
 * 1, 0; -errno: it cannot be read. */
int displays_run(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether a display runs on this host, of any user. */
#ifndef DODO_RMD_DISPLAYS_H
#define DODO_RMD_DISPLAYS_H

/* Looks for the sockets of X servers and Wayland compositors in @path, a list as /proc/net/unix.
 * 1, 0; -errno: it cannot be read; -E2BIG: not all of it, as any user may have any number of
 * sockets there, and a look must not wait. */
enum { DISPLAYS_SOCKETS_MAX = 1 << 15 };
int displays_run(const char *path);

#endif

/* SPDX-License-Identifier: MIT */
/* What a process gives up once it has opened all that it needs: it takes datagrams from the
 * network, say, and an attacker who takes it over by one must find nothing to use. Everything given
 * up stays given up. What the kernel or the build cannot do is left out and reported in
 * @ret_missing. */
#ifndef DODO_DAEMON_SANDBOX_H
#define DODO_DAEMON_SANDBOX_H

#include <stddef.h>

enum { SANDBOX_TEXT_MAX = 256 };

/* What it goes on doing, beside using the descriptors that it has. */
enum SandboxNeed {
    SANDBOX_SERVE = 1 << 0,  /* sockets that are open, threads, memory that is locked */
    SANDBOX_READ = 1 << 1,   /* opens files to read them, and lists directories */
    SANDBOX_INPUT = 1 << 2,  /* asks input devices what they are */
    SANDBOX_GROUPS = 1 << 3, /* keeps its supplementary groups */
    SANDBOX_ACCEPT = 1 << 4, /* takes connections from a socket that listens already */
};

/* Call it before the first thread is started: a filter holds for the calling thread and those that
 * it starts. It always gives up new privileges, processes, programs and sockets, and files, except
 * reading those beneath the paths @readable (NULL at the end; NULL: none). It drops supplementary
 * groups if we may. @ret_missing: words such as "landlock(...)", with blanks between; empty when
 * nothing is missing. */
void sandbox_enter(unsigned needs, const char *const *readable, char *ret_missing, size_t cap);

/* The calling thread and what it starts read no file beneath @path any more, whatever its mode
 * allows, and get no new privileges. What comes later into a directory on the way to it cannot be
 * read either: for paths such as /dev/input, on the way to which little comes. 0, -errno. */
int sandbox_hide(const char *path);

#endif

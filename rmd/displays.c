/* SPDX-License-Identifier: MIT */
/* The list is everybody's to read, the sockets' directories are not. */
#include "rmd/displays.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* "/tmp/.X11-unix/X0", "@/tmp/.X11-unix/X0" or "/run/user/1000/wayland-0" at the line's end. */
static bool is_display(const char *line)
{
    const char *name = strrchr(line, '/');
    if (!name)
        return false;
    if (strncmp(name, "/wayland-", strlen("/wayland-")) == 0)
        return true;
    static const char dir[] = "/.X11-unix";
    size_t len = strlen(dir);
    return name[1] == 'X' && (size_t)(name - line) >= len && memcmp(name - len, dir, len) == 0;
}

static void file_close(FILE **f)
{
    if (*f)
        (void)fclose(*f);
}

int displays_run(const char *path)
{
    CLEANUP(file_close) FILE *f = fopen(path, "re");
    CLEANUP_FREE char *line = NULL;
    size_t cap = 0;
    if (!f)
        return -errno;
    for (unsigned i = 0; getline(&line, &cap, f) >= 0; i++) {
        if (is_display(line))
            return 1;
        if (i > DISPLAYS_SOCKETS_MAX) /* the first line is no socket */
            return -E2BIG;
    }
    return ferror(f) ? -EIO : 0;
}

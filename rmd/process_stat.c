/* SPDX-License-Identifier: MIT */
#include "rmd/process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"

enum { PATH_BYTES = 1024, TEXT_BYTES = 1024 };

/* "PID (NAME) STATE PARENT ..."; the name may have anything in it. */
bool process_stat(const char *proc, int pid, char name[PROCESS_NAME_BYTES], int *ret_parent)
{
    char path[PATH_BYTES], text[TEXT_BYTES];
    (void)snprintf(path, sizeof path, "%s/%d/stat", proc, pid);
    if (os_text_read(AT_FDCWD, path, text, sizeof text) <= 0)
        return false;
    const char *from = strchr(text, '('), *to = strrchr(text, ')');
    if (!from || !to || to <= from || sscanf(to, ") %*c %d", ret_parent) != 1)
        return false;
    (void)snprintf(name, PROCESS_NAME_BYTES, "%.*s", (int)(to - from - 1), from + 1);
    return true;
}

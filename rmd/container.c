/* SPDX-License-Identifier: MIT */
#include "rmd/container.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"

enum { PATH_BYTES = 4096, NAME_BYTES = 48 };

/* The kernel gives the host's own process namespace this inode, on every host
 * (PROC_PID_INIT_INO). */
static const char host_processes[] = "pid:[4026531836]";

/* What a manager of containers has left: its name. */
static bool read_name(const char *root, char name[NAME_BYTES])
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/run/systemd/container", root);
    ssize_t n = os_text_read(AT_FDCWD, path, name, NAME_BYTES);
    name[strcspn(name, "\n")] = '\0';
    return n >= 0;
}

static bool has_own_processes(const char *root)
{
    char path[PATH_BYTES], link[NAME_BYTES];
    (void)snprintf(path, sizeof path, "%s/proc/self/ns/pid", root);
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n < 0)
        return false;
    link[n] = '\0';
    return strcmp(link, host_processes) != 0;
}

bool container_detect(const char *root, const char *environment, char how[CONTAINER_MAX])
{
    char name[NAME_BYTES];
    if (environment && *environment)
        (void)snprintf(how, CONTAINER_MAX, "the variable container is %.40s", environment);
    else if (read_name(root, name))
        (void)snprintf(how, CONTAINER_MAX, "/run/systemd/container says %s", name);
    else if (has_own_processes(root))
        (void)snprintf(how, CONTAINER_MAX, "its process namespace is not the host's");
    else
        return false;
    return true;
}

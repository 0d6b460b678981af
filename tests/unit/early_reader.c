/* SPDX-License-Identifier: MIT */
/* A library that reads a file before the program's first line. */
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/early_reader.h"

static char byte;
static ssize_t count;
static bool closed;

__attribute__((constructor)) static void read_early(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    count = read(fd, &byte, 1);
    closed = close(fd) == 0;
}

bool early_has_read(void)
{
    return count == 1 && byte == '\x7f' && closed;
}

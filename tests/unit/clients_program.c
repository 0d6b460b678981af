/* SPDX-License-Identifier: MIT */
/* clients_program FILE region|cache: reads the first megabyte of the file twice, in blocks, writes
 * its first block, says "ready" and waits for SIGTERM. It then ends in order. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dodo/dodo.h"
#include "dodo/manage.h"

enum { BYTES = 1 << 20, BLOCK = 4096 };

typedef struct Way {
    int (*open)(size_t len, int fd, off_t offset);
    ssize_t (*read)(int rd, off_t offset, void *buf, size_t len);
    ssize_t (*write)(int rd, off_t offset, const void *buf, size_t len);
} Way;

static int use(const Way *way, int fd)
{
    static char buf[BLOCK];
    int rd = way->open(BYTES, fd, 0);
    for (int i = 0; rd >= 0 && i < 2 * BYTES / BLOCK; i++)
        if (way->read(rd, (off_t)i * BLOCK % BYTES, buf, BLOCK) != BLOCK)
            return -1;
    return rd < 0 || way->write(rd, 0, buf, BLOCK) != BLOCK ? -1 : 0;
}

int main(int argc, char **argv)
{
    static const Way region = {dodo_mopen, dodo_mread, dodo_mwrite};
    static const Way cache = {dodo_copen, dodo_cread, dodo_cwrite};
    sigset_t ends;
    int number, fd = argc == 3 ? open(argv[1], O_RDWR) : -1;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    if (fd < 0 || use(strcmp(argv[2], "region") == 0 ? &region : &cache, fd) != 0) {
        perror("clients_program");
        return 1;
    }
    (void)puts("ready");
    (void)fflush(stdout);
    return sigwait(&ends, &number);
}

/* SPDX-License-Identifier: MIT */
/* The smallest program that uses the region cache: pieces of a file in random order, most of them
 * from local memory, or from another host's where there are some. It needs no cluster to run.
 * With Dodo installed: cc manage.c -o manage $(pkg-config --cflags --libs dodo-manage)
 * DODO_CACHE_SIZE=1M DODO_STATS=1 DODO_MANAGER=HOST:PORT DODO_KEY=FILE ./manage FILE */
#include <dodo/manage.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 14, READS = 20000 };

static int fail(const char *call)
{
    perror(call);
    return 1;
}

int main(int argc, char **argv)
{
    static char buf[PIECE];
    struct manage_stats st;
    struct stat file;
    if (fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0) /* the file would get what is printed */
        return fail("manage: cannot write to the standard output");
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0 || fstat(fd, &file) < 0 || file.st_size < PIECE) {
        fprintf(stderr, "usage: manage FILE    (that may be written, of 16 KiB at least)\n");
        return 2;
    }
    int rd = copen((size_t)file.st_size, fd, 0); /* all of it; it may be larger than the cache */
    if (rd < 0)
        return fail("copen");
    for (int i = 0; i < READS; i++) {
        off_t at = (off_t)(rand() % (file.st_size / PIECE)) * PIECE;
        if (cread(rd, at, buf, PIECE) != PIECE) /* from wherever it is */
            return fail("cread");
        if (i % 100 == 0 && cwrite(rd, at, buf, PIECE) != PIECE) /* to local memory */
            return fail("cwrite");
    }
    if (csync(rd) < 0) /* now the disk has it */
        return fail("csync");
    if (manage_stats(&st) == 0)
        printf("%d reads: %llu from local memory, %llu from remote memory, %llu from the file\n",
               READS, (unsigned long long)st.local_hits, (unsigned long long)st.remote_hits,
               (unsigned long long)st.disk_reads);
    if (fflush(stdout) != 0)
        return fail("manage: cannot write to the standard output");
    if (cclose(rd) < 0)
        return fail("cclose");
    return close(fd);
}

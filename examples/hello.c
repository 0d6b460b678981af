/* SPDX-License-Identifier: MIT */
/* The smallest program that uses Dodo: a piece of a file, read through another host's memory.
 * With Dodo installed: cc hello.c -o hello $(pkg-config --cflags --libs dodo)
 * Run it where a manager listens: DODO_MANAGER=ADDR:PORT DODO_KEY=FILE ./hello FILE */
#include <dodo/dodo.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int fail(const char *call)
{
    fprintf(stderr, "hello: %s: %s\n", call, dodo_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    char buf[4096];
    DodoStat st;
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0) {
        fprintf(stderr, "usage: hello FILE    (a file that may be written)\n");
        return 2;
    }

    int rd = mopen(1 << 20, fd, 0); /* the file's first MiB; reads nothing yet */
    if (rd < 0)
        return fail("mopen");
    ssize_t n = mread(rd, 0, buf, sizeof buf);       /* the first time from the file ... */
    if (n < 0 || mread(rd, 0, buf, sizeof buf) != n) /* ... then from the other host */
        return fail("mread");
    if (mwrite(rd, 0, buf, (size_t)n) != n) /* to the file and to the host at the same time */
        return fail("mwrite");
    if (dodo_stat(rd, &st) == 0)
        printf("held by %s: %llu bytes came from its memory, %llu from the file\n", st.host,
               (unsigned long long)st.hits, (unsigned long long)st.misses);
    mclose(rd); /* the memory is free for others; the file stays open */
    return close(fd);
}

/* SPDX-License-Identifier: MIT */
/* The smallest program that uses Dodo: a piece of a file, read through another host's memory.
 * With Dodo installed: cc hello.c -o hello $(pkg-config --cflags --libs dodo)
 * Run it where a manager listens: DODO_MANAGER=HOST:PORT DODO_KEY=FILE ./hello FILE */
#include <dodo/dodo.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int fail(const char *call)
{
    fprintf(stderr, "hello: %s: %s\n", call, dodo_last_error());
    return 1;
}

static int fail_output(void)
{
    perror("hello: cannot write to the standard output");
    return 1;
}

int main(int argc, char **argv)
{
    enum { REGION = 1 << 20, PIECE = 1 << 16 };
    static char buf[PIECE];
    DodoStat st;
    if (fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0) /* the file would get what is printed */
        return fail_output();
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    if (fd < 0) {
        fprintf(stderr, "usage: hello FILE    (a file that may be written)\n");
        return 2;
    }
    int rd = mopen(REGION, fd, 0); /* the file's first MiB; reads nothing yet */
    if (rd < 0)
        return fail("mopen");
    for (int pass = 0; pass < 10; pass++)            /* the first time from the file ... */
        for (off_t at = 0; at < REGION; at += PIECE) /* ... then from the other host */
            if (mread(rd, at, buf, PIECE) < 0)
                return fail("mread");
    ssize_t n = mread(rd, 0, buf, 100);
    if (n < 0 || mwrite(rd, 0, buf, (size_t)n) != n) /* to the file and to the host at once */
        return fail("mwrite");
    if (dodo_stat(rd, &st) == 0)
        printf("held by %s: %llu bytes came from its memory, %llu from the file\n", st.host,
               (unsigned long long)st.hits, (unsigned long long)st.misses);
    if (fflush(stdout) != 0)
        return fail_output();
    mclose(rd); /* the memory is free for others; the file stays open */
    return close(fd);
}

/* SPDX-License-Identifier: MIT */
/* same DIRECTORY MOUNTED PLAIN SEED CALLS: the same random calls in two empty directories;
 * DIRECTORY is called through its mount MOUNTED, and now and then behind it. Results, errors and
 * data are the same, call by call, as those of PLAIN. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/net/same.h"

static Side sides[2];
static uint64_t state;

static unsigned draw(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33);
}

void say(Side *s, const void *data, size_t len)
{
    if (s->len + len > sizeof s->data)
        abort();
    memcpy(s->data + s->len, data, len);
    s->len += len;
}

static void one(Side *s, Call *call, const Draws *d)
{
    s->len = 0;
    errno = 0;
    s->result = call(s, d);
    s->error = s->result < 0 ? errno : 0;
}

static bool equal(void)
{
    const Side *a = &sides[0], *b = &sides[1];
    return a->result == b->result && a->error == b->error && a->len == b->len &&
           memcmp(a->data, b->data, a->len) == 0;
}

static int tell(unsigned long number, const char *name, const Draws *d)
{
    const Side *a = &sides[0], *b = &sides[1];
    size_t at = 0;
    while (at < a->len && at < b->len && a->data[at] == b->data[at])
        at++;
    (void)fprintf(stderr, "same: call %lu, %s%s (", number, name, d->behind ? " behind" : "");
    for (unsigned i = 0; i < 6; i++)
        (void)fprintf(stderr, "%u ", d->n[i]);
    (void)fprintf(stderr, "): %ld %s, %zu bytes, and plain %ld %s, %zu bytes; differ at %zu\n",
                  a->result, strerror(a->error), a->len, b->result, strerror(b->error), b->len, at);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    for (unsigned i = 0; i < 2; i++) {
        sides[i].root = open(argv[i ? 3 : 2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        sides[i].behind = open(argv[i ? 3 : 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (unsigned k = 0; k < FDS; k++)
            sides[i].fds[k] = -1;
        if (sides[i].root < 0 || sides[i].behind < 0)
            return 2;
    }
    (void)umask(022);
    state = strtoull(argv[4], NULL, 10);
    unsigned long count = strtoul(argv[5], NULL, 10);
    for (unsigned long number = 0; number < count; number++) {
        Draws d;
        size_t which = draw() % same_calls_count;
        d.behind = draw() % 5 == 0;
        for (unsigned i = 0; i < 10; i++)
            d.n[i] = draw();
        for (unsigned i = 0; i < 2; i++)
            one(&sides[i], same_calls[which].call, &d);
        if (!equal())
            return tell(number, same_calls[which].name, &d);
    }
    printf("%lu calls: all the same\n", count);
    return 0;
}

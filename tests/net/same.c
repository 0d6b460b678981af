/* SPDX-License-Identifier: MIT */
/* same DIRECTORY MOUNTED PLAIN SEED CALLS: the same random calls in two empty directories;
 * DIRECTORY is called through its mount MOUNTED, and now and then behind it. Results, errors and
 * data are the same, call by call, as those of PLAIN.
 *
 * same DIRECTORY SEED CALLS: the same in one, with signals; prints a line of each call, for a
 * comparison with another run. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
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

/* Draws a call, and its numbers: of three calls two are of a descriptor. */
static const NamedCall *draw_call(Draws *d)
{
    bool of_fd = draw() % 3 > 0;
    size_t which = draw();
    d->behind = draw() % 5 == 0;
    for (unsigned i = 0; i < 10; i++)
        d->n[i] = draw();
    return of_fd ? &same_fd_calls[which % same_fd_calls_count]
                 : &same_calls[which % same_calls_count];
}

/* ---- two sides --------------------------------------------------------------------------------
 */

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

static int compare(unsigned long count)
{
    for (unsigned long number = 0; number < count; number++) {
        Draws d;
        const NamedCall *call = draw_call(&d);
        same_refused = false;
        for (unsigned i = 0; i < 2; i++)
            one(&sides[i], call->call, &d);
        if (!equal())
            return tell(number, call->name, &d);
    }
    printf("%lu calls: all the same\n", count);
    return 0;
}

/* ---- one side ---------------------------------------------------------------------------------
 */

static void on_alarm(int number)
{
}

/* Signals that restart nothing: reads of files are not broken off all the same. What may wait for
 * others is left in peace. */
static void one_with_alarms(const NamedCall *call, const Draws *d)
{
    sigset_t alarm;
    (void)sigemptyset(&alarm);
    (void)sigaddset(&alarm, SIGALRM);
    bool reads = strstr(call->name, "read") || strcmp(call->name, "vectors") == 0;
    (void)sigprocmask(reads ? SIG_UNBLOCK : SIG_BLOCK, &alarm, NULL);
    one(&sides[0], call->call, d);
    (void)sigprocmask(SIG_BLOCK, &alarm, NULL);
}

static int print(unsigned long count)
{
    const Side *s = &sides[0];
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval often = {{0, 500}, {0, 500}};
    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a crash loses nothing */
    for (unsigned long number = 0; number < count; number++) {
        Draws d;
        const NamedCall *call = draw_call(&d);
        one_with_alarms(call, &d);
        uint64_t sum = 14695981039346656037u;
        for (size_t i = 0; i < s->len; i++)
            sum = (sum ^ s->data[i]) * 1099511628211u;
        printf("%lu %s (%u %u %u %u %u %u): %ld %s, %zu bytes %016llx\n", number, call->name,
               d.n[0], d.n[1], d.n[2], d.n[3], d.n[4], d.n[5], s->result, strerror(s->error),
               s->len, (unsigned long long)sum);
    }
    return 0;
}

/* ---- ------------------------------------------------------------------------------------------
 */

/* Whether a file below @dir can be mapped so that stores reach it. */
static bool shares_mappings(int dir)
{
    int fd = openat(dir, "shared", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 1) < 0)
        abort();
    void *map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        (void)munmap(map, 1);
    (void)close(fd);
    (void)unlinkat(dir, "shared", 0);
    return map != MAP_FAILED;
}

static bool side_open(Side *s, const char *root, const char *behind)
{
    s->root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    s->behind = open(behind, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (unsigned k = 0; k < FDS; k++)
        s->fds[k] = -1;
    if (s->root < 0 || s->behind < 0)
        return false;
    same_make_files(s->behind);
    return true;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0)
        return same_child(argv[2]);
    if (argc != 4 && argc != 6)
        return 2;
    (void)umask(022);
    same_alone = argc == 4;
    if (!side_open(&sides[0], argv[same_alone ? 1 : 2], argv[1]) ||
        (!same_alone && !side_open(&sides[1], argv[3], argv[3])))
        return 2;
    same_shares = !same_alone && shares_mappings(sides[0].root);
    state = strtoull(argv[argc - 2], NULL, 10);
    unsigned long count = strtoul(argv[argc - 1], NULL, 10);
    return same_alone ? print(count) : compare(count);
}

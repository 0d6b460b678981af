/* SPDX-License-Identifier: MIT */
/* How long a message and its answer take, by UDP and as raw frames.
 * With Dodo installed: cc uping.c -o uping $(pkg-config --cflags --libs dodo-usocket)
 *
 *   ./uping serve any/7000%eth0 0.0.0.0:7000         on one host: answers at each address
 *   ./uping 02:00:00:00:00:01/7000%eth0 10.0.0.1:7000    on another
 *
 * Of several addresses the client takes the first by which it can send: raw frames need the helper,
 * dodo-socket(8); without it there is UDP. -n: how many messages, -s: of how many bytes. */
#include <dodo/usocket.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROOM = 65536, PATIENCE_MS = 200, WARM = 100, SILENT_MAX = 25 };

static unsigned char message[ROOM], reply[ROOM];

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Binds a socket to as many of the addresses as there are ways. */
static int bind_all(int s, char **texts, int count)
{
    macaddr_t good[DODO_U_ADDRS_MAX];
    char text[DODO_U_TEXT_MAX];
    int n = 0;
    for (int i = 0; i < count && n < DODO_U_ADDRS_MAX; i++) {
        int probe = u_socket(0, 0); /* is it to be bound? */
        good[n] = u_aton(texts[i]);
        if (good[n].kind != DODO_U_NONE && u_bind(probe, &good[n], 1) == 0)
            n++;
        else
            fprintf(stderr, "uping: %s\n", dodo_u_last_error());
        u_close(probe);
    }
    if (n == 0 || u_bind(s, good, n) < 0)
        return -1;
    for (int i = 0; i < n; i++)
        printf("uping: answers at %s\n", u_ntoa(good[i], text));
    fflush(stdout);
    return 0;
}

static int serve(char **texts, int count)
{
    int s = u_socket(0, 0);
    if (bind_all(s, texts, count) < 0) {
        fprintf(stderr, "uping: %s\n", dodo_u_last_error());
        return 1;
    }
    for (;;) {
        macaddr_t from;
        ssize_t n = u_recv(s, message, sizeof message, &from, -1);
        if (n < 0 && errno != ENETDOWN && errno != EMSGSIZE)
            break;
        if (n >= 0 && u_connect(s, from) == 0)
            u_send(s, message, (size_t)n); /* if it is lost, the client asks again */
    }
    fprintf(stderr, "uping: %s\n", dodo_u_last_error());
    return 1;
}

/* One message and its answer. Numbered: a late answer to an earlier one does not count. */
static int ping(int s, unsigned number, size_t size, double *ret_us)
{
    memcpy(message, &number, sizeof number);
    double began = now_us();
    if (u_send(s, message, size) < 0)
        return -1;
    ssize_t n;
    while ((n = u_recv(s, reply, sizeof reply, NULL, PATIENCE_MS)) >= 0)
        if ((size_t)n == size && memcmp(reply, message, size) == 0) {
            *ret_us = now_us() - began;
            return 0;
        }
    return errno == EAGAIN ? 1 : -1; /* 1: lost */
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int measure(int s, const char *to, unsigned count, size_t size)
{
    double *us = calloc(count, sizeof *us);
    unsigned got = 0, lost = 0, silent = 0; /* in a row */
    for (unsigned i = 0; us && i < count + WARM && silent < SILENT_MAX; i++) {
        double t = 0;
        int res = ping(s, i, size, &t);
        if (res < 0) {
            fprintf(stderr, "uping: %s\n", dodo_u_last_error());
            free(us);
            return 1;
        }
        lost += (unsigned)res;
        silent = res ? silent + 1 : 0;
        if (res == 0 && i >= WARM)
            us[got++] = t;
    }
    if (got == 0 || silent == SILENT_MAX) {
        fprintf(stderr, "uping: nobody answers\n");
        free(us);
        return 1;
    }
    qsort(us, got, sizeof *us, by_value);
    printf("%s: %u messages of %zu bytes: median %.1f us, 99 %% %.1f us, best %.1f us, %u lost\n",
           to, got, size, us[got / 2], us[(size_t)got * 99 / 100], us[0], lost);
    free(us);
    if (fflush(stdout) != 0) {
        perror("uping: cannot write to the standard output");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    unsigned long count = 10000, size = 64;
    int at = 1;
    if (argc > 2 && strcmp(argv[1], "serve") == 0)
        return serve(argv + 2, argc - 2);
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2)
        *(argv[at][1] == 's' ? &size : &count) = strtoul(argv[at + 1], NULL, 10);
    if (at >= argc || argv[at][0] == '-' || count < 1 || count > 100000000 ||
        size < sizeof(unsigned) || size > ROOM) {
        fprintf(stderr, "usage: uping serve ADDRESS...\n       uping [-n COUNT] [-s BYTES] "
                        "ADDRESS...\n");
        return 2;
    }
    for (; at < argc; at++) {
        int s = u_socket(0, 0);
        macaddr_t to = u_aton(argv[at]);
        if (to.kind != DODO_U_NONE && u_connect(s, to) == 0)
            return measure(s, argv[at], (unsigned)count, size);
        fprintf(stderr, "uping: %s\n", dodo_u_last_error());
        u_close(s);
    }
    return 1;
}

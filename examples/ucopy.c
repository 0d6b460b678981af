/* SPDX-License-Identifier: MIT */
/* Copies a file to another host, over messages that may get lost: by UDP or as raw frames.
 * With Dodo installed: cc ucopy.c -o ucopy $(pkg-config --cflags --libs dodo-usocket)
 *
 *   ./ucopy take any/7000%eth0 COPY                      on the host that gets it
 *   ./ucopy give 02:00:00:00:00:01/7000%eth0 FILE        on the host that has it
 *
 * The scheme: the giver numbers the blocks of the file and keeps at most WINDOW of them on the way.
 * The taker acknowledges each by its number. What is not acknowledged in time goes out again. A
 * random number names the transfer, so that late messages of another one do no harm. */
#include <dodo/usocket.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK_MAX = 8192, WINDOW = 32, AGAIN_MS = 20, PATIENCE_MS = 10000, LINGER_MS = 500 };

/* Before each block, and all of an acknowledgement. Numbers are big-endian. */
typedef struct Head {
    uint64_t transfer, number, size; /* of the transfer; of the block; of the file */
    uint32_t block, unused;          /* bytes of a block, of which the last may have fewer */
} Head;

static unsigned char data[BLOCK_MAX];
static const char *path; /* the file, or its copy */

static long long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int fail(const char *what)
{
    fprintf(stderr, "ucopy: %s\n", what);
    return 1;
}

static int fail_file(const char *what, const char *todo)
{
    fprintf(stderr, "ucopy: %s: %s: %s\n", path, what, todo);
    return 1;
}

static int fail_read(void)
{
    return fail_file(strerror(errno), "make sure that it is a file you may read");
}

static int fail_write(void)
{
    return fail_file(strerror(errno),
                     "make sure that it can be written, then start both sides again");
}

static int fail_output(void)
{
    perror("ucopy: cannot write to the standard output");
    return 1;
}

/* ---- the giver ------------------------------------------------------------------------------- */

static int send_block(int s, int fd, const Head *common, uint64_t number)
{
    Head h = *common;
    size_t block = be32toh(h.block);
    ssize_t n = pread(fd, data, block, (off_t)(number * block));
    if (n < 0)
        return -1;
    h.number = htobe64(number);
    struct iovec iov[2] = {{&h, sizeof h}, {data, (size_t)n}};
    u_send_iovec(s, iov, 2); /* if it fails, it is as good as lost */
    return 0;
}

static int give(int s, int fd, uint64_t size)
{
    ssize_t max = dodo_u_max(s);
    Head h = {.size = htobe64(size)};
    if (max < (ssize_t)sizeof h + 1 || getrandom(&h.transfer, sizeof h.transfer, 0) < 0)
        return fail_file("no message is large enough for a block", "use another interface");
    uint32_t block =
        max - (ssize_t)sizeof h < BLOCK_MAX ? (uint32_t)(max - (ssize_t)sizeof h) : BLOCK_MAX;
    uint64_t blocks = size ? (size + block - 1) / block : 1, first = 0, next = 0;
    long long sent_ms[WINDOW] = {0}, heard_ms = now_ms();
    unsigned char done[WINDOW] = {0};
    unsigned long long again = 0;
    h.block = htobe32(block);
    while (first < blocks) {
        for (; next < blocks && next < first + WINDOW; next++) {
            done[next % WINDOW] = 0;
            sent_ms[next % WINDOW] = now_ms();
            if (send_block(s, fd, &h, next) < 0)
                return fail_read();
        }
        Head ack;
        ssize_t n = u_recv(s, &ack, sizeof ack, NULL, AGAIN_MS);
        uint64_t number = n == sizeof ack ? be64toh(ack.number) : 0;
        if (n == sizeof ack && ack.transfer == h.transfer && number >= first && number < next) {
            done[number % WINDOW] = 1;
            heard_ms = now_ms();
        }
        for (; first < next && done[first % WINDOW]; first++) {
        }
        for (uint64_t i = first; i < next; i++)
            if (!done[i % WINDOW] && now_ms() - sent_ms[i % WINDOW] >= AGAIN_MS) {
                sent_ms[i % WINDOW] = now_ms();
                again++;
                if (send_block(s, fd, &h, i) < 0)
                    return fail_read();
            }
        if (now_ms() - heard_ms > PATIENCE_MS)
            return fail_file("nobody takes it",
                             "start the taker, then give the file to its address");
    }
    printf("ucopy: gave %llu bytes in %llu blocks, %llu sent again\n", (unsigned long long)size,
           (unsigned long long)blocks, again);
    return 0;
}

/* ---- the taker ------------------------------------------------------------------------------- */

typedef struct Taker {
    Head of; /* the transfer; that of the first block which came */
    uint64_t blocks, missing;
    unsigned char *have; /* a byte for each block */
} Taker;

/* Notes a block that came. 1: it belongs to the transfer, and is to be acknowledged. */
static int take_block(Taker *t, int fd, const Head *h, size_t len)
{
    uint64_t size = be64toh(h->size), number = be64toh(h->number), block = be32toh(h->block);
    if (block < 1 || block > BLOCK_MAX || size > INT64_MAX / 2)
        return 0;
    if (!t->have) {
        t->of = *h;
        t->missing = t->blocks = size ? (size + block - 1) / block : 1;
        t->have = calloc(t->blocks, 1);
    }
    if (!t->have || h->transfer != t->of.transfer || h->size != t->of.size ||
        h->block != t->of.block || number >= t->blocks)
        return 0;
    uint64_t left = size - number * block;
    if (len != (left < block ? left : block))
        return 0;
    if (t->have[number])
        return 1; /* our acknowledgement was lost */

    errno = ENOSPC; /* if only a part of it is written */
    if (pwrite(fd, data, len, (off_t)(number * block)) != (ssize_t)len)
        return -1;
    t->have[number] = 1;
    t->missing--;
    return 1;
}

static int take(int s, int fd)
{
    Taker t = {.missing = 1};
    int waits_ms = -1;
    for (;;) {
        Head h;
        struct iovec iov[2] = {{&h, sizeof h}, {data, sizeof data}};
        int iovc = 2;
        macaddr_t from;
        ssize_t n = u_recv_iovec(s, iov, &iovc, &from, waits_ms);
        if (n < 0 && errno == EAGAIN)
            break; /* all is here, and nobody asks any more; or the giver has gone */
        int res = n >= (ssize_t)sizeof h ? take_block(&t, fd, &h, (size_t)n - sizeof h) : 0;
        if (res < 0)
            return fail_write();
        if (res > 0 && u_connect(s, from) == 0)
            u_send(s, &h, sizeof h);
        if (t.have)
            waits_ms = t.missing ? PATIENCE_MS : LINGER_MS;
    }
    free(t.have);
    if (t.missing > 0)
        return fail_file("the copy is not complete, the giver is silent", "start both sides again");
    if (ftruncate(fd, (off_t)be64toh(t.of.size)) != 0 || fsync(fd) != 0)
        return fail_write();
    printf("ucopy: took %llu bytes\n", (unsigned long long)be64toh(t.of.size));
    return 0;
}

int main(int argc, char **argv)
{
    char text[DODO_U_TEXT_MAX];
    int taking = argc == 4 && strcmp(argv[1], "take") == 0;
    if (argc != 4 || (!taking && strcmp(argv[1], "give") != 0))
        return fail("usage: ucopy take ADDRESS COPY | ucopy give ADDRESS FILE") + 1;
    if (fcntl(1, F_GETFD) < 0 || fcntl(2, F_GETFD) < 0) /* the copy would get what is printed */
        return fail_output();
    int s = u_socket(1 << 20, 1 << 20);
    macaddr_t a = u_aton(argv[2]);
    if (a.kind == DODO_U_NONE || (taking ? u_bind(s, &a, 1) : u_connect(s, a)) < 0)
        return fail(dodo_u_last_error());
    path = argv[3];
    int fd = open(path, taking ? O_RDWR | O_CREAT : O_RDONLY, 0666);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0)
        return taking ? fail_write() : fail_read();
    if (taking && (printf("ucopy: takes at %s\n", u_ntoa(a, text)) < 0 || fflush(stdout) != 0))
        return fail_output();
    int status = taking ? take(s, fd) : give(s, fd, (uint64_t)st.st_size);
    u_close(s);
    if (close(fd) != 0)
        return fail_write();
    return fflush(stdout) == 0 ? status : fail_output();
}

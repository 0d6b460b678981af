/* SPDX-License-Identifier: MIT */
/* dmine-generate: a file of retail-like transactions, made as it is written. */
#include "examples/dmine_generate.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/printable.h"
#include "examples/progress.h"

enum { WRITE_BYTES = 1 << 20 };

/* What is to be written, WRITE_BYTES at a time. */
typedef struct Output {
    int fd;
    uint8_t *bytes;
    size_t len;
} Output;

static int output_flush(Output *out)
{
    for (size_t at = 0; at < out->len;) {
        ssize_t n = write(out->fd, out->bytes + at, out->len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        at += (size_t)n;
    }
    out->len = 0;
    return 0;
}

/* Writes all transactions. @out has room for WRITE_BYTES and one transaction more. */
static int write_transactions(const GenerateOptions *o, Quest *q, Output *out)
{
    Progress progress = {.on = o->progress};
    if (o->format == TRANSACTIONS_BINARY) {
        transactions_header(o->transactions, out->bytes);
        out->len = TRANSACTIONS_HEADER_BYTES;
    }
    for (uint64_t i = 0; i < o->transactions; i++) {
        const uint32_t *items;
        size_t count = quest_next(q, &items);
        out->len += transaction_write(o->format, items, count, out->bytes + out->len);
        int r = out->len >= WRITE_BYTES ? output_flush(out) : 0;
        if (r < 0)
            return r;
        if (i % 1024 == 0)
            progress_show(&progress, i, o->transactions, "transactions");
    }
    progress_show(&progress, o->transactions, o->transactions, "transactions");
    int r = output_flush(out);
    if (r < 0)
        return r;
    /* On the disk, where it is a file: then nothing changes it later. */
    return fsync(out->fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -errno;
}

static int generate(const GenerateOptions *o)
{
    int fd CLEANUP_CLOSE = -1;
    uint8_t *bytes CLEANUP_FREE = NULL;
    Quest q;
    int r = quest_init(&q, &o->quest);
    if (r == 0) {
        bytes = malloc(WRITE_BYTES + quest_items_max(&q) * TRANSACTION_BYTES_MAX_PER_ITEM +
                       TRANSACTION_BYTES_MAX_BESIDE);
        r = bytes ? 0 : -ENOMEM;
    }
    if (r == 0) {
        fd = open(o->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        r = fd < 0 ? -errno : 0;
    }
    if (r == 0) {
        Output out = {.fd = fd, .bytes = bytes};
        r = write_transactions(o, &q, &out);
    }
    quest_free(&q);
    return r;
}

int main(int argc, char **argv)
{
    GenerateOptions options;
    int status;
    os_keep_standard();
    if (generate_options_parse(&options, argc, argv, &status) != 0)
        return status;
    int r = generate(&options);
    char shown[256];
    if (r < 0)
        fprintf(stderr, "dmine-generate: making %s: %s\n",
                printable_short(options.output, shown, sizeof shown), strerror(-r));
    return r < 0;
}

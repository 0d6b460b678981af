/* SPDX-License-Identifier: MIT */
#include "bench/policies_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hmap.h"
#include "base/id.h"
#include "base/parse.h"

typedef struct Block {
    HmapNode node;
    uint64_t number;
    uint32_t piece;
} Block;

typedef struct Reader {
    Hmap blocks;
    uint32_t *at;
    size_t len, cap;
} Reader;

static Block *find(const Reader *r, uint64_t number)
{
    for (HmapNode *n = hmap_first(&r->blocks, mix64(number)); n; n = hmap_next(&r->blocks, n))
        if (((Block *)n)->number == number)
            return (Block *)n;
    return NULL;
}

static int add(Reader *r, uint64_t number)
{
    Block *b = find(r, number);
    if (r->len == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 4096;
        uint32_t *at = reallocarray(r->at, cap, sizeof *at);
        if (!at)
            return -ENOMEM;
        r->at = at;
        r->cap = cap;
    }
    if (!b) {
        if (r->blocks.count > UINT32_MAX - 1)
            return -EOVERFLOW;
        if (!(b = malloc(sizeof *b)))
            return -ENOMEM;
        b->number = number;
        b->piece = (uint32_t)r->blocks.count;
        hmap_insert(&r->blocks, &b->node, mix64(number));
    }
    r->at[r->len++] = b->piece;
    return 0;
}

static int read_lines(Reader *r, FILE *f, const char *path)
{
    CLEANUP_FREE char *line = NULL;
    size_t cap = 0;
    for (size_t number = 1; getline(&line, &cap, f) >= 0; number++) {
        uint64_t block;
        line[strcspn(line, " \t\r\n")] = '\0';
        if (parse_u64(line, 0, UINT64_MAX, &block) < 0) {
            fprintf(stderr, "policies: %s:%zu: '%.40s' is no block number\n", path, number, line);
            return -1;
        }
        int ret = add(r, block);
        if (ret < 0) {
            fprintf(stderr, "policies: %s:%zu: %s\n", path, number, strerror(-ret));
            return -1;
        }
    }
    if (!ferror(f))
        return 0;
    fprintf(stderr, "policies: %s: %s\n", path, strerror(errno));
    return -1;
}

static void forget_blocks(Reader *r)
{
    for (HmapNode *n = hmap_walk(&r->blocks, NULL), *after; n; n = after) {
        after = hmap_walk(&r->blocks, n);
        free(n);
    }
    hmap_deinit(&r->blocks);
}

int policy_trace_read(const char *path, PolicyTrace *ret, uint32_t **ret_at)
{
    Reader r = {0};
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!f || hmap_init(&r.blocks, 0) < 0) {
        fprintf(stderr, "policies: %s: %s\n", path, strerror(f ? ENOMEM : errno));
        if (f && f != stdin)
            fclose(f);
        return -1;
    }
    int status = read_lines(&r, f, path);
    if (f != stdin)
        fclose(f);
    *ret = (PolicyTrace){r.at, r.len, (uint32_t)r.blocks.count};
    *ret_at = r.at;
    forget_blocks(&r);
    if (status < 0) {
        free(r.at);
        *ret_at = NULL;
    }
    return status;
}

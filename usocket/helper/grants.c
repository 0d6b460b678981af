/* SPDX-License-Identifier: MIT */
#include "usocket/helper/grants.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_taken(const Grants *g, uint32_t interface, uint16_t port)
{
    for (unsigned i = 0; i < g->count; i++)
        if (g->list[i].interface == interface && g->list[i].port == port)
            return true;
    return false;
}

static unsigned count_of(const Grants *g, uint32_t uid)
{
    unsigned n = 0;
    for (unsigned i = 0; i < g->count; i++)
        n += g->list[i].uid == uid;
    return n;
}

int grants_pick(const Grants *g, const Grant *wanted, uint16_t random, uint16_t *ret_port)
{
    enum { FREE = UINT16_MAX - GRANTS_FREE_FROM + 1 };
    uint16_t port = wanted->port;

    if (g->count == GRANTS_MAX)
        return -ENOBUFS;
    if (count_of(g, wanted->uid) >= GRANTS_USER_MAX)
        return -EDQUOT;
    for (unsigned i = 0; wanted->port == 0 && i < FREE; i++) {
        port = (uint16_t)(GRANTS_FREE_FROM + (random + i) % FREE);
        if (!is_taken(g, wanted->interface, port))
            break;
    }
    if (is_taken(g, wanted->interface, port))
        return -EADDRINUSE;
    *ret_port = port;
    return 0;
}

void grants_add(Grants *g, const Grant *grant)
{
    if (g->count < GRANTS_MAX)
        g->list[g->count++] = *grant;
}

/* ---- which sockets there are ----------------------------------------------------------------- */

/* The inode is the last number of a line; the first line has none. */
static bool line_inode(const char *line, size_t len, uint64_t *ret)
{
    while (len > 0 && line[len - 1] == ' ')
        len--;
    size_t from = len;
    while (from > 0 && line[from - 1] >= '0' && line[from - 1] <= '9')
        from--;
    if (from == len || from == 0 || line[from - 1] != ' ')
        return false;
    *ret = strtoull(line + from, NULL, 10);
    return true;
}

/* That of the next line that has one. False: there is none. */
static bool next_inode(const char **at, uint64_t *ret)
{
    while (**at) {
        const char *line = *at;
        size_t n = strcspn(line, "\n");
        *at = line + n + (line[n] == '\n');
        if (line_inode(line, n, ret))
            return true;
    }
    return false;
}

static bool is_listed(const char *list, uint64_t inode)
{
    uint64_t found;
    while (next_inode(&list, &found))
        if (found == inode)
            return true;
    return false;
}

bool grants_list_is_whole(const char *list, const char *later)
{
    uint64_t inode, found;
    while (next_inode(&list, &inode)) {
        do
            if (!next_inode(&later, &found))
                return false;
        while (found != inode);
    }
    return true;
}

void grants_keep_listed(Grants *g, const char *list)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < g->count; i++)
        if (is_listed(list, g->list[i].inode))
            g->list[kept++] = g->list[i];
    g->count = kept;
}

/* ---- as text --------------------------------------------------------------------------------- */

size_t grants_format(const Grants *g, char *buf, size_t cap)
{
    size_t n = 0;
    if (cap)
        buf[0] = '\0';
    for (unsigned i = 0; i < g->count && n + GRANTS_LINE_MAX < cap; i++) {
        const Grant *t = &g->list[i];
        n += (size_t)snprintf(buf + n, cap - n, "%" PRIu32 " %u %" PRIu32 " %" PRIu64 "\n",
                              t->interface, t->port, t->uid, t->inode);
    }
    return n;
}

/* A number, and what ends it. False: there is none, or a larger one than @max. */
static bool take_number(const char **at, char end, uint64_t max, uint64_t *ret)
{
    char *after;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *ret = strtoull(*at, &after, 10);
    if (errno || *after != end || *ret > max)
        return false;
    *at = after + 1;
    return true;
}

static bool take_line(const char **at, Grant *ret)
{
    uint64_t interface, port, uid, inode;
    if (!take_number(at, ' ', UINT32_MAX, &interface) || !take_number(at, ' ', UINT16_MAX, &port) ||
        !take_number(at, ' ', UINT32_MAX, &uid) || !take_number(at, '\n', UINT64_MAX, &inode))
        return false;
    *ret = (Grant){inode, (uint32_t)interface, (uint32_t)uid, (uint16_t)port};
    return port != 0;
}

int grants_parse(const char *text, Grants *ret)
{
    Grant grant;
    ret->count = 0;
    while (*text) {
        if (ret->count == GRANTS_MAX || !take_line(&text, &grant)) {
            ret->count = 0;
            return -EINVAL;
        }
        grants_add(ret, &grant);
    }
    return 0;
}

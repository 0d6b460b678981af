/* SPDX-License-Identifier: MIT */
/* Which ports of which interfaces have been given to whom. A port is in use as long as the socket
 * that was given lives, wherever it went: the kernel's list of such sockets says so, by the number
 * that each has (its inode). Pure. */
#ifndef DODO_USOCKET_HELPER_GRANTS_H
#define DODO_USOCKET_HELPER_GRANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GRANTS_MAX = 1024,         /* sockets of all users */
    GRANTS_USER_MAX = 64,      /* sockets of a user */
    GRANTS_FREE_FROM = 0x8000, /* ports for those who ask for any, up to the last */
    GRANTS_LINE_MAX = 64,      /* of the text below */
    GRANTS_TEXT_MAX = GRANTS_MAX * GRANTS_LINE_MAX + 1
};

typedef struct Grant {
    uint64_t inode;
    uint32_t interface;
    uint32_t uid;
    uint16_t port;
} Grant;

typedef struct Grants {
    unsigned count;
    Grant list[GRANTS_MAX];
} Grants;

/* The port for a request; @port 0: any free one, from a place that @random says. 0; -EADDRINUSE:
 * another socket has it, or there is none left; -EDQUOT: the user has enough; -ENOBUFS: the helper
 * has given all that it gives. */
int grants_pick(const Grants *g, const Grant *wanted, uint16_t random, uint16_t *ret_port);
/* What grants_pick() found room for. */
void grants_add(Grants *g, const Grant *grant);
/* Forgets those whose sockets are not in the list any more. @list: /proc/net/packet, whole. */
void grants_keep_listed(Grants *g, const char *list);
/* Whether no socket is missing from @list, for @later was read after it. The kernel gives its list
 * in pieces, and counts how far it has come: when a socket goes that it has listed, it leaves out
 * one that lives. But then @later does not have the one that went. */
bool grants_list_is_whole(const char *list, const char *later);

/* For the helper's next start: a line for each, "INTERFACE PORT UID INODE". Its length. */
size_t grants_format(const Grants *g, char *buf, size_t cap);
/* 0; -EINVAL: not such a text; then *ret is empty. */
int grants_parse(const char *text, Grants *ret);

#endif

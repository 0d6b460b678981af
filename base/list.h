/* SPDX-License-Identifier: MIT */
/* Intrusive doubly linked circular list. The head is a node too; a node alone points at itself. */
#ifndef DODO_BASE_LIST_H
#define DODO_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct ListNode {
    struct ListNode *prev, *next;
} ListNode;

#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(ListNode *n)
{
    n->prev = n->next = n;
}
static inline bool list_empty(const ListNode *head)
{
    return head->next == head;
}
static inline void list_insert_before(ListNode *at, ListNode *n)
{
    n->prev = at->prev;
    n->next = at;
    at->prev->next = n;
    at->prev = n;
}
static inline void list_push_back(ListNode *head, ListNode *n)
{
    list_insert_before(head, n);
}
static inline void list_push_front(ListNode *head, ListNode *n)
{
    list_insert_before(head->next, n);
}
/* Safe on a node that is alone; the node is alone afterwards. */
static inline void list_remove(ListNode *n)
{
    n->prev->next = n->next;
    n->next->prev = n->prev;
    list_init(n);
}

/* @pos may be removed inside the loop. */
#define LIST_FOREACH(pos, head)                                                \
    for (ListNode *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
         pos = pos##_next, pos##_next = pos->next)

#endif

/* SPDX-License-Identifier: MIT */
#include "libdodo/order.h"

#include <limits.h>

#include "proto/wire.h"

void order_init(Order *o)
{
    *o = (Order){0};
    list_init(&o->under_way);
}

static bool overlap(const Ordered *a, const Ordered *b)
{
    return a->first_block < b->end_block && b->first_block < a->end_block;
}

/* A region is named by one descriptor: no other one has its bytes while it can be written. */
static bool must_follow(const Ordered *later, const Ordered *earlier)
{
    if (later->rd != earlier->rd || earlier->kind == ORDER_SYNC)
        return false;
    if (later->kind == ORDER_SYNC)
        return earlier->kind == ORDER_WRITE;
    return (later->kind == ORDER_WRITE || earlier->kind == ORDER_WRITE) && overlap(later, earlier);
}

static bool must_wait(const Order *o, const Ordered *x)
{
    if (o->writes == 0)
        return false; /* mostly so */
    LIST_FOREACH(node, &o->under_way) {
        const Ordered *earlier = CONTAINER_OF(node, Ordered, link);
        if (earlier == x)
            return false;
        if (must_follow(x, earlier))
            return true;
    }
    return false;
}

bool order_enter(Order *o, Ordered *x, enum OrderKind kind, int rd, off_t offset, size_t len)
{
    *x = (Ordered){.kind = kind, .rd = rd};
    if (offset >= 0 && len > 0 && len <= SSIZE_MAX) {
        x->first_block = (uint64_t)offset / WIRE_BLOCK_SIZE;
        x->end_block = ((uint64_t)offset + len - 1) / WIRE_BLOCK_SIZE + 1;
    }
    list_push_back(&o->under_way, &x->link);
    o->writes += kind == ORDER_WRITE;
    x->held = must_wait(o, x);
    o->held += x->held;
    return x->held;
}

static void release(Order *o, Ordered *x)
{
    o->held -= x->held;
    x->held = false;
}

void order_leave(Order *o, Ordered *x)
{
    list_remove(&x->link);
    o->writes -= x->kind == ORDER_WRITE;
    release(o, x);
}

Ordered *order_next(Order *o)
{
    if (o->held == 0)
        return NULL;
    LIST_FOREACH(node, &o->under_way) {
        Ordered *x = CONTAINER_OF(node, Ordered, link);
        if (!x->held || must_wait(o, x))
            continue;
        release(o, x);
        return x;
    }
    return NULL;
}

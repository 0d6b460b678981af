/* SPDX-License-Identifier: MIT */
/* First fit over a treap of all ranges, free and taken, ordered by address. Each node knows the
 * largest free range below it, so that one descent finds the lowest fitting address, and ten
 * thousand tiny regions stay quick. A freed range is merged with its neighbours immediately,
 * instead of in the paper's periodic pass (4.2): nothing is ever left to coalesce. */
#include "imd/pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/id.h"
#include "base/num.h"

typedef struct Range {
    struct Range *left, *right; /* the treap, by offset */
    struct Range *prev, *next;  /* neighbours by address */
    uint64_t offset, len;
    uint64_t max_free; /* the largest free range in this subtree */
    uint64_t priority; /* no child's is larger; made from the offset alone: runs twice alike */
    bool taken;
} Range;

struct Pool {
    Range *root;
    Range *first;
    uint64_t bytes;
    uint64_t free_bytes;
    size_t taken;
};

/* ---- the treap ------------------------------------------------------------------------------ */

static uint64_t max_free_of(const Range *n)
{
    return n ? n->max_free : 0;
}

static void range_update(Range *n)
{
    uint64_t below = max_u64(max_free_of(n->left), max_free_of(n->right));
    n->max_free = max_u64(n->taken ? 0 : n->len, below);
}

static Range *range_new(uint64_t offset, uint64_t len)
{
    Range *n = malloc(sizeof *n);
    if (!n)
        return NULL;
    *n = (Range){
        .offset = offset, .len = len, .max_free = len, .priority = mix64(offset / POOL_ALIGN + 1)};
    return n;
}

static Range *rotate_right(Range *n)
{
    Range *up = n->left;
    n->left = up->right;
    up->right = n;
    range_update(n);
    range_update(up);
    return up;
}

static Range *rotate_left(Range *n)
{
    Range *up = n->right;
    n->right = up->left;
    up->left = n;
    range_update(n);
    range_update(up);
    return up;
}

/* All of these return the subtree's new root. */
static Range *tree_insert(Range *n, Range *x)
{
    if (!n)
        return x;
    if (x->offset < n->offset) {
        n->left = tree_insert(n->left, x);
        if (n->left->priority > n->priority)
            return rotate_right(n);
    } else {
        n->right = tree_insert(n->right, x);
        if (n->right->priority > n->priority)
            return rotate_left(n);
    }
    range_update(n);
    return n;
}

/* Every offset in @a is below every offset in @b. */
static Range *tree_join(Range *a, Range *b)
{
    if (!a)
        return b;
    if (!b)
        return a;
    if (a->priority > b->priority) {
        a->right = tree_join(a->right, b);
        range_update(a);
        return a;
    }
    b->left = tree_join(a, b->left);
    range_update(b);
    return b;
}

static Range *tree_remove(Range *n, const Range *x)
{
    if (n == x)
        return tree_join(n->left, n->right);
    if (x->offset < n->offset)
        n->left = tree_remove(n->left, x);
    else
        n->right = tree_remove(n->right, x);
    range_update(n);
    return n;
}

/* @x changed: brings the sums on the way to it up to date. */
static void tree_refresh(Range *n, const Range *x)
{
    if (n != x)
        tree_refresh(x->offset < n->offset ? n->left : n->right, x);
    range_update(n);
}

static Range *tree_find(Range *n, uint64_t offset)
{
    while (n && n->offset != offset)
        n = offset < n->offset ? n->left : n->right;
    return n;
}

/* The free range of @len bytes or more at the lowest address; the tree has one. */
static Range *tree_first_fit(Range *n, uint64_t len)
{
    for (;;) {
        if (max_free_of(n->left) >= len)
            n = n->left;
        else if (!n->taken && n->len >= len)
            return n;
        else
            n = n->right;
    }
}

/* ---- taking and giving ---------------------------------------------------------------------- */

Pool *pool_new(uint64_t bytes)
{
    Pool *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->bytes = p->free_bytes = bytes / POOL_ALIGN * POOL_ALIGN;
    if (p->bytes > 0) {
        p->root = p->first = range_new(0, p->bytes);
        if (!p->root)
            return pool_free(p);
    }
    return p;
}

Pool *pool_free(Pool *p)
{
    if (!p)
        return NULL;
    Range *next;
    for (Range *n = p->first; n; n = next) {
        next = n->next;
        free(n);
    }
    free(p);
    return NULL;
}

static void link_after(Range *n, Range *x)
{
    x->prev = n;
    x->next = n->next;
    if (n->next)
        n->next->prev = x;
    n->next = x;
}

/* Cuts the range to @len bytes, the rest becomes a free range of its own. */
static int range_split(Pool *p, Range *n, uint64_t len)
{
    if (n->len == len)
        return 0;
    Range *rest = range_new(n->offset + len, n->len - len);
    if (!rest)
        return -ENOMEM;
    n->len = len;
    link_after(n, rest);
    p->root = tree_insert(p->root, rest);
    return 0;
}

int pool_take(Pool *p, uint64_t len, uint64_t *ret_offset)
{
    if (len > p->bytes)
        return POOL_E_FULL;
    uint64_t need = len == 0 ? POOL_ALIGN : (len + POOL_ALIGN - 1) / POOL_ALIGN * POOL_ALIGN;
    if (max_free_of(p->root) < need)
        return POOL_E_FULL;
    Range *n = tree_first_fit(p->root, need);
    int r = range_split(p, n, need);
    if (r < 0)
        return r;
    n->taken = true;
    tree_refresh(p->root, n);
    p->taken++;
    p->free_bytes -= need;
    *ret_offset = n->offset;
    return 0;
}

/* Takes in the next range; both are free. */
static void range_absorb_next(Pool *p, Range *n)
{
    Range *gone = n->next;
    p->root = tree_remove(p->root, gone);
    n->len += gone->len;
    n->next = gone->next;
    if (n->next)
        n->next->prev = n;
    free(gone);
}

void pool_give(Pool *p, uint64_t offset)
{
    Range *n = tree_find(p->root, offset);
    assert(n && n->taken);
    if (!n || !n->taken)
        return; /* without assertions: better to lose a range than to give one out twice */
    n->taken = false;
    p->taken--;
    p->free_bytes += n->len;
    if (n->next && !n->next->taken)
        range_absorb_next(p, n);
    if (n->prev && !n->prev->taken) {
        n = n->prev;
        range_absorb_next(p, n);
    }
    tree_refresh(p->root, n);
}

uint64_t pool_bytes(const Pool *p)
{
    return p->bytes;
}

uint64_t pool_free_bytes(const Pool *p)
{
    return p->free_bytes;
}

uint64_t pool_largest_free(const Pool *p)
{
    return max_free_of(p->root);
}

size_t pool_ranges(const Pool *p)
{
    return p->taken;
}

/* ---- invariants ----------------------------------------------------------------------------- */

/* The subtree is just the ranges from *at on, in their order; heap and sums hold. */
static bool tree_check(const Range *n, const Range **at)
{
    if (!n)
        return true;
    if (!tree_check(n->left, at) || *at != n)
        return false;
    *at = n->next;
    uint64_t below = max_u64(max_free_of(n->left), max_free_of(n->right));
    if (n->max_free != max_u64(n->taken ? 0 : n->len, below))
        return false;
    if ((n->left && n->left->priority > n->priority) ||
        (n->right && n->right->priority > n->priority))
        return false;
    return tree_check(n->right, at);
}

bool pool_check(const Pool *p)
{
    uint64_t end = 0, free_bytes = 0;
    size_t taken = 0;
    for (const Range *n = p->first; n; n = n->next) {
        if (n->offset != end || n->len == 0 || n->len % POOL_ALIGN != 0)
            return false;
        if (n->next && (n->next->prev != n || (!n->taken && !n->next->taken)))
            return false;
        end += n->len;
        if (n->taken)
            taken++;
        else
            free_bytes += n->len;
    }
    const Range *at = p->first;
    return end == p->bytes && free_bytes == p->free_bytes && taken == p->taken &&
           tree_check(p->root, &at) && at == NULL;
}

/* SPDX-License-Identifier: MIT */
/* The hash map, beside a plain array that knows what must be in it; also when it cannot grow. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The map's own memory, so that growing can be made to fail. What it does not set is not zero. */
static bool no_memory;
static void *calloc_or_fail(size_t n, size_t size)
{
    return no_memory ? NULL : calloc(n, size);
}
static void *malloc_or_fail(size_t size)
{
    void *p = no_memory ? NULL : malloc(size);
    return p ? memset(p, 0xa5, size) : NULL;
}
#define calloc calloc_or_fail
#define malloc malloc_or_fail
#include "base/hmap.c"

#include "base/list.h"
#include "tests/lib/case.h"

enum { ITEMS = 2000 };

typedef struct Item {
    HmapNode node;
    unsigned key;
    bool present;
    bool walked;
} Item;

static Item *item_of(const HmapNode *node)
{
    return CONTAINER_OF(node, Item, node);
}

static Item *find(const Hmap *m, uint64_t hash, unsigned key)
{
    for (HmapNode *n = hmap_first(m, hash); n; n = hmap_next(m, n))
        if (item_of(n)->key == key)
            return item_of(n);
    return NULL;
}

/* Some keys share a hash, as keys may. */
static uint64_t hash_of(unsigned key)
{
    return key % 1500;
}

static void check_same(const Hmap *m, Item *items, size_t count)
{
    size_t present = 0, walked = 0;
    for (unsigned i = 0; i < count; i++) {
        present += items[i].present;
        items[i].walked = false;
        assert_ptr_equal(find(m, hash_of(i), i), items[i].present ? &items[i] : NULL);
    }
    for (HmapNode *n = hmap_walk(m, NULL); n; n = hmap_walk(m, n)) {
        assert_true(item_of(n)->present && !item_of(n)->walked);
        item_of(n)->walked = true;
        walked++;
    }
    assert_int_equal(m->count, present);
    assert_int_equal(walked, present);
}

static void churn(Hmap *m, Item *items, unsigned steps, unsigned check_every)
{
    uint64_t x = 42;
    for (unsigned i = 0; i < steps; i++) {
        x = mix64(x + i + 1);
        Item *item = &items[x % ITEMS];
        if (item->present)
            assert_true(hmap_remove(m, &item->node));
        else
            hmap_insert(m, &item->node, hash_of(item->key));
        item->present = !item->present;
        if (i % check_every == 0)
            check_same(m, items, ITEMS);
    }
    check_same(m, items, ITEMS);
}

static Item *items_new(void)
{
    Item *items = calloc(ITEMS, sizeof *items);
    assert_non_null(items);
    for (unsigned i = 0; i < ITEMS; i++)
        items[i].key = i;
    return items;
}

TEST(hmap__empty)
{
    Hmap m;
    assert_int_equal(hmap_init(&m, 0), 0);
    assert_null(hmap_first(&m, 0));
    assert_null(hmap_walk(&m, NULL));
    assert_int_equal(m.count, 0);
    hmap_deinit(&m);
    assert_null(hmap_first(&m, 0)); /* deinitialized it is empty, not gone */
    assert_null(hmap_walk(&m, NULL));
}

TEST(hmap__holds_what_was_put_in)
{
    Item *items = items_new();
    Hmap m;
    assert_int_equal(hmap_init(&m, 0x1234567890abcdef), 0);
    churn(&m, items, 20000, 1000);
    assert_true(hmap_buckets(&m) >= m.count); /* it grew */
    hmap_deinit(&m);
    free(items);
}

TEST(hmap__equal_hashes_are_all_found)
{
    Item items[5] = {{.key = 0}, {.key = 1}, {.key = 2}, {.key = 3}, {.key = 4}};
    Hmap m;
    assert_int_equal(hmap_init(&m, 7), 0);
    for (unsigned i = 0; i < 4; i++)
        hmap_insert(&m, &items[i].node, 99);
    hmap_insert(&m, &items[4].node, 100);
    unsigned seen = 0;
    for (HmapNode *n = hmap_first(&m, 99); n; n = hmap_next(&m, n))
        seen |= 1u << item_of(n)->key;
    assert_int_equal(seen, 0xf);
    assert_true(hmap_remove(&m, &items[1].node));
    assert_null(find(&m, 99, 1));
    assert_non_null(find(&m, 99, 0));
    assert_non_null(find(&m, 99, 3));
    hmap_deinit(&m);
}

TEST(hmap_remove__tells_whether_it_was_there)
{
    Item a = {.key = 1}, b = {.key = 2};
    Hmap m;
    assert_int_equal(hmap_init(&m, 0), 0);
    hmap_insert(&m, &a.node, 5);
    b.node.hash = 5;
    assert_false(hmap_remove(&m, &b.node));
    assert_int_equal(m.count, 1);
    assert_true(hmap_remove(&m, &a.node));
    assert_false(hmap_remove(&m, &a.node));
    assert_int_equal(m.count, 0);
    hmap_deinit(&m);
}

TEST(hmap_walk__next_fetched_first_allows_removal)
{
    Item *items = items_new();
    Hmap m;
    assert_int_equal(hmap_init(&m, 3), 0);
    for (unsigned i = 0; i < ITEMS; i++)
        hmap_insert(&m, &items[i].node, hash_of(i));
    unsigned removed = 0;
    for (HmapNode *n = hmap_walk(&m, NULL), *next; n; n = next) {
        next = hmap_walk(&m, n);
        if (item_of(n)->key % 3 == 0)
            removed += hmap_remove(&m, n);
    }
    assert_int_equal(removed, (ITEMS + 2) / 3);
    for (unsigned i = 0; i < ITEMS; i++)
        items[i].present = i % 3 != 0;
    check_same(&m, items, ITEMS);
    hmap_deinit(&m);
    free(items);
}

TEST(hmap__without_memory_is_only_slower)
{
    Item *items = items_new();
    Hmap m;
    no_memory = true;
    assert_int_equal(hmap_init(&m, 0), -ENOMEM);
    no_memory = false;
    assert_int_equal(hmap_init(&m, 0), 0);
    size_t buckets = hmap_buckets(&m);
    no_memory = true;
    churn(&m, items, 3000, 500);
    assert_int_equal(hmap_buckets(&m), buckets);
    no_memory = false;
    churn(&m, items, 3000, 500); /* with memory again it grows */
    assert_true(hmap_buckets(&m) > buckets);
    hmap_deinit(&m);
    free(items);
}

/* No insertion moves more than two buckets' nodes, there are as many buckets as nodes, and none is
 * forgotten on the way. */
TEST(hmap__grows_a_little_at_a_time)
{
    enum { MANY = 300000 };
    Item *items = calloc(MANY, sizeof *items);
    Hmap m;
    assert_non_null(items);
    assert_int_equal(hmap_init(&m, 77), 0);
    size_t longest = 0;
    for (unsigned i = 0; i < MANY; i++) {
        size_t before = hmap_buckets(&m);
        items[i].key = i;
        hmap_insert(&m, &items[i].node, i);
        assert_true(hmap_buckets(&m) - before <= HMAP_SPLITS_MAX);
        assert_true(hmap_buckets(&m) >= m.count);
        assert_true(hmap_bytes(&m) <= 2 * sizeof(HmapNode *) * (m.count + HMAP_BUCKETS_MIN));
    }
    for (unsigned i = 0; i < MANY; i++)
        assert_ptr_equal(find(&m, i, i), &items[i]);
    for (size_t i = 0; i < hmap_buckets(&m); i++) {
        size_t len = 0;
        for (HmapNode *n = *bucket_at(&m, i); n; n = n->next)
            len++;
        longest = len > longest ? len : longest;
    }
    assert_true(longest <= 16);
    hmap_deinit(&m);
    free(items);
}

/* With a seed that a peer does not know, chosen hashes do not share a bucket. */
TEST(hmap__seed_decides_the_bucket)
{
    Hmap a = {.mask = 255, .seed = 1}, b = {.mask = 255, .seed = 2};
    unsigned same = 0;
    for (uint64_t h = 0; h < 1000; h++)
        same += bucket_of(&a, h) == bucket_of(&b, h);
    assert_true(same < 50);
}

/* ---- scanning -------------------------------------------------------------------------------- */

/* Up to @most nodes from *@place on; each that is seen is marked, and was not before. */
static unsigned scan(const Hmap *m, uint64_t *place, unsigned most)
{
    unsigned seen = 0, looks = 1000000;
    for (HmapNode *n; seen < most && (n = hmap_scan(m, place, &looks)) != NULL; seen++) {
        assert_true(*place > 0 && !item_of(n)->walked);
        item_of(n)->walked = true;
    }
    return seen;
}

TEST(hmap_scan__sees_each_once)
{
    Item *items = items_new();
    uint64_t place = 0;
    unsigned looks = 1;
    Hmap m;
    assert_int_equal(hmap_init(&m, 9), 0);
    assert_int_equal(scan(&m, &place, 1), 0);
    assert_int_equal(place, 0);
    for (unsigned i = 0; i < ITEMS; i++)
        hmap_insert(&m, &items[i].node, i);
    assert_int_equal(scan(&m, &place, ITEMS + 1), ITEMS);
    assert_int_equal(place, 0);
    place = UINT64_MAX; /* what no scan has returned is an end, too */
    assert_null(hmap_scan(&m, &place, &looks));
    assert_int_equal(place, 0);
    hmap_deinit(&m);
    assert_null(hmap_scan(&m, &place, &looks));
    free(items);
}

/* Those that are there all the time are seen once each, whatever else comes and goes and however
 * the map grows meanwhile. */
TEST(hmap_scan__others_come_and_go)
{
    Item *items = items_new();
    uint64_t place = 0;
    unsigned stayed = 0, next = 100;
    Hmap m;
    assert_int_equal(hmap_init(&m, 5), 0);
    for (unsigned i = 0; i < 200; i++)
        hmap_insert(&m, &items[i].node, i);
    do {
        (void)scan(&m, &place, 3);
        if (next < 200)
            assert_true(hmap_remove(&m, &items[next].node));
        for (unsigned i = 0; i < 15 && next + 100 + 15 * (next - 100) + i < ITEMS; i++) {
            const unsigned at = next + 100 + 15 * (next - 100) + i;
            if (at >= 200 && !items[at].present) {
                items[at].present = true;
                hmap_insert(&m, &items[at].node, at);
            }
        }
        next++;
    } while (place != 0);
    assert_true(hmap_buckets(&m) > 1000); /* it grew on the way */
    for (unsigned i = 0; i < 100; i++)
        stayed += items[i].walked;
    assert_int_equal(stayed, 100);
    hmap_deinit(&m);
    free(items);
}

/* No call costs more than it may, though the map was large once and is nearly empty. */
TEST(hmap_scan__goes_on_after_its_looks)
{
    Item *items = items_new();
    uint64_t place = 0;
    unsigned calls = 0, seen = 0;
    Hmap m;
    assert_int_equal(hmap_init(&m, 11), 0);
    for (unsigned i = 0; i < ITEMS; i++)
        hmap_insert(&m, &items[i].node, i);
    for (unsigned i = 2; i < ITEMS; i++)
        assert_true(hmap_remove(&m, &items[i].node));
    do {
        unsigned looks = 64;
        seen += hmap_scan(&m, &place, &looks) != NULL;
        assert_true(looks <= 64);
        calls++;
    } while (place != 0);
    assert_int_equal(seen, 2);
    assert_in_range(calls, ITEMS / 64, ITEMS / 64 + 4);
    hmap_deinit(&m);
    free(items);
}

/* SPDX-License-Identifier: MIT */
/* OP_REGIONS, OP_COPIES: the region directory, page by page. */
#include "base/bytes.h"
#include "tests/lib/case.h"
#include "tests/unit/cmd_fixture_drain.h"

enum { KIB = 1 << 10, LIST_MAX = 1100, PAGES_MAX = 200 };

typedef struct List {
    RegionStatus of[LIST_MAX];
    unsigned count, pages;
} List;

static uint64_t page_send(Rig *rig, const OpRegions *op)
{
    uint8_t body[WIRE_BODY_MAX];
    uint64_t id = rig_request(rig, &rig->tool, &rig->tool_ids, OP_REGIONS, body,
                              wire_regions_encode(op, body));
    numbers_end(&rig->tool_ids, id);
    return id;
}

/* Appends a page; the next cursor. */
static uint64_t page(Rig *rig, const OpRegions *op, List *l)
{
    OpRegionsReply r;
    WireReply reply;
    assert_int_equal(rig_replies(rig, &rig->tool, page_send(rig, op), &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_regions_reply_decode(reply.body, reply.body_len, &r), 0);
    for (uint32_t i = 0; i < r.count; i++) {
        assert_true(l->count < LIST_MAX);
        l->of[l->count++] = r.regions[i];
    }
    assert_true(++l->pages < PAGES_MAX);
    return r.next;
}

static const List *list(Rig *rig, OpRegions op)
{
    static List l;
    l = (List){.count = 0};
    while ((op.cursor = page(rig, &op, &l)) != 0)
        continue;
    return &l;
}

static unsigned times_listed(const List *l, const FakeImd *imd, uint64_t region)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->count; i++)
        n += l->of[i].region == region && addr_equal(&l->of[i].host, &imd->session.peer);
    return n;
}

TEST(regions__none)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 64 * KIB);
    const List *l = list(rig, (OpRegions){.cursor = 0});
    assert_int_equal(l->count, 0);
    assert_int_equal(l->pages, 1);
    assert_int_equal(list(rig, (OpRegions){.cursor = UINT64_MAX})->pages, 1);
    rig_free(rig);
}

TEST(regions__say_what_they_are)
{
    Rig *rig = rig_new();
    FakeImd *imd = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply reply;
    open.offset = 8 * KIB;
    assert_int_equal(client_open(rig, c, &open, &reply), STATUS_OK);
    const List *l = list(rig, (OpRegions){.cursor = 0});
    assert_int_equal(l->count, 1);
    const RegionStatus *r = &l->of[0];
    assert_true(addr_equal(&r->host, &imd->session.peer));
    assert_int_equal(r->region, reply.address.region);
    assert_int_equal(r->opening, 1);
    assert_int_equal(r->use, REGION_USE_OPEN);
    assert_int_equal(r->retain, 1);
    assert_true(id128_equal(&r->client, &c->session.peer_id));
    assert_int_equal(r->offset, 8 * KIB);
    assert_int_equal(r->len, 4 * KIB);
    imd->deaf = true;
    (void)client_close_send(rig, c, &reply.address, CLOSE_RELEASE, 1);
    l = list(rig, (OpRegions){.cursor = 0});
    assert_int_equal(l->of[0].use, REGION_USE_BUSY);
    assert_true(id128_is_null(&l->of[0].client));
    imd->deaf = false;
    rig_wait(rig, NS_PER_S); /* it is asked again */
    l = list(rig, (OpRegions){.cursor = 0});
    assert_int_equal(l->of[0].use, REGION_USE_KEPT);
    assert_true(id128_is_null(&l->of[0].client));
    rig_free(rig);
}

/* What the client alone may know, and what names its file, are not told. */
TEST(regions__tell_no_secret)
{
    Rig *rig = rig_new();
    (void)imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, REGION_RETAIN);
    OpOpenReply opened;
    WireReply reply;
    memset(&open.key, 0xA7, sizeof open.key);
    open.stamp = (Stamp){0xB6B6B6B6, 0xB6B6B6B6, 0xB6B6B6B6};
    assert_int_equal(client_open(rig, c, &open, &opened), STATUS_OK);
    assert_int_equal(opened.address.capability.bytes[0], 0xCA);
    uint64_t id = page_send(rig, &(OpRegions){.cursor = 0});
    assert_int_equal(rig_replies(rig, &rig->tool, id, &reply), 1);
    assert_true(reply.body_len > 60);
    for (size_t i = 0; i < reply.body_len; i++)
        assert_true(reply.body[i] != 0xA7 && reply.body[i] != 0xB6 && reply.body[i] != 0xCA);
    rig_free(rig);
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* All in one page. */
static OpCopiesReply copies(Rig *rig, const OpRegions *op)
{
    uint8_t body[WIRE_BODY_MAX];
    OpCopiesReply ret;
    WireReply reply;
    uint64_t id =
        rig_request(rig, &rig->tool, &rig->tool_ids, OP_COPIES, body, wire_copies_encode(op, body));
    numbers_end(&rig->tool_ids, id);
    assert_int_equal(rig_replies(rig, &rig->tool, id, &reply), 1);
    assert_int_equal(reply.status, STATUS_OK);
    assert_int_equal(wire_copies_reply_decode(reply.body, reply.body_len, &ret), 0);
    assert_int_equal(ret.next, 0);
    return ret;
}

static const RegionCopy *copy_of(const OpCopiesReply *r, const RegionAddress *a, const FakeImd *imd)
{
    for (uint32_t i = 0; i < r->count; i++)
        if (r->copies[i].region.region == a->region &&
            addr_equal(&r->copies[i].region.host, &imd->session.peer))
            return &r->copies[i];
    fail_msg("a region is not listed");
    return NULL;
}

/* Regions of the same piece of the same file have the same number, others another one. */
TEST(copies__say_which_belong_together)
{
    Rig *rig = rig_new();
    FakeImd *a = imd_up(rig, 64 * KIB), *b = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    open.avoid_count = 1;
    open.avoid[0] = b->session.peer_epoch;
    const RegionAddress first = opened(rig, c, &open);
    open.avoid[0] = a->session.peer_epoch;
    const RegionAddress second = opened(rig, c, &open);
    open.offset = 4 * KIB;
    const RegionAddress next = opened(rig, c, &open);
    open = open_of(2, 4 * KIB, 0);
    open.avoid_count = 1;
    open.avoid[0] = a->session.peer_epoch;
    const RegionAddress other = opened(rig, c, &open);
    const OpCopiesReply r = copies(rig, &(OpRegions){.cursor = 0});
    assert_int_equal(r.count, 4);
    const RegionCopy *f = copy_of(&r, &first, a);
    assert_int_equal(f->region.use, REGION_USE_OPEN);
    assert_int_equal(f->region.len, 4 * KIB);
    assert_true(id128_equal(&f->region.client, &c->session.peer_id));
    assert_int_equal(copy_of(&r, &second, b)->piece, f->piece);
    assert_true(copy_of(&r, &next, b)->piece != f->piece);
    assert_true(copy_of(&r, &other, b)->piece != f->piece);
    assert_true(copy_of(&r, &other, b)->piece != copy_of(&r, &next, b)->piece);
    assert_int_equal(copies(rig, &(OpRegions){.host = a->session.peer}).count, 1);
    rig_free(rig);
}

TEST(copies__say_which_are_to_move)
{
    Rig *rig = rig_new();
    FakeImd *a = imd_up(rig, 64 * KIB), *b = imd_up(rig, 64 * KIB);
    FakeClient *c = client_new(rig);
    OpOpen open = open_of(1, 4 * KIB, 0);
    open.avoid_count = 1;
    open.avoid[0] = b->session.peer_epoch;
    const RegionAddress there = opened(rig, c, &open);
    open.avoid[0] = a->session.peer_epoch;
    const RegionAddress elsewhere = opened(rig, c, &open);
    (void)drain(rig, a, DRAIN_START);
    OpCopiesReply r = copies(rig, &(OpRegions){.cursor = 0});
    assert_int_equal(copy_of(&r, &there, a)->leaves, 1);
    assert_int_equal(copy_of(&r, &elsewhere, b)->leaves, 0);
    (void)drain(rig, a, DRAIN_CANCEL);
    r = copies(rig, &(OpRegions){.cursor = 0});
    assert_int_equal(copy_of(&r, &there, a)->leaves, 0);
    rig_free(rig);
}

/* ---- pages ----------------------------------------------------------------------------------- */

TEST(regions__pages_have_all_once)
{
    Rig *rig = rig_new();
    FakeImd *imds[] = {imd_up(rig, 4 * 1024 * KIB), imd_up(rig, 4 * 1024 * KIB)};
    open_many(rig, client_new(rig), 300);
    const List *l = list(rig, (OpRegions){.cursor = 0});
    assert_int_equal(l->count, 300);
    for (unsigned k = 0; k < 2; k++)
        for (unsigned i = 0; i < imds[k]->count; i++)
            assert_int_equal(times_listed(l, imds[k], imds[k]->regions[i].address.region), 1);
    rig_free(rig);
}

/* Each is in one page only, whatever comes and goes meanwhile. */
TEST(regions__come_and_go_between_pages)
{
    static List l;
    Rig *rig = rig_new();
    FakeImd *stays = imd_up(rig, 4 * 1024 * KIB);
    FakeClient *c = client_new(rig), *other = client_new(rig);
    OpRegions op = {.cursor = 0};
    OpOpen open = open_of(7, 4 * KIB, 0);
    l = (List){.count = 0};
    open_many(rig, c, 100);
    do {
        op.cursor = page(rig, &op, &l);
        for (unsigned i = 0; i < 40 && other->count < 300; i++)
            assert_int_equal(client_open(rig, other, &open, NULL), STATUS_OK);
        for (unsigned i = 0; i < 10; i++) {
            const RegionAddress a = other->open[i];
            assert_int_equal(client_close(rig, other, &a, CLOSE_FREE, 0), STATUS_OK);
        }
    } while (op.cursor != 0);
    for (unsigned i = 0; i < c->count; i++)
        assert_int_equal(times_listed(&l, stays, c->open[i].region), 1);
    for (unsigned i = 0; i < l.count; i++)
        assert_int_equal(times_listed(&l, stays, l.of[i].region), 1);
    rig_free(rig);
}

TEST(regions__filters)
{
    Rig *rig = rig_new();
    FakeImd *a = imd_up(rig, 200 * KIB);
    FakeClient *c = client_new(rig), *d = client_new(rig);
    open_many(rig, c, 30);
    open_many(rig, d, 20);
    FakeImd *b = imd_up(rig, 100 * KIB);
    open_many(rig, d, 5);
    OpRegions op = {.host = a->session.peer};
    assert_int_equal(list(rig, op)->count, 50);
    op.host = b->session.peer;
    assert_int_equal(list(rig, op)->count, 5);
    op.client = get_u64(d->session.peer_id.bytes);
    assert_int_equal(list(rig, op)->count, 5);
    op.host = (Addr){0};
    const List *l = list(rig, op);
    assert_int_equal(l->count, 25);
    for (unsigned i = 0; i < l->count; i++)
        assert_true(id128_equal(&l->of[i].client, &d->session.peer_id));
    op.client++;
    assert_int_equal(list(rig, op)->count, 0);
    op = (OpRegions){.host = a->session.peer};
    op.host.port++;
    assert_int_equal(list(rig, op)->count, 0);
    rig_free(rig);
}

/* However few are wanted of however many: a page has its bound. */
TEST(regions__a_page_costs_no_more)
{
    enum { MANY = 2000, PER_PAGE = 512 };
    ManagerConfig config = rig_config();
    config.regions_max = MANY;
    Rig *rig = rig_new_with(config, 3);
    FakeImd *imd = imd_new(rig, MANY * 4 * KIB);
    imd_join(rig, imd);
    rig_pump(rig);
    for (unsigned first = 0; first < MANY; first += LISTING_MAX) {
        RegionListing some[LISTING_MAX];
        unsigned count = MANY - first < LISTING_MAX ? MANY - first : LISTING_MAX;
        for (unsigned i = 0; i < count; i++)
            some[i] = (RegionListing){.address = {imd->session.peer_epoch, 1 + first + i, 1, {{1}}},
                                      .key = key_of(1),
                                      .offset = first + i,
                                      .len = 4 * KIB,
                                      .flags = REGION_RETAIN | REGION_RELEASED,
                                      .port = 1};
        uint64_t id = imd_page(rig, imd, 1, first / LISTING_MAX, (MANY - 1) / LISTING_MAX + 1, 99,
                               some, count);
        numbers_end(&imd->ids, id);
    }
    assert_int_equal(rig_stats(rig).regions, MANY);
    const List *l = list(rig, (OpRegions){.client = 1});
    assert_int_equal(l->count, 0);
    /* Of each region and of each bucket; empty pages are not the last. */
    assert_in_range(l->pages, MANY / PER_PAGE + 1, 2 * MANY / PER_PAGE + 1);
    rig_free(rig);
}

TEST(regions__roles_and_duty)
{
    Rig *rig = rig_new();
    FakeClient *c = client_new(rig);
    uint8_t body[WIRE_BODY_MAX];
    const OpRegions op = {.cursor = 0};
    size_t n = wire_regions_encode(&op, body);
    uint64_t id = client_request(rig, c, OP_REGIONS, body, n);
    assert_int_equal(rig_status(rig, &c->session, id), STATUS_DENIED);
    rig_refuses(rig, &rig->tool, &rig->tool_ids, OP_REGIONS, body, n - 1);
    rig_free(rig);
    ManagerConfig config = rig_config();
    config.number = MANAGER_STANDBY;
    rig = rig_new_with(config, 1);
    id = page_send(rig, &op);
    assert_int_equal(rig_status(rig, &rig->tool, id), STATUS_STANDBY);
    rig_free(rig);
}

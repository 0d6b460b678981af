/* SPDX-License-Identifier: MIT */
/* Moves of open regions away from hosts that are being drained, while they are used.
 *
 * A move makes nothing new true of a region: for a while it has two copies (copies.c). The other
 * copy is opened on another host, and healed until it has all that the first one has. Writes go to
 * both meanwhile, reads to either. Then the first copy is given up, and the manager is asked to
 * free it. So no call waits for a move, and none fails by one: at each moment there is a copy that
 * has every write. A host that dies during a move costs what it would have cost without.
 *
 * A region that is not DODO_MIRROR gets a place for its other copy with its first move. Of the two
 * places one is spare, but for the time of a move. One that is DODO_MIRROR has two copies already:
 * the one on the host that is drained is given up when the other one has all that it has, and is
 * made again elsewhere as any lost one is.
 *
 * The manager names the hosts (OP_MOVES), and asks again and again how far it is. */
#include <stdlib.h>

#include "dodo/dodo.h"
#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/claims.h"
#include "libdodo/client.h"
#include "libdodo/mirror.h"
#include "libdodo/moves.h"
#include "libdodo/region.h"
#include "libdodo/run.h"
#include "libdodo/sharing.h"

enum {
    MOVES_AT_ONCE = 4,      /* regions: while one is opened, others are copied */
    LOOK_REGIONS = 1 << 12, /* looked at in one go: the lock is not held for long */
};

/* So many periods of keep-alives a drain goes on when nobody speaks of it: the manager may have
 * been started again, and hears of it once more. */
enum { PERIODS_HELD = 4 };

#define PACE_BEHIND_NS (50 * NS_PER_MS) /* of a drain's rate, if not used, may be used later */

/* ---- which hosts ---------------------------------------------------------------------------- */

static bool to_be_moved(const Client *c, Region *r)
{
    return r->active && !r->sharing.guest && !region_top(r)->closing &&
           moves_drained(c, r->memory.address.epoch);
}

/* What was copied at the old rate is waited for as the new one has it. */
static void rate_changes(Moves *m, uint64_t rate, uint64_t now_ns)
{
    const uint64_t wait_ns = sub_u64(m->pace_ns, now_ns);
    m->pace_ns =
        rate > 0 ? time_add(now_ns, (uint64_t)((double)wait_ns * (double)m->rate / (double)rate))
                 : 0;
    m->rate = rate;
}

static void told(Client *c, const OpMovesReply *reply, uint64_t now_ns)
{
    Moves *m = &c->moves;
    bool same = m->hosts_count == reply->count;
    for (uint32_t i = 0; i < reply->count; i++) {
        same &= m->hosts[i] == reply->epochs[i];
        m->hosts[i] = reply->epochs[i];
    }
    m->hosts_count = reply->count;
    if (m->rate != reply->rate)
        rate_changes(m, reply->rate, now_ns);
    if (!same) /* there may be room again */
        m->rest_ns = m->rest_until_ns = 0;
    m->until_ns = time_add(now_ns, PERIODS_HELD * c->config.alive_ns);
    if (!same || m->at >= c->regions.size) /* there may be new ones, of dodo drain */
        m->at = 0;
    if (!same || m->count_at >= c->regions.size)
        m->count_at = m->counted = 0;
}

static void lapse(Client *c, uint64_t now_ns)
{
    if (now_ns >= c->moves.until_ns)
        c->moves.hosts_count = 0;
}

/* ---- a place for the other copy ------------------------------------------------------------- */

static void twin_init(Region *twin, Region *first)
{
    twin->stripe.parent = region_top(first);
    twin->len = first->len;
    twin->file_offset = first->file_offset;
    twin->flags = first->flags;
    twin->file = first->file;
    twin->cached = first->cached;
    twin->key = first->key;
    twin->inode = first->inode;
    twin->stamp = first->stamp;
    twin->written = first->written;
    twin->mirror.spare = true;
    mirror_pair(first, twin);
}

/* All stripes of a region get theirs at once: its second copies come after the first ones. */
static bool stripes_double(Client *c, Region *top)
{
    unsigned count = top->stripe.count;
    Region **of = realloc(top->stripe.of, 2 * (size_t)count * sizeof(Region *));
    if (!of)
        return false;
    top->stripe.of = of;
    for (unsigned i = 0; i < count; i++) {
        if (client_region_new(c, &of[count + i]) < 0) {
            while (i-- > 0) {
                of[i]->mirror.twin = NULL;
                of[count + i]->mirror.twin = NULL;
                client_region_remove(c, of[count + i]);
                client_region_free(c, of[count + i]);
            }
            return false;
        }
        twin_init(of[count + i], of[i]);
    }
    top->stripe.members = 2 * count;
    return true;
}

static bool twin_make(Client *c, Region *r)
{
    Region *top = region_top(r), *twin;
    if (r->mirror.twin)
        return true;
    if (top->stripe.of)
        return stripes_double(c, top);
    if (client_region_new(c, &twin) < 0)
        return false;
    twin_init(twin, r);
    return true;
}

/* ---- one region ----------------------------------------------------------------------------- */

/* Is it worth having? What cannot be checked is not read from there. */
static bool is_useful(const Region *r, uint64_t block)
{
    return r->carried || !r->memory.blocks.checks || r->memory.blocks.checks[block].sum != 0;
}

/* Blocks that an earlier opening left there, or other processes have filled, were not seen filled
 * yet: they are looked at. */
static void believe_held(Client *c, Region *r)
{
    uint64_t blocks = r->reused || region_shares(r) ? block_of(r->len - 1) + 1 : 0;
    for (uint64_t b = 0; b < blocks; b++)
        if (is_useful(r, b))
            region_saw_filled(c, r, b, true);
}

static void move_begin(Client *c, Region *r)
{
    if (!twin_make(c, r))
        return;
    believe_held(c, r);
    list_push_back(&c->moves.under_way, &r->mirror.moving);
    if (!r->mirror.twin->active)
        client_region_file(c, r->mirror.twin); /* it waited for less */
}

/* Has the other copy all that @r has, as far as is known? */
static bool covered(const Region *r, const Region *other)
{
    if (!RULE(MOVE_WHOLE))
        return true;
    if (!r->memory.blocks.filled || !other->memory.blocks.filled)
        return true; /* there was no memory to know what they have */
    uint64_t words = block_of(r->len - 1) / 64 + 1;
    for (uint64_t i = 0; i < words; i++)
        for (uint64_t lacks = r->memory.blocks.filled[i] & ~other->memory.blocks.filled[i]; lacks;
             lacks &= lacks - 1)
            if (is_useful(r, i * 64 + (uint64_t)__builtin_ctzll(lacks)))
                return false;
    return true;
}

/* The manager is asked to free it. False: too many wait for that already. */
static bool give_up(Client *c, Region *r, uint64_t now_ns)
{
    Moves *m = &c->moves;
    if (m->done_count == MOVES_DONE_MAX)
        return false;
    m->done[m->done_count++] = r->memory.address;
    client_region_retire(c, r, now_ns);
    return true;
}

/* The host is not drained any more: there is one copy again. False: not yet. */
static bool move_undo(Client *c, Region *r, uint64_t now_ns)
{
    Region *twin = r->mirror.twin;
    if (!r->active || (r->flags & DODO_MIRROR) || region_top(r)->closing)
        return true;
    if (twin->active)
        return give_up(c, twin, now_ns);
    twin->mirror.spare = true;
    list_remove(&twin->reopen.link);
    return true;
}

static void move_on(Client *c, Region *r, uint64_t now_ns)
{
    Region *twin = r->mirror.twin;
    if (!to_be_moved(c, r)) {
        if (move_undo(c, r, now_ns))
            list_remove(&r->mirror.moving);
    } else if (!twin->active) {
        if (twin->mirror.spare) {
            twin->mirror.spare = false;
            twin->reopen.at_ns = now_ns;
            client_region_file(c, twin); /* behind those that were found before it */
        }
    } else if (!covered(r, twin)) {
        mirror_uneven(c, twin);
    } else if (give_up(c, r, now_ns)) {
        list_remove(&r->mirror.moving);
        c->stats.moves++;
    }
}

/* ---- all of them ---------------------------------------------------------------------------- */

static unsigned under_way(const Client *c)
{
    unsigned n = 0;
    LIST_FOREACH(node, &c->moves.under_way)
        n++;
    return n;
}

/* Blocks of it that no other copy has. */
static uint64_t left_blocks(const Region *r)
{
    const Region *twin = mirror_other(r);
    return sub_u64(r->memory.blocks.filled_count, twin ? twin->memory.blocks.filled_count : 0);
}

/* Looks on through the table for regions to move, while few are under way. One that found no room
 * is found again when the manager has spoken of its host once more. */
static void look(Client *c)
{
    Moves *m = &c->moves;
    unsigned stop = (unsigned)min_u64((uint64_t)m->at + LOOK_REGIONS, c->regions.size);
    for (unsigned count = under_way(c); count < MOVES_AT_ONCE && m->at < stop; m->at++) {
        Region *r = c->regions.of[m->at];
        if (!r || !to_be_moved(c, r) || !list_empty(&r->mirror.moving))
            continue;
        move_begin(c, r);
        count++;
    }
}

/* Counts on through the table what there is left to copy. */
static void count(Client *c)
{
    Moves *m = &c->moves;
    unsigned stop = (unsigned)min_u64((uint64_t)m->count_at + LOOK_REGIONS, c->regions.size);
    if (m->count_at == stop)
        return;
    for (; m->count_at < stop; m->count_at++) {
        Region *r = c->regions.of[m->count_at];
        if (r && to_be_moved(c, r))
            m->counted += left_blocks(r);
    }
    if (stop == c->regions.size)
        m->left_blocks = m->counted;
}

static bool looking(const Client *c)
{
    const Moves *m = &c->moves;
    return m->hosts_count > 0 && (m->count_at < c->regions.size ||
                                  (m->at < c->regions.size && under_way(c) < MOVES_AT_ONCE));
}

bool move_target(const Client *c, const Region *r)
{
    return move_wants(c, r) && !(r->flags & DODO_MIRROR);
}

void move_answered(Client *c, Region *r, bool got)
{
    if (!move_wants(c, r))
        return;
    c->moves.refused = got ? 0 : c->moves.refused + 1;
    if (got)
        return;
    list_remove(&r->mirror.twin->mirror.moving);
    if (!move_target(c, r))
        return; /* it is asked for again, as any lost copy */
    r->mirror.spare = true;
    list_remove(&r->reopen.link);
}

/* ---- the rate ------------------------------------------------------------------------------- */

uint64_t moves_pace(const Client *c, uint64_t due_ns)
{
    return c->moves.hosts_count > 0 && c->moves.rate > 0 ? max_u64(due_ns, c->moves.pace_ns)
                                                         : due_ns;
}

void moves_copied(Client *c, const Region *to, uint64_t bytes, uint64_t asked_ns)
{
    Moves *m = &c->moves;
    const Region *from = mirror_other(to);
    if (!from || !moves_drained(c, from->memory.address.epoch))
        return;
    m->copied_bytes += bytes;
    if (m->rate > 0)
        m->pace_ns = time_add(max_u64(m->pace_ns, sub_u64(asked_ns, PACE_BEHIND_NS)),
                              bytes * NS_PER_S / m->rate);
}

/* ---- with the manager ----------------------------------------------------------------------- */

static void ask_step(Call *call, uint64_t now_ns)
{
    Client *c = call->channel->client;
    const Request *q = &call->state->u.request;
    OpMovesReply reply;
    enum RunResult result = run_step(call, now_ns);
    if (result == RUN_RUNNING)
        return;
    if (result == RUN_DONE && wire_moves_reply_decode(q->answer, q->answer_len, &reply) == 0) {
        client_lock(c);
        told(c, &reply, now_ns);
        client_unlock(c);
    }
    client_settle(c, call->state->id);
    call_finish(call, 0, 0, NULL);
}

static const CallOps ask_ops = {.step = ask_step};

static bool asks(const Channel *ch)
{
    return ch->client->moves.wanted && !ch->own_busy[OWN_MOVES];
}

/* Which hosts are being drained, and how far the moves are. */
static void ask(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    uint8_t body[WIRE_BODY_MAX];
    client_lock(c);
    uint64_t id = c->moves.wanted ? numbers_take(&c->ids) : 0;
    c->moves.wanted &= id == 0;
    const OpMoves moves = {.left_bytes = c->moves.left_blocks * WIRE_BLOCK_SIZE,
                           .copied_bytes = c->moves.copied_bytes,
                           .refused = c->moves.refused};
    client_unlock(c);
    if (!id)
        return;
    size_t n = wire_moves_encode(&moves, body);
    run_request(call_own(ch, OWN_MOVES, &ask_ops), id, OP_MOVES, body, n, &c->config.request,
                now_ns);
}

static void free_step(Call *call, uint64_t now_ns)
{
    if (run_step(call, now_ns) == RUN_RUNNING)
        return;
    client_settle(call->channel->client, call->state->id);
    call_finish(call, 0, 0, NULL);
}

static const CallOps free_ops = {.step = free_step};

static bool frees(const Channel *ch)
{
    return ch->client->moves.done_count > 0 && !ch->own_busy[OWN_FREE];
}

/* If the manager does not hear of it, the next keep-alive tells: it is claimed no more. */
static void free_one(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    uint8_t body[WIRE_BODY_MAX];
    OpClose close = {.mode = CLOSE_FREE};
    client_lock(c);
    uint64_t id = c->moves.done_count > 0 ? numbers_take(&c->ids) : 0;
    if (id)
        close.address = c->moves.done[--c->moves.done_count];
    client_unlock(c);
    if (!id)
        return;
    size_t n = wire_close_encode(&close, body);
    run_request(call_own(ch, OWN_FREE, &free_ops), id, OP_CLOSE, body, n, &c->config.request,
                now_ns);
}

/* ---- stepping ------------------------------------------------------------------------------- */

void moves_step(Channel *ch, uint64_t now_ns)
{
    Client *c = ch->client;
    client_lock(c);
    lapse(c, now_ns);
    LIST_FOREACH(node, &c->moves.under_way)
        move_on(c, CONTAINER_OF(node, Region, mirror.moving), now_ns);
    if (looking(c)) {
        look(c);
        count(c);
    }
    bool to_ask = asks(ch), to_free = frees(ch);
    client_unlock(c);
    if (to_ask)
        ask(ch, now_ns);
    if (to_free)
        free_one(ch, now_ns);
}

uint64_t moves_due(const Channel *ch)
{
    const Client *c = ch->client;
    bool requests = (asks(ch) || frees(ch)) && numbers_have(&c->ids, 1);
    return looking(c) || requests ? 0 : TIME_NEVER;
}

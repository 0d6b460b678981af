/* SPDX-License-Identifier: MIT */
#include "imd/read_queue.h"

#include <assert.h>

/* The session's share. If there is no room, the share with the least use is forgotten: mostly that
 * of a session that has not asked for a while. */
static ReadShare *share_of(ReadQueue *q, const void *session)
{
    ReadShare *least = &q->shares[0];
    for (unsigned i = 0; i < READ_QUEUE_SESSIONS; i++) {
        ReadShare *s = &q->shares[i];
        if (s->session == session)
            return s;
        if (s->used < least->used)
            least = s;
    }
    *least = (ReadShare){.session = session};
    return least;
}

uint32_t read_queue_put(ReadQueue *q, void *session, const WireRead *read)
{
    assert(!read_queue_full(q));
    uint32_t bytes = (uint32_t)__builtin_popcountll(read->want) * read->segment;
    ReadShare *share = share_of(q, session);
    uint64_t due = share->used > q->clock ? share->used : q->clock;
    share->used = due + READ_COST_BYTES + bytes;
    q->turns[q->count] = (ReadTurn){.due = due, .number = q->numbers++, .bytes = bytes};
    q->reads[q->count++] = (QueuedRead){.session = session, .bytes = bytes, .read = *read};
    return bytes;
}

static bool before(const ReadTurn *a, const ReadTurn *b)
{
    if (a->due != b->due)
        return a->due < b->due;
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->number < b->number;
}

static void remove_at(ReadQueue *q, unsigned i)
{
    q->count--;
    q->turns[i] = q->turns[q->count];
    q->reads[i] = q->reads[q->count];
}

bool read_queue_take(ReadQueue *q, QueuedRead *ret)
{
    unsigned best = 0;
    if (q->count == 0)
        return false;
    for (unsigned i = 1; i < q->count; i++)
        if (before(&q->turns[i], &q->turns[best]))
            best = i;
    q->clock = q->turns[best].due;
    *ret = q->reads[best];
    remove_at(q, best);
    return true;
}

bool read_queue_has(const ReadQueue *q, const void *session)
{
    for (unsigned i = 0; i < q->count; i++)
        if (q->reads[i].session == session)
            return true;
    return false;
}

uint64_t read_queue_forget(ReadQueue *q, const void *session)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < q->count;)
        if (q->reads[i].session == session) {
            bytes += q->reads[i].bytes;
            remove_at(q, i);
        } else {
            i++;
        }
    for (unsigned i = 0; i < READ_QUEUE_SESSIONS; i++)
        if (q->shares[i].session == session)
            q->shares[i] = (ReadShare){.session = NULL};
    return bytes;
}

/* SPDX-License-Identifier: MIT */
/* Reading ahead: reads of a region that follow each other at a fixed distance are a stream, be it
 * in order, backwards or strided. It goes on in the region behind it in the file. What the stream
 * will read next is fetched in the background, within a budget. It takes free room and pieces that
 * were used only once, never more valuable ones. */
#include "libmanage/core_private.h"

_Static_assert((int)TOGETHER_MOST <= (int)CACHE_TOGETHER, "the shell carries out as many");

/* What becomes of a range: it is passed over, is looked at again where a record names it, or is
 * being fetched. */
enum Ahead { AHEAD_NOTHING, AHEAD_LATER, AHEAD_TAKEN };

enum { RUN_MIN = 2, WINDOW_READS = 4, AHEAD_READS_MAX = 4096, STREAM_STALE_READS = 1024 };

/* *@offset of @r, in the stream's region, or behind that if it ends in the file where @r begins.
 * False: elsewhere. */
static bool seen_from(const Stream *s, const Region *r, uint64_t *offset)
{
    const Region *q = s->region;
    if (q == r)
        return true;
    if (!q || !is_same_file(q->id, r->id) || q->id.offset + q->len != r->id.offset)
        return false;
    *offset += q->len;
    return true;
}

/* A read that begins a stream guesses twice where the next one will be: right behind it, or as far
 * from it as it was from the read before. */
static bool expected(const Stream *s, const Region *r, uint64_t offset)
{
    if (!seen_from(s, r, &offset))
        return false;
    return (s->stride && s->last + (uint64_t)s->stride == offset) ||
           (s->run == 0 && s->last + s->len == offset);
}

/* Of two of which one may be NULL. */
static Stream *used_before(Stream *a, Stream *b)
{
    return !a || b->used < a->used ? b : a;
}

/* In a free slot, else in that of the oldest of those that came to nothing. */
static Stream *stream_begin(Cache *c, Region *r, uint64_t offset, uint64_t len)
{
    Stream *latest = NULL, *oldest = NULL, *unproven = NULL, *slot = NULL;
    for (Stream *s = c->ahead.streams; s < c->ahead.streams + STREAMS; s++) {
        if (!s->region) {
            slot = s;
            continue;
        }
        if (s->region == r && (!latest || s->used > latest->used))
            latest = s;
        oldest = used_before(oldest, s);
        if (s->run < RUN_MIN || c->ahead.reads - s->used > STREAM_STALE_READS)
            unproven = used_before(unproven, s);
    }
    if (!slot)
        slot = unproven ? unproven : oldest;
    int64_t distance = latest ? (int64_t)(offset - latest->last) : 0;
    *slot = (Stream){.region = r,
                     .id = ++c->ahead.stream_ids,
                     .last = offset,
                     .len = len,
                     .stride = distance,
                     .used = c->ahead.reads};
    return slot;
}

/* One read after the other: what may be fetched, once half of the window is new. */
static bool sequential_due(const Cache *c, const Stream *s, uint64_t *ret_from, uint64_t *ret_goal)
{
    uint64_t next = s->last + s->len, piece = c->cfg.piece_bytes, size = s->region->size;
    uint64_t from = max_u64(next, s->ahead_to), goal = min_u64(next + s->window, size);
    *ret_from = from;
    *ret_goal = min_u64((goal + piece - 1) / piece * piece, size);
    return from < goal && ((goal - from) * 2 >= s->window || goal >= size);
}

static bool is_sequential(const Stream *s)
{
    return s->stride == (int64_t)s->len;
}

/* Are more reads of the kind to come? So it is after some, or as the program says. */
static bool is_stream(const Stream *s)
{
    return s->run >= RUN_MIN || s->region->advice == DODO_CADVISE_SEQUENTIAL;
}

/* The stream that the read goes on with, which is one longer then; NULL: none. */
static Stream *stream_next(Cache *c, Region *r, uint64_t offset, uint64_t len)
{
    Stream *s = c->ahead.streams;
    while (s < c->ahead.streams + STREAMS && !expected(s, r, offset))
        s++;
    c->ahead.reads++;
    if (s == c->ahead.streams + STREAMS)
        return NULL;
    uint64_t at = offset;
    (void)seen_from(s, r, &at);
    if (s->last + s->len == at) /* one after the other; their length may change */
        s->stride = (int64_t)len;
    if (s->region != r) {
        s->region = r;
        s->ahead_to = s->fetched = 0;
    }
    s->last = offset;
    s->len = len;
    s->used = c->ahead.reads;
    s->part = s->fetched ? s->part : 0;
    s->fetched -= s->fetched > 0;
    s->run++;
    return s;
}

static bool reads_ahead(const Cache *c, const Region *r)
{
    return c->cfg.readahead_bytes && r->advice != DODO_CADVISE_RANDOM;
}

void stream_follow(Cache *c, Region *r, uint64_t from, uint64_t to, uint64_t len)
{
    Stream *s = reads_ahead(c, r) ? stream_next(c, r, from, len) : NULL;
    if (s)
        s->last = to - len;
}

static bool note(Cache *c, Region *r, uint64_t offset, uint64_t len)
{
    if (!reads_ahead(c, r))
        return false;
    Stream *s = stream_next(c, r, offset, len);
    if (!s)
        s = stream_begin(c, r, offset, len);
    if (r->advice == DODO_CADVISE_SEQUENTIAL)
        s->stride = (int64_t)len;
    if (!is_stream(s))
        return false;
    uint64_t from, goal;
    bool in_order = is_sequential(s);
    s->window = min_u64(c->cfg.readahead_bytes, s->window ? s->window * 2 : len * WINDOW_READS);
    if (in_order && !sequential_due(c, s, &from, &goal))
        return true;
    if (in_order && r->remote.state != REMOTE_OPEN) { /* of the file the kernel reads ahead */
        s->ahead_to = goal;
        return true;
    }
    c->ahead.wanted = true;
    background_wake(c);
    return in_order;
}

bool stream_note(Cache *c, Region *r, uint64_t offset, uint64_t len)
{
    bool in_order = note(c, r, offset, len);
    r->ways->apart = in_order ? 0 : r->ways->apart + (r->ways->apart <= RUN_MIN);
    return in_order;
}

bool stream_none(const Region *r)
{
    return r->ways->apart > RUN_MIN;
}

void stream_forget(Cache *c, const Region *r)
{
    for (unsigned i = 0; i < STREAMS; i++)
        if (c->ahead.streams[i].region == r)
            c->ahead.streams[i] = (Stream){0};
}

/* ---- fetching ------------------------------------------------------------------------------- */

static bool stream_alive(const Cache *c, uint32_t id)
{
    for (unsigned i = 0; i < STREAMS; i++)
        if (c->ahead.streams[i].region && c->ahead.streams[i].id == id)
            return true;
    LIST_FOREACH(n, &c->traces.all) {
        const Trace *t = CONTAINER_OF(n, Trace, link);
        if (t->stream == id)
            return t->region && t->lead >= TRACE_FOLLOWED;
    }
    return false;
}

/* What was fetched for a stream that is over makes room for others. */
static bool budget(Cache *c, uint64_t bytes)
{
    LIST_FOREACH(n, &c->ahead.pieces) {
        if (c->ahead.bytes + bytes <= c->cfg.readahead_bytes)
            break;
        Piece *p = CONTAINER_OF(n, Piece, links.ahead);
        if (!(p->entry.flags & MANAGE_ENTRY_BUSY) && !stream_alive(c, p->stream))
            piece_drop(c, p);
    }
    return c->ahead.bytes + bytes <= c->cfg.readahead_bytes;
}

static Piece *ahead_piece(Cache *c, const Stream *s, uint64_t index, uint64_t first,
                          uint64_t now_ns)
{
    Region *r = s->region;
    uint32_t len = piece_len(c, r, index);
    if (piece_find(r, index) || direct_overlaps(c, r, index, NULL) || !budget(c, len) ||
        !room_at_once(c, len, r, first, index - first, true, now_ns))
        return NULL;
    Piece *p = piece_new(c, r, index);
    if (!p)
        return NULL;
    p->ahead = true;
    p->stream = s->id;
    p->read_bytes = (uint32_t)min_u64(s->len, UINT32_MAX);
    p->in_order = is_sequential(s);
    list_push_back(&c->ahead.pieces, &p->links.ahead);
    c->ahead.bytes += len;
    return p;
}

/* The kernel reads ahead in a file that is read from its start on: to do the same beside it would
 * send a drive to and fro. */
static enum Ahead file_allows(const Cache *c, const Stream *s, uint64_t bytes)
{
    if (is_sequential(s) || file_is_cheap(c, s->region, s->len) ||
        file_is_cheap(c, s->region, bytes))
        return AHEAD_NOTHING;
    return c->ahead.files && !s->joins ? AHEAD_LATER : AHEAD_TAKEN;
}

/* A guess waits until it is known what the file's reads take. What a record names was needed: that
 * the kernel lacks it is enough. */
static enum Ahead source_allows(const Cache *c, const Stream *s, uint8_t source, uint64_t from,
                                uint64_t to)
{
    const Region *r = s->region;
    bool of_file = source == CACHE_READ_FILE;
    enum Ahead allowed = of_file ? file_allows(c, s, to - from) : AHEAD_TAKEN;
    if (allowed != AHEAD_TAKEN)
        return allowed;
    bool asked = kernel_is_asked(c, r, to - from, source);
    if (asked && c->hooks.file_held(c->hooks.ctx, r->file, from, min_u64(to, r->size) - from))
        return AHEAD_NOTHING; /* it is read from there, see fetch_held() */
    return !of_file || file_is_known(c, r, s->len) || (asked && s->recorded) ? AHEAD_TAKEN
                                                                             : AHEAD_LATER;
}

/* May blocks that a piece lacks be fetched ahead? Not for a guess: who reads in order reads them
 * soon. */
static bool ahead_may_complete(const Cache *c, const Piece *p)
{
    return !piece_busy(p) && !p->wanted_by && !direct_overlaps(c, p->region, p->index, NULL);
}

/* Where the first block of [from, end) is that is missing and may be fetched; @end: nowhere. */
static uint64_t ahead_from(const Cache *c, const Region *r, bool recorded, uint64_t from,
                           uint64_t end)
{
    const Piece *p;
    while (from < end && (p = piece_find(r, from / c->cfg.piece_bytes))) {
        uint64_t start = piece_start(c, p->index), stop = min_u64(end, start + p->len);
        while (from < stop && (p->valid >> (from - start) / CACHE_BLOCK & 1))
            from += CACHE_BLOCK;
        if (from < stop && recorded && ahead_may_complete(c, p))
            break;
        from = stop;
    }
    return min_u64(from, end);
}

/* Where what is missing comes from: a recorded run may want the file's. */
static uint8_t ahead_source(const Cache *c, const Stream *s, uint64_t at, uint64_t bytes,
                            uint64_t now_ns)
{
    return s->of_file ? CACHE_READ_FILE : fetch_source(c, s->region, at, bytes, now_ns);
}

/* How far new pieces go from @from on. */
static uint64_t ahead_pieces(Cache *c, const Stream *s, uint8_t source, uint64_t from,
                             uint64_t limit, uint64_t now_ns)
{
    uint64_t first = from / c->cfg.piece_bytes, index = first, to = from;
    while (to < limit && index - first < CACHE_JOB_PIECES && to >= piece_start(c, index) &&
           ahead_source(c, s, to, limit - from, now_ns) == source &&
           ahead_piece(c, s, index, first, now_ns)) {
        c->stats.readaheads++;
        to = missing_end(c, s->region, to, limit, source);
        index++;
    }
    return to;
}

static void ahead_begin(Cache *c, CacheJob *job, Region *r, uint8_t source, uint64_t from,
                        uint64_t to, uint64_t now_ns)
{
    c->stats.readahead_bytes += to - from;
    job_begin_pieces(c, job, r, source, from, to, now_ns);
    job->ahead = true;
    c->ahead.files += source == CACHE_READ_FILE;
}

/* The job for what is missing of [offset, end): of one piece that is there, or of new ones that
 * follow each other. */
static enum Ahead ahead_fetch(Cache *c, CacheJob *job, const Stream *s, uint64_t offset,
                              uint64_t end, uint64_t now_ns)
{
    Region *r = s->region;
    uint64_t limit = min_u64((end + CACHE_BLOCK - 1) / CACHE_BLOCK * CACHE_BLOCK, r->len);
    uint64_t from = ahead_from(c, r, s->recorded, offset / CACHE_BLOCK * CACHE_BLOCK, limit);
    if (offset >= end || from >= limit)
        return AHEAD_NOTHING;
    uint8_t source = ahead_source(c, s, from, limit - from, now_ns);
    enum Ahead allowed = source_allows(c, s, source, from, limit);
    if (allowed != AHEAD_TAKEN)
        return allowed;
    uint64_t to = piece_find(r, from / c->cfg.piece_bytes)
                      ? missing_end(c, r, from, limit, source)
                      : ahead_pieces(c, s, source, from, limit, now_ns);
    if (to == from)
        return AHEAD_LATER;
    ahead_begin(c, job, r, source, from, to, now_ns);
    return AHEAD_TAKEN;
}

/* Reads of the file are under way: what a stream wants is not passed over, but looked at again. */
static bool stream_waits(const Cache *c, enum Ahead result)
{
    return result == AHEAD_LATER && c->ahead.files;
}

/* The window as a whole, in pieces. */
static bool sequential_take(Cache *c, Stream *s, CacheJob *job, uint64_t now_ns)
{
    uint64_t from, goal;
    if (!sequential_due(c, s, &from, &goal))
        return false;
    enum Ahead result = ahead_fetch(c, job, s, from, goal, now_ns);
    if (stream_waits(c, result))
        return false;
    bool taken = result == AHEAD_TAKEN;
    s->ahead_to = taken ? job->offset + job->len : goal;
    return taken;
}

static bool strided_take(Cache *c, Stream *s, CacheJob *job, uint64_t now_ns)
{
    uint64_t reads = min_u64(max_u64(s->window / max_u64(s->len, 1), 1), AHEAD_READS_MAX);
    uint64_t piece = c->cfg.piece_bytes;
    uint64_t stride = s->stride < 0 ? -(uint64_t)s->stride : (uint64_t)s->stride;
    for (; s->fetched < reads; s->fetched++, s->part = 0) {
        uint64_t distance = stride * (s->fetched + 1);
        uint64_t from = s->last + (s->stride < 0 ? -distance : distance);
        if (s->stride < 0 ? distance > s->last : from >= s->region->size)
            return false;
        uint64_t end = min_u64(from + s->len, s->region->size);
        if (stride < piece) { /* several reads share a piece */
            from = from / piece * piece;
            end = min_u64((end + piece - 1) / piece * piece, s->region->size);
        }
        enum Ahead result = ahead_fetch(c, job, s, from + s->part, end, now_ns);
        if (stream_waits(c, result))
            return false;
        if (result != AHEAD_TAKEN)
            continue;
        s->part = job->offset + job->len - from; /* what is left of it, next time */
        return true;
    }
    return false;
}

static bool together_is_known(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    const Cost *each = &r->ways->cost[COST_TOGETHER];
    return cost_known_since(each, bytes, cost_since(c, each, bytes, now_ns));
}

/* Of what remote memory has, too: are the file's reads, together, the quicker ones? */
static bool together_beats(const Region *r, uint64_t bytes)
{
    const Cost *cost = r->ways->cost;
    uint64_t each = cost_of(&cost[COST_TOGETHER], bytes);
    return together_pays(r, bytes) && each + each / COST_SAVES < cost_of(&cost[COST_REMOTE], bytes);
}

/* ... or was that not tried for long, and can they be? Of as few reads as there is room for nothing
 * may be learned, see batch_note(). */
static bool together_is_untried(const Cache *c, const Region *r, uint64_t bytes, uint64_t now_ns)
{
    const Cost *cost = r->ways->cost;
    uint64_t since_ns = sub_u64(now_ns, c->cfg.cost_fresh_ns);
    uint64_t reads = c->cfg.readahead_bytes / max_u64(bytes, c->cfg.piece_bytes);
    return 2 * reads >= TOGETHER_LEAST &&
           !cost_known_since(&cost[COST_TOGETHER], bytes, since_ns) &&
           cost_of(&cost[COST_FILE], bytes) / TOGETHER_LEAST < cost_of(&cost[COST_REMOTE], bytes);
}

typedef struct AheadRange {
    Region *region;
    uint64_t from, to, bytes; /* of the region; bytes: of the recorded range as a whole */
    uint8_t source;           /* of the block at @from */
    bool in_order;            /* it was read so: the kernel reads ahead there */
    bool joins;               /* reads of the file that are under way */
} AheadRange;

/* What comes next as an earlier run was. */
static enum Ahead recorded_fetch(Cache *c, Trace *t, TraceAhead *at, const AheadRange *next,
                                 CacheJob *job, uint64_t now_ns)
{
    const Stream s = {.region = next->region,
                      .id = t->stream,
                      .len = t->bytes,
                      .stride = next->in_order ? (int64_t)t->bytes : 0,
                      .recorded = true,
                      .of_file = next->source == CACHE_READ_FILE,
                      .joins = next->joins};
    if (t->in_order && next->source == CACHE_READ_FILE)
        return AHEAD_LATER;
    enum Ahead result = ahead_fetch(c, job, &s, next->from, next->to, now_ns);
    if (result != AHEAD_LATER)
        trace_fetched(t, at, next->region,
                      result == AHEAD_TAKEN ? job->offset + job->len : next->to);
    return result;
}

/* The next range of which something is missing, from there on. A range of many reads was read in
 * order. A short one may be what was missing between others: if the latest read was in order, the
 * file's wait. */
static bool recorded_next(const Cache *c, const Trace *t, TraceAhead *at, uint64_t now_ns,
                          AheadRange *ret)
{
    while ((ret->region = trace_ahead(c, t, at, &ret->from, &ret->to, &ret->bytes))) {
        ret->from = ahead_from(c, ret->region, true, ret->from, ret->to);
        if (ret->from < ret->to)
            break;
        trace_fetched(t, at, ret->region, ret->to);
    }
    if (!ret->region)
        return false;
    ret->in_order = t->in_order || ret->bytes > WINDOW_READS * t->bytes;
    ret->source = fetch_source(c, ret->region, ret->from, ret->to - ret->from, now_ns);
    return true;
}

/* The next one: from remote memory if that has it, unless the file's reads together are quicker.
 * What was read in order is not read from the file ahead. */
static bool recorded_nearest(const Cache *c, Trace *t, uint64_t now_ns, AheadRange *ret)
{
    if (!recorded_next(c, t, &t->ahead, now_ns, ret))
        return false;
    uint64_t bytes = ret->to - ret->from;
    if (!ret->in_order &&
        (together_beats(ret->region, bytes) || together_is_untried(c, ret->region, bytes, now_ns)))
        ret->source = CACHE_READ_FILE;
    return true;
}

/* Fetches the next one, if that may be fetched now. @joins: only of the file, whose reads go
 * together. */
static bool recorded_near(Cache *c, Trace *t, bool joins, CacheJob *job, uint64_t now_ns)
{
    AheadRange next = {.joins = joins};
    enum Ahead result = AHEAD_NOTHING;
    while (result == AHEAD_NOTHING && budget(c, c->cfg.piece_bytes) &&
           recorded_nearest(c, t, now_ns, &next) && (!joins || next.source == CACHE_READ_FILE))
        result = recorded_fetch(c, t, &t->ahead, &next, job, now_ns);
    return result == AHEAD_TAKEN;
}

/* Fetches the next one that remote memory has, past those that the file has to give. Where the
 * file's reads go together, the nearer half is left to them. */
static bool recorded_far(Cache *c, Trace *t, CacheJob *job, uint64_t now_ns)
{
    AheadRange next = {0};
    enum Ahead result = AHEAD_NOTHING;
    if (t->region && together_beats(t->region, t->bytes))
        trace_far_half(t);
    while (result == AHEAD_NOTHING && budget(c, c->cfg.piece_bytes) &&
           recorded_next(c, t, &t->far, now_ns, &next)) {
        if (next.source == CACHE_READ_FILE)
            trace_fetched(t, &t->far, next.region, next.to);
        else
            result = recorded_fetch(c, t, &t->far, &next, job, now_ns);
    }
    return result == AHEAD_TAKEN;
}

static bool recorded_take(Cache *c, Trace *t, CacheJob *job, uint64_t now_ns)
{
    return recorded_near(c, t, false, job, now_ns) || recorded_far(c, t, job, now_ns);
}

/* ---- reads of the file together ------------------------------------------------------------- */

static bool go_together(const Cache *c, const CacheJob *first, uint64_t now_ns)
{
    return together_pays(first->region, first->len) ||
           !together_is_known(c, first->region, first->len, now_ns);
}

static void batch_add(AheadBatch *b, CacheJob *job)
{
    job->together = true;
    b->reads++;
    b->left++;
}

/* What is measured begins now. */
static void batch_measure(AheadBatch *b, uint64_t now_ns)
{
    b->over = 0;
    b->bytes = 0;
    b->since_ns = now_ns;
}

/* The first ones show whether it pays, and none follows them before that is known. */
static bool batch_has_room(const Cache *c, const CacheJob *first, uint64_t now_ns)
{
    const AheadBatch *b = &c->ahead.batch;
    if (!first->together)
        return go_together(c, first, now_ns);
    return b->left < together_count(&first->region->ways->together) &&
           (b->reads < TOGETHER_LEAST || together_pays(first->region, first->len));
}

bool batch_more(Cache *c, CacheJob *first, CacheJob *job, uint64_t now_ns)
{
    AheadBatch *b = &c->ahead.batch;
    Trace *t = first->region->trace;
    if (!t || !first->ahead || first->kind != CACHE_READ_FILE || !batch_has_room(c, first, now_ns))
        return false;
    if (!recorded_near(c, t, true, job, now_ns)) {
        b->starved = true;
        return false;
    }
    if (!first->together) {
        *b = (AheadBatch){.since_ns = now_ns};
        batch_add(b, first);
    }
    if (b->starved) /* the program was waited for, not the drive */
        batch_measure(b, now_ns);
    b->starved = false;
    batch_add(b, job);
    return true;
}

/* What a few reads took together says little. */
void batch_note(Cache *c, const CacheJob *job, uint64_t now_ns)
{
    AheadBatch *b = &c->ahead.batch;
    if (!job->together)
        return;
    b->left--;
    b->over++;
    b->bytes += job->len;
    Ways *w = job->region->ways;
    bool enough = b->over >= together_count(&w->together);
    if (!enough && (b->left > 0 || 2 * b->over < TOGETHER_LEAST))
        return;
    uint64_t bytes = b->bytes / b->over, each_ns = sub_u64(now_ns, b->since_ns) / b->over;
    if (enough)
        together_note(&w->together, each_ns);
    cost_add_beside(&w->cost[COST_TOGETHER], &w->cost[COST_FILE], bytes, each_ns, now_ns,
                    c->cfg.cost_fresh_ns);
    batch_measure(b, now_ns);
}

/* Of files one after the other: two at once would send a drive to and fro. What streams and
 * recorded runs want of a file waits for that, and is looked at again. Meanwhile they fetch what
 * remote memory has. */
bool ahead_take(Cache *c, CacheJob *job, uint64_t now_ns)
{
    if (!c->ahead.wanted)
        return false;
    for (unsigned i = 0; i < STREAMS; i++) {
        Stream *s = &c->ahead.streams[i];
        if (s->region && !s->region->closing && is_stream(s) &&
            (is_sequential(s) ? sequential_take(c, s, job, now_ns)
                              : strided_take(c, s, job, now_ns)))
            return true;
    }
    LIST_FOREACH(n, &c->traces.all)
        if (recorded_take(c, CONTAINER_OF(n, Trace, link), job, now_ns))
            return true;
    c->ahead.wanted = c->ahead.files > 0;
    return false;
}

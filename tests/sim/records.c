/* SPDX-License-Identifier: MIT */
/* The files in which clients keep what they know of retained regions' blocks: they outlive every
 * process. */
#include "tests/sim/world.h"

typedef struct KeptRecord {
    ListNode link;
    size_t len;
    uint8_t bytes[];
} KeptRecord;

static KeptRecord *record_find(World *w, const uint8_t *name)
{
    LIST_FOREACH(node, &w->records) {
        KeptRecord *r = CONTAINER_OF(node, KeptRecord, link);
        if (memcmp(r->bytes, name, sizeof(CheckName)) == 0)
            return r;
    }
    return NULL;
}

static ssize_t record_save(World *w, const Call *call)
{
    KeptRecord *r = record_find(w, call->file_buf);
    if (r) {
        list_remove(&r->link);
        free(r);
    }
    r = malloc(sizeof *r + call->file_len);
    if (!r)
        abort();
    r->len = call->file_len;
    memcpy(r->bytes, call->file_buf, call->file_len);
    list_init(&r->link);
    list_push_back(&w->records, &r->link);
    return 0;
}

ssize_t records_do(World *w, const Call *call)
{
    if (call->need == NEED_CHECKS_SAVE)
        return sim_rng_below(&w->rngs.lies, 20) ? record_save(w, call) : -1;
    const KeptRecord *r = record_find(w, call->file_buf);
    if (!r || r->len > call->file_len)
        return 0;
    memcpy(call->file_buf, r->bytes, r->len);
    return (ssize_t)r->len;
}

void records_free(World *w)
{
    while (!list_empty(&w->records)) {
        KeptRecord *r = CONTAINER_OF(w->records.next, KeptRecord, link);
        list_remove(&r->link);
        free(r);
    }
}

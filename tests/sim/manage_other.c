/* SPDX-License-Identifier: MIT */
/* Another program, which does not use libmanage: it appends to a file that programs have open, or
 * cuts one that is open for reading. The manual allows that with two limits. Nobody may write where
 * it has appended before a read has noticed. A file that is cut is not made longer, and not opened
 * again, before all have closed it. */
#include "tests/sim/manage.h"

typedef struct Openings {
    bool any, all_read; /* all are for reading only */
    bool longer;        /* by what is written, and not in the file yet */
} Openings;

static Openings openings(const ManageWorld *m, const UserFile *f)
{
    Openings ret = {.all_read = true};
    for (unsigned i = 0; i < USERS_MAX * USER_REGIONS_MAX; i++) {
        const UserRegion *r = &m->users[i / USER_REGIONS_MAX].regions[i % USER_REGIONS_MAX];
        if (r->state == REGION_FREE || r->file != f)
            continue;
        ret.any = true;
        ret.all_read = ret.all_read && r->flags & DODO_RDONLY;
        ret.longer = ret.longer || r->offset + r->size > f->sim->size;
    }
    return ret;
}

/* It syncs what it writes itself. */
static void append(ManageWorld *m, UserFile *f, SimRng *rng)
{
    static uint8_t bytes[USER_FILE_BYTES];
    SimFile *s = f->sim;
    uint64_t from = s->size;
    uint64_t len = sim_rng_spread(rng, 1, USER_FILE_BYTES - from);
    uint8_t value = (uint8_t)sim_rng_between(rng, 1, USER_VALUES);
    memset(bytes, value, len);
    story(&m->w, "another program appends %llu bytes to file %u at %llu", (unsigned long long)len,
          s->index, (unsigned long long)from);
    simfs_poke(s, from, bytes, len);
    memcpy(s->durable + from, bytes, len);
    truth_grown(m, f, from, len, value);
}

static void cut(ManageWorld *m, UserFile *f, SimRng *rng)
{
    uint64_t size = sim_rng_below(rng, f->sim->size + 1);
    story(&m->w, "another program cuts file %u to %llu bytes", f->sim->index,
          (unsigned long long)size);
    f->cut = true;
    simfs_truncate(f->sim, size);
    truth_cut(m, f);
}

void other_act(UserThread *t)
{
    ManageWorld *m = t->user->m;
    SimRng *rng = &t->user->rng;
    UserFile *f = &m->files[sim_rng_below(rng, USER_FILES)];
    Openings now = openings(m, f);
    if (!now.any || f->cut || truth_written_now(m, f))
        return;
    m->poking = true;
    if (now.all_read && sim_rng_below(rng, 4) == 0)
        cut(m, f, rng);
    else if (!now.longer && f->sim->size < USER_FILE_BYTES)
        append(m, f, rng);
    m->poking = false;
}

bool other_is_read_first(UserThread *t)
{
    const UserRegion *r = t->region;
    if (r->grown_from == NOT_GROWN || t->offset + t->len <= r->grown_from / 4096 * 4096)
        return false;
    t->op = USER_READ;
    t->offset = sim_rng_below(&t->user->rng, r->grown_from + 1);
    t->len = r->len - t->offset;
    return true;
}

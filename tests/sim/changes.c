/* SPDX-License-Identifier: MIT */
/* Files that change while no region of them is open. */
#include "tests/sim/world.h"

/* The program changes a file that nobody has a region of: what was retained must not be used. */
void program_change_file(Thread *t)
{
    Process *p = t->process;
    World *w = p->world;
    SimFile *f = &program_fs(p)->files[sim_rng_below(&p->rng, program_fs(p)->files_count)];
    uint64_t old_mtime = f->mtime_ns;
    program_think(t);
    if (simfs_handles(f) || f->ops)
        return;
    unsigned which = (unsigned)sim_rng_below(&p->rng, 10);
    cover(w, COVER_FILE_CHANGED);
    if (which == 0) {
        cover(w, COVER_FILE_CUT);
        simfs_truncate(f, sim_rng_below(&p->rng, f->size + 1));
    } else if (which == 1) {
        simfs_truncate(f, sim_rng_between(&p->rng, f->size, p->world->p.file_cap));
    } else {
        uint64_t len = sim_rng_spread(&p->rng, 1, 32768);
        uint64_t offset = sim_rng_between(&p->rng, 0, p->world->p.file_cap - len);
        oracle_bytes(++w->next.version, offset, t->buf, len);
        simfs_poke(f, offset, t->buf, len);
        if (which == 2)
            simfs_set_mtime(f, old_mtime);
    }
    if (which == 3) {
        cover(w, COVER_FILE_REPLACED);
        simfs_replace(f);
    }
    story(w, "client%u changes file %u (%u), size now %llu", p->index, f->index, which,
          (unsigned long long)f->size);
}

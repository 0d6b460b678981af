/* SPDX-License-Identifier: MIT */
/* What the cache has saved the program: how much longer reads that needed no file would have taken
 * with it, by what reads of that file cost here. An estimate, which people read. */
#include "libmanage/core_private.h"

static void saved_add(Cache *c, const Region *r, uint64_t reads, uint64_t bytes, uint64_t ns,
                      bool remote)
{
    uint64_t file_ns = cost_of(&r->ways->cost[COST_FILE], bytes);
    if (file_ns == 0)
        return; /* what it costs is not known, or the kernel had all of it */
    c->saved.reads += reads;
    *(remote ? &c->saved.remote_ns : &c->saved.local_ns) += reads * sub_u64(file_ns, ns);
}

void saved_read(Cache *c, const Region *r, uint64_t bytes, uint64_t ns, bool remote)
{
    saved_add(c, r, 1, bytes, ns, remote);
}

void saved_hits(Cache *c, const Region *r, uint64_t reads, uint64_t bytes)
{
    if (reads > 0)
        saved_add(c, r, reads, bytes / reads, cost_of(&c->copy, bytes / reads), false);
}

bool cache_figures(Cache *c, ProgramFigures *ret)
{
    const struct manage_stats *s = &c->stats;
    uint64_t told = s->local_hits + s->remote_hits + s->disk_reads + s->writes +
                    2 * c->regions.ever - c->regions.count;
    bool changed = told != c->saved.told;
    if (!changed)
        return false;
    c->saved.told = told;
    *ret = (ProgramFigures){.regions = c->regions.count,
                            .cached_bytes = c->local.used_bytes,
                            .local_reads = s->local_hits,
                            .local_bytes = s->local_bytes,
                            .remote_reads = s->remote_hits,
                            .remote_bytes = s->remote_bytes,
                            .file_reads = s->disk_reads,
                            .file_bytes = s->disk_bytes,
                            .writes = s->writes,
                            .write_bytes = s->write_bytes,
                            .local_saved_ns = c->saved.local_ns,
                            .remote_saved_ns = c->saved.remote_ns,
                            .valued_reads = c->saved.reads};
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "proto/finder.h"

#include <string.h>

void finder_init(Finder *f, const Places *places)
{
    *f = (Finder){.named = places_have_names(places)};
    f->names = f->named ? FINDER_WANTED : FINDER_QUIET;
    f->count = places_addresses(places, f->found);
}

void finder_fix(Finder *f, const Addr *peer)
{
    *f = (Finder){.count = peer->kind != ADDR_NONE, .found = {*peer}};
}

Addr finder_peer(const Finder *f)
{
    return f->count ? f->found[f->at] : (Addr){.kind = ADDR_NONE};
}

bool finder_next(Finder *f, const Addr *peer)
{
    if (f->count < 2 || !addr_equal(&f->found[f->at], peer)) /* another has been asked since */
        return false;
    f->at = (f->at + 1) % f->count;
    return true;
}

bool finder_silent(Finder *f, const Addr *peer)
{
    if (f->named && f->names == FINDER_QUIET)
        f->names = FINDER_WANTED;
    return finder_next(f, peer);
}

unsigned finder_other(const Finder *f, unsigned at)
{
    for (unsigned i = 0; i < f->count; i++) {
        at = at + 1 < f->count ? at + 1 : 0;
        if (!addr_equal(&f->found[at], &f->found[f->at]))
            return at;
    }
    return f->at;
}

void finder_go(Finder *f, const Addr *peer)
{
    for (unsigned i = 0; i < f->count; i++)
        if (addr_equal(&f->found[i], peer))
            f->at = i;
}

bool finder_take(Finder *f)
{
    if (f->names != FINDER_WANTED)
        return false;
    f->names = FINDER_ASKED;
    return true;
}

bool finder_found(Finder *f, const Addr *found, unsigned count)
{
    const Addr before = finder_peer(f);
    f->names = FINDER_QUIET;
    if (count == 0)
        return false;
    f->count = count < PLACES_FOUND_MAX ? count : PLACES_FOUND_MAX;
    memcpy(f->found, found, f->count * sizeof *found);
    f->at = 0;
    finder_go(f, &before);
    return !addr_equal(&f->found[f->at], &before);
}

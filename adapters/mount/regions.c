/* SPDX-License-Identifier: MIT */
/* Files in the region cache: one region a file, while the file is held. */
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapters/mount/cache.h"
#include "adapters/mount/mount.h"

static bool matches(char **patterns, const char *path)
{
    for (; *patterns; patterns++)
        if (fnmatch(*patterns, path, 0) == 0)
            return true;
    return false;
}

bool regions_chosen(const Mount *m, const Inode *inode)
{
    char buf[PATH_MAX];
    const MountOptions *o = m->options;
    if (!o->only && !o->never)
        return true;
    const char *path = inodes_path(m, inode, buf);
    return path && (!o->only || matches(o->only, path)) && (!o->never || !matches(o->never, path));
}

bool regions_may_have(const Mount *m, const Inode *inode, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (uint64_t)st.st_size >= m->options->min_bytes &&
           regions_chosen(m, inode);
}

typedef struct BeginJob {
    Job job;
    Mirror *mirror;
} BeginJob;

static void begin_mirror(Job *job)
{
    mirror_begin(((BeginJob *)job)->mirror); /* the first member */
    g_free(job);
}

/* The region cache, and before it what it may keep from starting: nobody forks while it starts, and
 * it may itself read files through the mount. NULL: there is none. */
static const CacheCalls *load(const Mount *m)
{
    if (!mirror_has_begun(m->mirror)) {
        BeginJob *begin = g_new(BeginJob, 1);
        *begin = (BeginJob){{.run = begin_mirror}, m->mirror};
        jobs_push(m->lookups, &begin->job); /* a read waits for it, and the other jobs for pages */
        mirror_await(m->mirror);
    }
    const CacheCalls *calls = cache_calls();
    if (calls)
        unwind_load();
    return calls;
}

/* A region of the whole file: its descriptor, or -1. */
static int open_region(const Mount *m, const Inode *inode)
{
    struct stat st;
    if (fstat(inode->lease_fd, &st) < 0 || st.st_size == 0 ||
        (uint64_t)st.st_size < m->options->min_bytes || !regions_chosen(m, inode))
        return -1;
    const CacheCalls *calls = load(m);
    return calls ? calls->copen_flags((size_t)st.st_size, inode->lease_fd, 0,
                                      DODO_RDONLY | DODO_STRIPE | DODO_RETAIN)
                 : -1;
}

/* Opens the region, and gives it to @inode if that is still held by the same lease. Under the lock,
 * but for the opening. */
static void region_make(const Mount *m, Inode *inode)
{
    uint64_t take = inode->trust.takes;
    inode->opening = true;
    pthread_mutex_unlock(&inode->lock);
    int rd = open_region(m, inode);
    CachedRegion *region = rd < 0 ? NULL : malloc(sizeof *region);
    if (region)
        *region = (CachedRegion){.rd = rd};
    else if (rd >= 0)
        (void)!cache_calls()->cclose(rd);
    pthread_mutex_lock(&inode->lock);
    inode->opening = false;
    if (inode->trust.state != TRUST_PLAIN && inode->trust.takes == take) {
        inode->region = region;
        inode->uncached = !region;
    } else if (region) {
        pthread_mutex_unlock(&inode->lock);
        regions_close(region);
        pthread_mutex_lock(&inode->lock);
    }
}

CachedRegion *regions_use(Mount *m, Inode *inode)
{
    if (!inode->region && !inode->uncached && !inode->opening)
        region_make(m, inode);
    CachedRegion *region = inode->region;
    if (region)
        region->users++;
    return region;
}

CachedRegion *regions_done(CachedRegion *region)
{
    return --region->users == 0 && region->over ? region : NULL;
}

CachedRegion *regions_end(Inode *inode)
{
    CachedRegion *region = inode->region;
    inode->region = NULL;
    inode->uncached = false;
    if (region)
        region->over = true;
    return region && region->users == 0 ? region : NULL;
}

void regions_close(CachedRegion *region)
{
    if (!region)
        return;
    (void)!cache_calls()->cclose(region->rd); /* nothing was written to it */
    free(region);
}

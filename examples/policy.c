/* SPDX-License-Identifier: MIT */
/* Your own replacement policy for the region cache: what was used least often leaves first,
 * and of those used equally often the oldest.
 * With Dodo installed: cc policy.c -o policy $(pkg-config --cflags --libs dodo-manage)
 * DODO_CACHE_SIZE=256K ./policy FILE */
#include <dodo/manage.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The library counts e->uses itself: there is nothing to be noted. */
static void used(void *self, DodoManageEntry *e)
{
    (void)self;
    (void)e;
}

/* A policy for large caches would rather keep lists (manage_entry_move_before()). */
static DodoManageEntry *least_often(void *self, const DodoManageDirectory *dir)
{
    DodoManageEntry *least = NULL;
    (void)self;
    for (DodoManageEntry *e = dir->oldest; e; e = e->newer)
        if (!(e->flags & MANAGE_ENTRY_BUSY) && (!least || e->uses < least->uses))
            least = e;
    return least;
}

static const DodoManagePolicy lfu = {.size = sizeof(DodoManagePolicy),
                                     .name = "least often",
                                     .read = used,
                                     .write = used,
                                     .reclaim = least_often};

int main(int argc, char **argv)
{
    enum { PIECE = 1 << 14, READS = 20000 };
    static char buf[PIECE];
    DodoManageStats st;
    struct stat file;
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &file) < 0 || file.st_size < PIECE) {
        fprintf(stderr, "usage: policy FILE    (of 16 KiB at least)\n");
        return 2;
    }
    int policy = manage_register_policy(&lfu);
    if (policy < 0 || csetPolicy(policy) < 0) {
        perror("csetPolicy");
        return 1;
    }
    int rd = dodo_copen_flags((size_t)file.st_size, fd, 0, DODO_RDONLY);
    if (rd < 0) {
        perror("copen");
        return 1;
    }
    for (int i = 0; i < READS; i++) {
        off_t pieces = file.st_size / PIECE, hot = pieces / 5 > 0 ? pieces / 5 : 1;
        off_t at = rand() % (i % 5 ? hot : pieces); /* most go to the first fifth */
        if (cread(rd, at * PIECE, buf, PIECE) != PIECE) {
            perror("cread");
            return 1;
        }
    }
    if (manage_stats(&st) == 0)
        printf("%d reads: %llu from local memory, %llu pieces left it\n", READS,
               (unsigned long long)st.local_hits, (unsigned long long)st.evictions);
    if (fflush(stdout) != 0) {
        perror("policy: cannot write to the standard output");
        return 1;
    }
    return cclose(rd) < 0;
}

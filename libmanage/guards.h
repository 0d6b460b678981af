/* SPDX-License-Identifier: MIT */
/* What the cache promises, by name, at the places that keep it. In the product GUARD() is the
 * constant 1; in the simulation a test breaks one on purpose and must be caught. */
#ifndef DODO_LIBMANAGE_GUARDS_H
#define DODO_LIBMANAGE_GUARDS_H

#define MANAGE_GUARDS(X)                                                                \
    X(DIRTY_VICTIM, "a dirty victim goes to the disk before its last copy leaves")      \
    X(DIRTY_STAYS, "what is dirty does not leave because it is not needed")             \
    X(FAILED_WRITE, "what could not be written stays dirty")                            \
    X(SHORT_WRITE, "what the file took in part counts as not written")                  \
    X(FAILED_READ, "what could not be read is not valid")                               \
    X(HIT, "a read that takes no lock copies what is valid alone")                      \
    X(HIT_ALONE, "nothing is written into a piece while a hit copies from it")          \
    X(HIT_DIRECT, "... also nothing that was written past the cache")                   \
    X(HIT_HANDS_OVER, "a read that takes no lock keeps its region when it needs one")   \
    X(PAST, "a cache that lets go is not read past where it still has something")       \
    X(LIMIT, "the limit is kept")                                                       \
    X(BOTH, "while remote memory is open, each write of the file goes to both")         \
    X(DIRTY_HELD, "remote memory is not believed to hold what is dirty here")           \
    X(LOST, "what was lost is not believed to be held")                                 \
    X(RACED, "an earlier run's data is not read if a write ran beside the opening")     \
    X(LEDGER, "nothing is read unasked that the ledger does not cover")                 \
    X(FILL_BESIDE, "nothing is filled beside a write that goes to the file alone")      \
    X(CLONE_BESIDE, "the file is not written where a clone of it is under way")         \
    X(CLOSING, "nothing is begun for a region that is about to be freed")               \
    X(REFRACTION, "no allocation is tried within the refraction period")                \
    X(JOB_ALONE, "nothing is written into a piece while a job is at it")                \
    X(EDGES, "what a write leaves of a block is what the file has there")               \
    X(FILE_EDGES, "... and never what remote memory says that it has")                  \
    X(FILE_BETWEEN, "nor is what remote memory gave written with dirty blocks")         \
    X(TAIL, "what the file does not have is zeros")                                     \
    X(GROWS, "the end of a file that others made longer moves: its block is forgotten") \
    X(GROWS_DIRTY, "... but not what was written to it")                                \
    X(GROWS_ALONE, "... nor while somebody is at it")                                   \
    X(CUT, "a file that others cut ends there, and no zeros follow")                    \
    X(THROUGH, "what is written through is in the file when cwrite returns")            \
    X(DIRECT_COPY, "what is written past the cache is written to the cached copy too")  \
    X(DIRECT_ALONE, "nothing is fetched where somebody writes past the cache")          \
    X(DIRECT_FAILED, "where a write past the cache failed, the file is asked again")    \
    X(SYNC_WRITES, "csync writes what is dirty")                                        \
    X(SYNC_FILE, "csync waits for the disk")                                            \
    X(SYNC_WRITTEN, "... and so does cclose, if anything was written since")            \
    X(WRITTEN_BESIDE, "... also while the last fdatasync ran")                          \
    X(SYNC_FAILED, "what an fdatasync failed for is dirty again")                       \
    X(SYNC_BESIDE, "... also what was written to the file while it ran")                \
    X(DOUBT, "... also what was being written when it ended")                           \
    X(SYNC_JOINED, "a csync beside which another's failed writes once more")            \
    X(LONE, "a failed fdatasync of data that is cached no more is reported")            \
    X(TOLD, "the next csync or cclose reports a failed write-back")                     \
    X(EXIT_WRITES, "what is dirty is in the file when the process has ended")           \
    X(CLOSE_FAILED, "a close that the file fails leaves the region open")

enum ManageGuard {
#define X(name, text) MANAGE_GUARD_##name,
    MANAGE_GUARDS(X)
#undef X
        MANAGE_GUARD_MAX
};

#ifdef MANAGE_GUARD_SWITCHES
#include <stdint.h>
extern uint64_t manage_broken_guards; /* bit per enum ManageGuard; only in tests */
#define GUARD(name) (!(manage_broken_guards >> MANAGE_GUARD_##name & 1))
#else
#define GUARD(name) 1
#endif

#endif

/* SPDX-License-Identifier: MIT */
/* What the seeds exercised: counters by name, summed over all seeds and workers. A plan that
 * nothing carries out proves nothing, so the long run demands a minimum of each that is marked. */
#ifndef DODO_TESTS_SIM_COVER_H
#define DODO_TESTS_SIM_COVER_H

#include <stdint.h>

/* X(name, demanded in the long run, text) */
#define SIM_COVERS(X)                                                                   \
    X(CALLS, 1, "calls finished")                                                       \
    X(CHECKS, 1, "checked operations")                                                  \
    X(OPENS, 1, "mopen: regions opened")                                                \
    X(OPENS_NO_MEMORY, 1, "mopen: no memory")                                           \
    X(OPENS_BUSY, 1, "mopen: refused by a lock")                                        \
    X(OPENS_KILLED_OWNER, 1, "mopen: range of a killed process opened again")           \
    X(READS, 1, "mread")                                                                \
    X(READS_HIT, 1, "mread: wholly remote")                                             \
    X(READS_MISS, 1, "mread: some from the file")                                       \
    X(READS_END_OF_FILE, 1, "mread: short at the end of the file")                      \
    X(READS_OVER_WRITE, 1, "mread: overlaps a running mwrite")                          \
    X(READS_OTHER_VALUE, 1, "mread: returned bytes of a write beside it")               \
    X(READS_NO_MEMORY, 1, "mread: region lost")                                         \
    X(READS_FALLBACK, 1, "mread: from the file by DODO_FALLBACK")                       \
    X(READS_ASYNC, 1, "mread: beside other calls of its thread")                        \
    X(READS_ASYNC_LOSS, 1, "mread: ... where datagrams get lost")                       \
    X(READS_VECTOR, 1, "mread: over several buffers")                                   \
    X(OFFERS, 1, "mfillv: some")                                                        \
    X(OFFERS_SHORT, 1, "mfillv: a write beside")                                        \
    X(FILLS_READ, 1, "parts of files that were read to be filled")                      \
    X(FILLS_READ_SHORT, 1, "... and not whole: a write, or other fills, or the end")    \
    X(DISCARDS, 1, "mdiscard")                                                          \
    X(DRAINS, 1, "hosts taken out of service")                                          \
    X(DRAINS_CANCELLED, 1, "... and put back")                                          \
    X(MOVES, 1, "regions that left a host, while they were open")                       \
    X(SHARED, 1, "regions that another process of the host had opened")                 \
    X(INHERITED, 1, "regions that went from one process to another with all they held") \
    X(CARRIED, 1, "regions that were kept on a host that is drained, and carried")      \
    X(PREFETCHES, 1, "prefetch: hints")                                                 \
    X(EXTENTS, 1, "prefetch: reads that brought what was announced around them")        \
    X(WRITES, 1, "mwrite")                                                              \
    X(WRITES_ASYNC, 1, "mwrite: beside other calls of its thread")                      \
    X(WRITES_ASYNC_LOSS, 1, "mwrite: ... where datagrams get lost")                     \
    X(HELD, 1, "calls that began later than they were submitted")                       \
    X(CANCELLED_READS, 1, "mread: cancelled")                                           \
    X(CANCELLED_WRITES, 1, "mwrite: cancelled before it began")                         \
    X(CANCELLED_LATE, 1, "calls that could not be cancelled any more")                  \
    X(WRITES_VECTOR, 1, "mwrite: over several buffers")                                 \
    X(WRITES_NO_MEMORY, 1, "mwrite: region lost, nothing written")                      \
    X(WRITES_QUEUED, 1, "mwrite: waited for another on a common block")                 \
    X(WRITES_FAILED, 1, "mwrite: the file failed")                                      \
    X(WRITES_SHORT, 1, "mwrite: the file took less")                                    \
    X(WRITES_EXTEND, 1, "mwrite: made the file longer")                                 \
    X(SYNCS, 1, "msync")                                                                \
    X(SYNCS_FAILED, 1, "msync: fdatasync failed")                                       \
    X(CLOSES, 1, "mclose")                                                              \
    X(CLOSES_UNHEARD, 1, "mclose: nobody could be informed")                            \
    X(BAD_ARGUMENTS, 1, "calls with bad arguments")                                     \
    X(FILLS_ACCEPTED, 1, "fills accepted")                                              \
    X(FILLS_REFUSED, 1, "fills refused: older than a write")                            \
    X(WRITES_REPEATED, 1, "duplicate writes refused: answered done")                    \
    X(WRITES_VOIDED, 1, "writes voided at the host")                                    \
    X(POISONED, 1, "copies poisoned")                                                   \
    X(LIES, 1, "host's memory changed by itself")                                       \
    X(CORRUPT, 1, "copies dropped: not what the host was given")                        \
    X(BUSY, 1, "refused by a busy host")                                                \
    X(DENIED, 1, "addresses refused by a host")                                         \
    X(REQUESTS_REPEATED, 1, "control requests that came again")                         \
    X(STRIPED_OPENS, 1, "striped: regions opened")                                      \
    X(STRIPED_OPENS_PARTLY, 1, "striped: opened without room for all")                  \
    X(STRIPED_READS, 1, "striped: mread over several stripes")                          \
    X(STRIPED_READS_LOST, 1, "striped: ... one of which has no memory")                 \
    X(STRIPED_WRITES, 1, "striped: mwrite over several stripes")                        \
    X(STRIPED_WRITES_LOST, 1, "striped: ... one of which has no memory")                \
    X(STRIPES_LOST, 1, "striped: stripe lost")                                          \
    X(STRIPES_BACK, 1, "striped: stripe established again")                             \
    X(STRIPED_DEAD, 1, "striped: last stripe lost")                                     \
    X(STRIPED_REUSED, 1, "striped: retained stripes found again")                       \
    X(MIRRORED_OPENS, 0, "mirrored: regions opened")                                    \
    X(MIRRORED_BOTH, 0, "mirrored: ... with two copies at once")                        \
    X(COPIES_LOST, 0, "mirrored: copy lost while the other one lived")                  \
    X(COPIES_BACK, 0, "mirrored: second copy made")                                     \
    X(MIRRORED_DEAD, 0, "mirrored: both copies lost")                                   \
    X(TURNS, 0, "mirrored: reads that went on at the other copy")                       \
    X(HEALS, 0, "mirrored: pieces healed from the other copy")                          \
    X(MIRRORED_EVEN, 0, "mirrored: two copies, the same in both, when all is healed")   \
    X(RETAINED_REUSED, 1, "retained region found again")                                \
    X(RETAINED_REUSED_DRAINED, 0, "... on a host that is drained")                      \
    X(RETAINED_STALE, 1, "retained region refused: the file changed")                   \
    X(RETAINED_MISSED, 0, "retained region not found though it was fresh")              \
    X(RETAINED_DROPPED, 1, "retained region dropped: evicted, aged, or out of date")    \
    X(LATE_WRITES, 1, "write of another program that outlasted an opening")             \
    X(REOPENED_AFTER_CRASH, 1, "range opened again after a crash between the halves")   \
    X(KILLED_BETWEEN_HALVES, 1, "process killed between the halves of a write")         \
    X(CLIENT_KILLED, 1, "client killed")                                                \
    X(CLIENT_PAUSED, 1, "client paused")                                                \
    X(CLIENT_RECLAIMED, 1, "client reclaimed by the manager")                           \
    X(PAUSED_RECLAIMED, 1, "reclaimed while paused, then went on")                      \
    X(IMD_CRASHED, 1, "host crashed")                                                   \
    X(IMD_LEFT, 1, "host left")                                                         \
    X(IMD_PAUSED, 1, "host paused")                                                     \
    X(THREAD_PAUSED, 1, "data thread paused")                                           \
    X(EPOCHS, 1, "host came back with another epoch")                                   \
    X(GIVEN_BACK, 1, "host gave the memory of a region back")                           \
    X(OWNERS_TOLD, 1, "monitor told the manager of its host")                           \
    X(RECLAIMED, 1, "owner came back, his host was reclaimed")                          \
    X(SAVES, 0, "... while what was used last moved away")                              \
    X(SAVED_ALL, 0, "... until nothing was left there")                                 \
    X(EXTENTS_GONE, 1, "extents unfilled, for the owner")                               \
    X(FILLS_NO_ROOM, 1, "fills refused: the owner needs the memory")                    \
    X(LIMITED, 1, "owner made a host's pool smaller")                                   \
    X(READS_BESIDE_SILENCE, 1, "reads from a live host while another said nothing")     \
    X(TRICKLED, 0, "hosts that answer, and serve next to nothing")                      \
    X(HOST_DEATHS, 1, "host given up by a client")                                      \
    X(HOSTS_LOST, 1, "host given up by the manager")                                    \
    X(CMD_CRASHED, 1, "manager lost its memory")                                        \
    X(CMD_PAUSED, 1, "manager paused")                                                  \
    X(LEASES, 0, "another manager became active")                                       \
    X(LEASE_UNNOTICED, 0, "... and the one before it did not notice")                   \
    X(RECONCILED, 1, "regions freed because nobody claimed them")                       \
    X(NEXT_HOST, 1, "placement tried the next host")                                    \
    X(REFRACTIONS, 1, "refraction periods")                                             \
    X(PARTITIONS, 1, "partitions")                                                      \
    X(ONE_WAY_CUTS, 1, "one-way cuts")                                                  \
    X(CORRUPTED, 1, "corrupted datagrams dropped (sealed)")                             \
    X(REPLAYED, 1, "replayed datagrams dropped (sealed)")                               \
    X(STRANGERS, 1, "wrong addresses tried by a stranger")                              \
    X(FILE_CHANGED, 1, "file changed while closed")                                     \
    X(FILE_CUT, 1, "file truncated while closed")                                       \
    X(FILE_REPLACED, 1, "file replaced while closed")                                   \
    X(FILE_OP_FAILED, 1, "injected failures of the file system")                        \
    X(NO_MEMORY, 1, "allocations that failed")                                          \
    X(SEALED_SEEDS, 1, "seeds with a key")                                              \
    X(LATER_SEEDS, 1, "seeds where some are of a later build")                          \
    X(SAYS_MORE, 1, "... which said more in a message")                                 \
    X(NET_LOST, 1, "datagrams lost")                                                    \
    X(NET_DUPLICATED, 1, "datagrams duplicated")                                        \
    X(NET_LATE, 1, "datagrams that came again late")                                    \
    X(NET_REORDERED, 1, "datagrams overtaken")                                          \
    X(NET_OVERRUN, 1, "datagrams lost in full queues")                                  \
    X(PARTS, 1, "shells: calls that brought a part of what was there")                  \
    X(JOINED, 1, "shells: runs that came joined")                                       \
    X(SEND_QUEUE_FULL, 1, "shells: datagrams dropped by a full send queue")             \
    X(NO_ROUTE, 1, "shells: messages that had no route")                                \
    X(CUT_OFF, 1, "shells: ports that saw that they are cut off")                       \
    X(REACHES_AGAIN, 1, "shells: ... and that they reach others again")                 \
    X(LOOKS_LATE, 1, "shells: looks that came late")                                    \
    X(TIMERS_LATE, 1, "shells: timers that fired late")

enum SimCover {
#define X(name, demanded, text) COVER_##name,
    SIM_COVERS(X)
#undef X
        COVER_MAX
};

#endif

/* SPDX-License-Identifier: MIT */
/* The rules of correctness, by name, at the places that keep them.
 *
 * `if (RULE(FILL_NEVER_OVERTAKES) && ...)` reads as the condition that the rule demands. In the
 * product RULE() is the constant 1 and costs nothing. Built with DODO_RULE_SWITCHES (the
 * simulation's copy of the cores) a test can break one rule on purpose and must then be caught. */
#ifndef DODO_PROTO_RULES_H
#define DODO_PROTO_RULES_H

#define DODO_RULES(X)                                                                         \
    X(LOCK, "an open region is locked against other openers")                                 \
    X(EPOCH, "an address is refused by an imd of another epoch")                              \
    X(REGION_ID, "a region id is never used again in an epoch")                               \
    X(OPENING, "an address is refused after the region was opened again")                     \
    X(CAPABILITY, "an address with a wrong capability is refused")                            \
    X(UNFILLED_FIRST, "a new region holds nothing")                                           \
    X(END_OF_FILE, "a block that reaches past the end of the file is not filled")             \
    X(PARTIAL_WRITE, "a write of part of an unfilled block leaves it unfilled")               \
    X(WRITE_UNFILLS, "a block is unfilled from the first packet of a write until its last")   \
    X(WRITES_SERIALIZED, "writes that touch a common block are serialized by the client")     \
    X(FILL_COUNTER, "a fill older than the block's last write is refused")                    \
    X(OFFER_OVERTAKEN, "what the program gives fills nothing that a write has touched since") \
    X(FILL_COMPLETE, "a block is filled only when every byte of it came")                     \
    X(READ_BESIDE_WRITE, "a read that overlaps a write in progress takes the file, no fill")  \
    X(FILE_FAILURE, "a failed file write unfills the blocks before mwrite returns")           \
    X(POISON, "a copy whose remote half failed is never read again")                          \
    X(CHECKED, "what a host returns is used only if it is what the host was given")           \
    X(WRITE_ONCE, "a finished write is never applied again")                                  \
    X(WRITE_IN_TURN, "of a write in pieces one reaches the file after the other")             \
    X(FIRST_END, "a read in pieces ends where the first of them is short")                    \
    X(REQUEST_ONCE, "a control request is never executed twice")                              \
    X(STAMP, "a retained region is reused only with an unchanged stamp")                      \
    X(COARSE_STAMP, "stamps of whole seconds are as coarse as two seconds")                   \
    X(NO_WRITER, "a region is retained only if nobody has its file open for writing")         \
    X(RELEASE_UNWRITTEN, "a region that may have been written since is not retained")         \
    X(WITHDRAW, "reopening for writing withdraws the release record first")                   \
    X(ASK_ECHO, "data counts only if it echoes an ask of this very call")                     \
    X(EXTENT_UNFILLED, "what is given back is unfilled first")                                \
    X(EXTENT_FORGOTTEN, "a write or fill under way fills nothing that was given back since")  \
    X(EXTENT_GOING, "memory on its way back is used by nobody")                               \
    X(EXTENT_ROOM, "no more is filled than the owner allows")                                 \
    X(RECONCILE, "what nobody claims is freed, what is claimed is kept")                      \
    X(GRACE, "a manager that just started waits before it frees the unclaimed")               \
    X(SETTLED, "an opening still in flight is not taken for unclaimed")                       \
    X(LIST_SETTLED, "a host's list waits for no request that was given up")                   \
    X(OWN_SILENCE, "silence counts only while the listener itself ran")                       \
    X(SILENT_CREDIT, "what a silent host was asked for holds up no other host")               \
    X(SLOW_HOST, "a host that answers, but serves next to nothing, is given up")              \
    X(FENCE, "who has heard a manager obeys none of an older lease")                          \
    X(OWNER_EPOCH, "an owner's late word ends no imd but the one that it names")              \
    X(HOST_DEATH, "a dead or renewed host costs all its descriptors at once")                 \
    X(MIRROR_APART, "the two copies of a region are on different hosts")                      \
    X(MIRROR_BOTH, "a write goes to both copies, and is over when each has it or is dropped") \
    X(MIRROR_TURN, "what one copy lacks, or is lost with it, is read from the other one")     \
    X(MIRROR_LOOK, "a copy that nobody reads is looked at")                                   \
    X(MIRROR_HEALS, "a copy gets what only the other one has")                                \
    X(HEAL_COUNTER, "a copy is healed with nothing that a write has touched since")           \
    X(HEAL_CHECKED, "a copy is healed only with what is proven to be the file's")             \
    X(GIVEN_UP, "an answer from before a discard does not make a block filled")               \
    X(MOVE_WHOLE, "a copy leaves a host only when another one has all that it has")           \
    X(HEAL_FILLED, "a copy is healed only with blocks that the other one has filled")         \
    X(SAVE_ENDS, "an imd whose owner is back leaves in time, whatever still moves")

enum DodoRule {
#define X(name, text) DODO_RULE_##name,
    DODO_RULES(X)
#undef X
        DODO_RULE_MAX
};

#ifdef DODO_RULE_SWITCHES
#include <stdint.h>
extern uint64_t dodo_broken_rules; /* bit per enum DodoRule; only in tests */
#define RULE(name) (!(dodo_broken_rules >> DODO_RULE_##name & 1))
#else
#define RULE(name) 1
#endif

#endif

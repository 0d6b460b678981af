/* SPDX-License-Identifier: MIT */
/* What a host has not of a read's window: run by run it comes from the backing file, whole blocks,
 * which are offered as fills. What was announced around a run is read with it. */
#ifndef DODO_LIBDODO_MISSES_H
#define DODO_LIBDODO_MISSES_H

#include "libdodo/calls.h"

static inline uint64_t read_window_start(const CallState *st)
{
    return st->user.offset + st->user.done;
}

/* Of what has come: is this block of the window not filled, or not proven? */
static inline bool read_block_missing(const CallState *st, uint64_t block)
{
    return read_transfer_unfilled(&st->u.read, block);
}

/* Asks the file for what the window lacks. True: it lacks nothing. */
bool misses_begin(Call *call);
/* The file gave what was asked for, and is asked for the rest. True: all is there, or the file
 * ended, and user.done is where (read.short_file). */
bool misses_came(Call *call, const FileResult *result);
/* What is being read lies around a run: if that fails, the call does not. */
bool misses_beside(const Call *call);
/* @bytes of the caller's came from the file; @instead: they were counted as remote before. */
void misses_count(Call *call, uint64_t bytes, bool instead);

#endif

/* SPDX-License-Identifier: MIT */
/* The manager's names are resolved: at the start by the thread that starts the library, later by
 * one of their own, so that no thread that reads or writes waits for it. That thread may outlive
 * the library's life in the process. */
#ifndef DODO_LIBDODO_NAMES_H
#define DODO_LIBDODO_NAMES_H

#include "base/resolve.h"
#include "libdodo/settings.h"

typedef struct Names Names;

/* From the thread that resolves; @found is borrowed. */
typedef void NamesFn(void *ctx, const Resolved *found);
/* Afterwards, without a lock: for the log, whose hook is the user's. */
typedef void NamesTellFn(const Resolved *found);

/* The places at once; *ret: for later, NULL where there are no names or no memory. */
void names_first(const Settings *s, Resolved *found);
Names *names_new(const Settings *s, NamesFn *fn, void *ctx, NamesTellFn *tell);
/* @fn follows. */
void names_resolve(Names *n);
/* @fn is not called any more, nor is @tell but for what @fn has heard. */
void names_end(Names *n); /* NULL is fine */
/* In a child of fork(): the thread is not here. */
void names_abandon(Names *n);

#endif

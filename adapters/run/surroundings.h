/* SPDX-License-Identifier: MIT */
/* What there is here of what `dodo run` needs. */
#ifndef DODO_ADAPTERS_RUN_SURROUNDINGS_H
#define DODO_ADAPTERS_RUN_SURROUNDINGS_H

#include "adapters/run/verdict.h"

/* Who asks, and whether the library is there. */
void surroundings_look(enum How how, Surroundings *ret);
/* Tries what a mount needs, and changes nothing. */
void surroundings_try_mount(Surroundings *s);

#endif

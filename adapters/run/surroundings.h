/* SPDX-License-Identifier: MIT */
/* What there is here of what `dodo run` needs. */
#ifndef DODO_ADAPTERS_RUN_SURROUNDINGS_H
#define DODO_ADAPTERS_RUN_SURROUNDINGS_H

#include "adapters/run/verdict.h"

/* Tries it for all ways that @how may take, and changes nothing. */
void surroundings_look(enum How how, Surroundings *ret);

#endif

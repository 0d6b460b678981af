/* SPDX-License-Identifier: MIT */
/* The kinds of sources that there are: a line here, and one in the table of sources.c, for each. */
#ifndef DODO_RMD_SOURCE_KINDS_H
#define DODO_RMD_SOURCE_KINDS_H

#include "rmd/source.h"

extern const SourceKind source_devices, source_utmp, source_input, source_logind, source_x11,
    source_desktop;

#endif

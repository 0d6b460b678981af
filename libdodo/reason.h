/* SPDX-License-Identifier: MIT */
/* Why a call of libmanage failed, which libmanage passes to libdodo. Not for programs. */
#ifndef DODO_LIBDODO_REASON_H
#define DODO_LIBDODO_REASON_H

#include "dodo/dodo.h"

/* This thread's dodo_last_error() is a copy of @text, cut where that is too long. */
DODO_API void dodo_private_reason(const char *text);

#endif

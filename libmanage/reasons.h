/* SPDX-License-Identifier: MIT */
/* The text behind errno, for dodo_last_error(): what went wrong, and what to do. */
#ifndef DODO_LIBMANAGE_REASONS_H
#define DODO_LIBMANAGE_REASONS_H

#include <stddef.h>

enum ManageCallName {
    NAME_COPEN,
    NAME_CREAD,
    NAME_CWRITE,
    NAME_CSYNC,
    NAME_CCLOSE,
    NAME_CADVISE,
    NAME_POLICY,
    NAME_REGISTER,
    NAME_STATS,
    NAME_SET
};

enum { REASON_MAX = 640 };

/* @detail: what is wrong with a setting, and what to do; "" else. */
void reason_write(char text[REASON_MAX], enum ManageCallName call, int error, const char *detail);

#endif

/* SPDX-License-Identifier: MIT */
/* What rmd does once and without a cluster: --check, --explain. */
#ifndef DODO_RMD_ONCE_H
#define DODO_RMD_ONCE_H

#include "rmd/options.h"

/* 0, or -EINVAL and what is wrong; prints that all is right. */
int rmd_check(const RmdOptions *o, char error[CONFIG_ERROR_MAX]);
/* Prints what is seen and what would decide. 0; -errno, and @error. */
int rmd_explain(const RmdOptions *o, char error[CONFIG_ERROR_MAX]);

#endif

/* SPDX-License-Identifier: MIT */
#include "tools/external.h"

#include "base/cleanup.h"

#define PLACES(dir, file)                                                                        \
    {                                                                                            \
        "../adapters/" dir "/" file, DODO_LIBEXEC_FROM_BIN "/" file, DODO_LIBEXEC "/" file, NULL \
    }

const External externals[] = {
    {"mount", "Show a directory, its files cached, until SIGTERM", "dodo-mount", NULL,
     PLACES("mount", "dodo-mount")},
    {"run", "Run a program that reads its files through the cache", "dodo-mount", "dodo_run_main",
     PLACES("run", "dodo-run.so")},
};
const size_t externals_count = ARRAY_SIZE(externals);

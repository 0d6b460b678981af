/* SPDX-License-Identifier: MIT */
#include "tools/external.h"

#include "base/cleanup.h"

#define PLACES(name)                                                            \
    {                                                                           \
        "../adapters/" name "/dodo-" name, DODO_LIBEXEC_FROM_BIN "/dodo-" name, \
            DODO_LIBEXEC "/dodo-" name, NULL                                    \
    }

const External externals[] = {
    {"mount", "Show a directory, its files cached, until SIGTERM", "dodo-mount", PLACES("mount")},
    {"run", "Run a program that reads its files through the cache", "dodo-mount", PLACES("run")},
};
const size_t externals_count = ARRAY_SIZE(externals);

/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <pthread.h>

#include "adapters/mount/mount.h"

static void load(void)
{
    (void)dlopen("libgcc_s.so.1", RTLD_NOW);
}

void unwind_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
}

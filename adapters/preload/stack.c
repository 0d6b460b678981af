/* SPDX-License-Identifier: MIT */
#include "adapters/preload/stack.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>

#include "adapters/preload/calls.h"
#include "adapters/preload/real.h"

enum { ROOM = 64 << 10 }; /* several times what a read takes */

/* As the program has set it last; of no size: none. Asking the kernel at each read would take
 * longer than many a read. */
static __thread struct {
    uintptr_t at;
    size_t size;
} apart __attribute__((tls_model("initial-exec")));

bool stack_is_small(void)
{
    char here;
    return apart.size > 0 && apart.size < ROOM && (uintptr_t)&here - apart.at < apart.size;
}

int call_sigaltstack(const stack_t *stack, stack_t *before) EXPORTED("sigaltstack");
int call_sigaltstack(const stack_t *stack, stack_t *before)
{
    int res = real_sigaltstack(stack, before);
    if (res == 0 && stack) {
        apart.at = (uintptr_t)stack->ss_sp;
        apart.size = stack->ss_flags & SS_DISABLE ? 0 : stack->ss_size;
    }
    return res;
}

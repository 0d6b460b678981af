/* SPDX-License-Identifier: MIT */
/* The kernel calls run() instead of a handler of the program's, and run() calls that. A program
 * that asks which handler there is gets its own. */
#include "adapters/preload/handlers.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "adapters/preload/calls.h"
#include "adapters/preload/real.h"

typedef void (*Call)(int number, siginfo_t *info, void *context);

/* Addresses, as the calls below have two types for them. */
static atomic_uintptr_t handlers[_NSIG];
static atomic_int flags[_NSIG]; /* with which they were set (sigaction(2)) */

/* ---- what runs ------------------------------------------------------------------------------- */

enum { DEPTH = 8 };

typedef struct Running {
    uintptr_t at;  /* on the stack */
    stack_t apart; /* the stack that it runs on, if that is one for handlers alone */
    int number;
    bool blocks; /* the signal is blocked meanwhile, as is usual */
} Running;

/* Those that have been left by longjmp(3) stay until somebody looks. One that is deeper than there
 * is room for takes the place of the last. */
static __thread struct {
    unsigned count;
    Running of[DEPTH];
} running __attribute__((tls_model("initial-exec")));

static bool blocked(int number)
{
    sigset_t now;
    return pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, number) == 1;
}

/* A sandbox may end programs for calls of the kernel: there is one only where nothing else shows
 * that a jump has left the handler. */
static Running made(int number, uintptr_t at)
{
    const int how = flags[number];
    Running r = {.at = at, .number = number, .blocks = !(how & SA_NODEFER)};
    if (r.blocks || !(how & SA_ONSTACK) || sigaltstack(NULL, &r.apart) < 0 ||
        !(r.apart.ss_flags & SS_ONSTACK))
        r.apart.ss_size = 0;
    return r;
}

/* What runs now was not called by it. siglongjmp(3) ends the blocking, too. */
static bool is_over(const Running *r)
{
    const uintptr_t here = (uintptr_t)&r;
    if (r->blocks && !blocked(r->number))
        return true;
    return here > r->at || (r->apart.ss_size > 0 && here < (uintptr_t)r->apart.ss_sp);
}

bool handlers_run(void)
{
    while (running.count > 0 && is_over(&running.of[running.count - 1]))
        running.count--;
    return running.count > 0;
}

static void run(int number, siginfo_t *info, void *context)
{
    const unsigned before = running.count, here = before < DEPTH ? before : DEPTH - 1;
    const Call handler = (Call)atomic_load(&handlers[number]); // NOLINT
    running.count = here + 1; /* first: another handler may come between */
    atomic_signal_fence(memory_order_seq_cst);
    running.of[here] = made(number, (uintptr_t)&before);
    handler(number, info, context);
    running.count = before;
}

/* ---- what is set ----------------------------------------------------------------------------- */

static bool is_handler(uintptr_t at)
{
    return at != (uintptr_t)SIG_DFL && at != (uintptr_t)SIG_IGN && at != (uintptr_t)SIG_ERR &&
           at != (uintptr_t)SIG_HOLD && at != (uintptr_t)run;
}

/* What the C library is to set for @handler. *@before: of the program's, if it had one. No call
 * fails that has a handler for a signal that may have one. */
static uintptr_t change(int number, uintptr_t handler, int how, uintptr_t *before)
{
    *before = 0;
    if (number <= 0 || number >= _NSIG)
        return handler;
    const bool sets = is_handler(handler);
    if (sets)
        flags[number] = how;
    *before = sets ? atomic_exchange(&handlers[number], handler) : handlers[number];
    return sets ? (uintptr_t)run : handler;
}

/* What the program had set, where the C library says @was. */
static sighandler_t program_has(uintptr_t before, sighandler_t was)
{
    return (uintptr_t)was == (uintptr_t)run ? (sighandler_t)before : was; // NOLINT
}

static int do_sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    struct sigaction set = {.sa_handler = SIG_DFL}, was = {.sa_handler = SIG_DFL};
    uintptr_t handler;
    if (action)
        set = *action;
    set.sa_handler = (sighandler_t)change(number, (uintptr_t)set.sa_handler, set.sa_flags, // NOLINT
                                          &handler);
    int res = real_sigaction(number, action ? &set : NULL, &was);
    was.sa_handler = program_has(handler, was.sa_handler);
    if (res == 0 && before)
        *before = was;
    return res;
}

typedef sighandler_t (*Setter)(int number, sighandler_t handler);

static sighandler_t do_signal(Setter setter, int number, sighandler_t handler)
{
    uintptr_t before;
    const int how = setter == real_sysv_signal ? SA_NODEFER : 0;
    handler = (sighandler_t)change(number, (uintptr_t)handler, how, &before); // NOLINT
    return program_has(before, setter(number, handler));
}

/* ---- the names ------------------------------------------------------------------------------- */

#define SIGACTION(alias, name)                                                      \
    int alias(int number, const struct sigaction *action, struct sigaction *before) \
        EXPORTED(name);                                                             \
    int alias(int number, const struct sigaction *action, struct sigaction *before) \
    {                                                                               \
        return do_sigaction(number, action, before);                                \
    }
SIGACTION(call_sigaction, "sigaction")
SIGACTION(call_sigaction_, "__sigaction")

#define SIGNAL(alias, name, setter)                                      \
    sighandler_t alias(int number, sighandler_t handler) EXPORTED(name); \
    sighandler_t alias(int number, sighandler_t handler)                 \
    {                                                                    \
        return do_signal(setter, number, handler);                       \
    }
SIGNAL(call_signal, "signal", real_signal)
SIGNAL(call_bsd_signal, "bsd_signal", real_signal)
SIGNAL(call_ssignal, "ssignal", real_signal)
SIGNAL(call_sysv_signal, "sysv_signal", real_sysv_signal)
SIGNAL(call_sysv_signal_, "__sysv_signal", real_sysv_signal)
SIGNAL(call_sigset, "sigset", real_sigset)

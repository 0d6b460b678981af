/* SPDX-License-Identifier: MIT */
/* Which schedules are run: all of them, random ones, or one again. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/interleave_private.h"

/* The next one in order, with no more than so many preemptions. */
static bool next_schedule(unsigned preemptions)
{
    Shared *s = plan.shared;
    for (unsigned n = s->decisions_count; n > 0; n--) {
        Decision *d = &s->decisions[n - 1];
        if (d->taken + 1 == d->ways || d->spent + d->cost > preemptions)
            continue;
        d->taken++;
        plan.prefix = n;
        return true;
    }
    return false;
}

static void explore_all(enum Lateness lateness, const InterleaveLimits *limits)
{
    InterleaveResult *r = &plan.shared->result;
    uint64_t count = 0;
    plan.shared->lateness = lateness;
    plan.prefix = 0;
    do {
        if (++count > limits->schedules_max) {
            plan.failed = true;
            (void)snprintf(r->what, sizeof r->what, "more than %" PRIu64 " schedules",
                           limits->schedules_max);
            return;
        }
        explorer_run();
        r->schedules++;
    } while (!plan.failed && next_schedule(limits->preemptions));
}

static void explore_random(const InterleaveLimits *limits)
{
    plan.shared->lateness = STORES_ANY;
    plan.prefix = 0;
    plan.random = true;
    for (uint64_t i = 0; i < limits->random && !plan.failed; i++) {
        sim_rng_init(&plan.rng, i, 0x7363686564);
        explorer_run();
        plan.shared->result.random++;
    }
}

static const char *const lateness_names[] = {"now", "late", "any"};

/* When stores are seen, and the decisions that are not the first way: "late 17:1 42:2". */
static void schedule_text(const Shared *s, char *ret, size_t size)
{
    size_t n = (size_t)snprintf(ret, size, "%s", lateness_names[s->lateness]);
    for (unsigned i = 0; i < s->decisions_count && n < size; i++)
        if (s->decisions[i].taken)
            n += (size_t)snprintf(ret + n, size - n, " %u:%u", i, s->decisions[i].taken);
}

static bool schedule_parse(Shared *s, const char *text)
{
    bool known = false;
    size_t skip = strcspn(text, " ");
    for (unsigned i = 0; i < 3; i++)
        if (strlen(lateness_names[i]) == skip && strncmp(text, lateness_names[i], skip) == 0) {
            s->lateness = (enum Lateness)i;
            known = true;
        }
    unsigned at, way;
    int used;
    for (text += skip; sscanf(text, " %u:%u%n", &at, &way, &used) == 2; text += used) {
        if (at >= INTERLEAVE_DECISIONS || way > UINT8_MAX)
            return false;
        s->decisions[at].taken = (uint8_t)way;
        plan.prefix = at + 1;
    }
    return known && !*text;
}

static Shared *shared_memory(void)
{
    void *p = mmap(NULL, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

/* A crash ends the process, whatever the test's framework does about signals, and leaves no core.
 */
static void die_of_crashes(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
        (void)signal(crashes[i], SIG_DFL);
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* In a process of its own: what a failed schedule leaves behind harms no other, and a crash is a
 * failure as others are. */
static void in_child(const InterleaveScenario *s, unsigned breaks, void (*work)(const void *arg),
                     const void *arg, InterleaveResult *ret)
{
    Shared *shared = shared_memory();
    int status;
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        die_of_crashes();
        plan.scenario = s;
        plan.breaks = breaks;
        plan.shared = shared;
        work(arg);
        shared->result.failed = plan.failed;
        (void)fflush(NULL);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid)
        abort();
    *ret = shared->result;
    if (!WIFEXITED(status)) {
        ret->failed = true;
        (void)snprintf(ret->what, sizeof ret->what, "the code died (%s)",
                       strsignal(WTERMSIG(status)));
    }
    if (ret->failed)
        schedule_text(shared, ret->schedule, sizeof ret->schedule);
    (void)munmap(shared, sizeof *shared);
}

static void work_explore(const void *arg)
{
    const InterleaveLimits *limits = arg;
    explore_all(STORES_NOW, limits);
    if (!plan.failed && plan.shared->late_ever)
        explore_all(STORES_LATE, limits);
    if (!plan.failed)
        explore_random(limits);
}

static void work_replay(const void *arg)
{
    if (!schedule_parse(plan.shared, arg)) {
        (void)fprintf(stderr, "no schedule: %s\n", (const char *)arg);
        abort();
    }
    explorer_run();
}

void interleave_explore(const InterleaveScenario *s, const InterleaveLimits *limits,
                        InterleaveResult *ret)
{
    in_child(s, limits->breaks, work_explore, limits, ret);
}

void interleave_replay(const InterleaveScenario *s, unsigned breaks, bool trace,
                       const char *schedule, InterleaveResult *ret)
{
    plan.trace = trace;
    in_child(s, breaks, work_replay, schedule, ret);
}

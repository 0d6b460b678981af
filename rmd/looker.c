/* SPDX-License-Identifier: MIT */
#include "rmd/looker.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/os.h"
#include "base/time.h"
#include "daemon/log.h"
#include "rmd/container.h"
#include "rmd/facts_read.h"
#include "rmd/load.h"
#include "rmd/shares.h"

enum { SHARE_IMD, SHARE_SAVERS, SHARE_COUNT };
static const time_t STOP_PATIENCE_S = 2;

struct Looker {
    const RmdOptions *options;
    SourceSettings settings;
    char container[CONTAINER_MAX];
    Sources *sources;
    FactsReader *facts;
    LoadShare shares[SHARE_COUNT];
    ShareSet savers;
    _Atomic int imd;

    Mailbox *mailbox;
    bool runs;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under the lock */
};

Looker *looker_new(const RmdOptions *options, InputHelper *input)
{
    Looker *l = g_new0(Looker, 1);
    pthread_condattr_t monotonic;
    l->options = options;
    l->settings = (SourceSettings){.consoles = options->sources.consoles,
                                   .utmp = options->sources.utmp,
                                   .input = options->sources.input,
                                   .input_ask = input ? input_helper_ask : NULL,
                                   .input_ctx = input,
                                   .bus = options->sources.bus,
                                   .session_bus = options->sources.session_bus,
                                   .display = options->sources.display};
    if (container_detect("", getenv("container"), l->container))
        l->settings.container = l->container;
    pthread_mutex_init(&l->lock, NULL);
    pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&l->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    l->sources = sources_new(&l->settings);
    l->facts = facts_reader_new("");
    return l->sources && l->facts ? l : looker_free(l);
}

Looker *looker_free(Looker *l)
{
    if (!l)
        return NULL;
    l->sources = sources_free(l->sources);
    l->facts = facts_reader_free(l->facts);
    pthread_cond_destroy(&l->wake);
    pthread_mutex_destroy(&l->lock);
    g_free(l);
    return NULL;
}

/* ---- a look ---------------------------------------------------------------------------------- */

static void update_shares(Looker *l)
{
    uint64_t now = os_now_ns(), busy;
    int imd = atomic_load(&l->imd);
    int res = imd > 0 ? shares_of_process("/proc", imd, &busy) : -ENOENT;
    if (res == 0)
        load_share_update(&l->shares[SHARE_IMD], busy, now);
    else if (res == -ENOENT)
        load_share_gone(&l->shares[SHARE_IMD], now);
    else
        load_share_lost(&l->shares[SHARE_IMD], now);
    busy = shares_of_names("/proc", l->options->sources.screen_savers, &l->savers, now);
    load_share_update(&l->shares[SHARE_SAVERS], busy, now);
}

static void look_at_load(Looker *l, Observation *o)
{
    double *load = &o->look.facts.value[FACT_load];
    o->load_average = *load;
    update_shares(l);
    o->imd_share = l->shares[SHARE_IMD].share;
    o->saver_share = l->shares[SHARE_SAVERS].share;
    if (facts_known(&o->look.facts, FACT_load))
        *load = load_less(*load, l->shares, SHARE_COUNT);
}

Observation *looker_look(Looker *l)
{
    Observation *o = g_new0(Observation, 1);
    Look *look = &o->look;
    o->real_ns = os_clock_ns(CLOCK_REALTIME);
    uint64_t boot = os_clock_ns(CLOCK_BOOTTIME);
    look->taken_ns = os_now_ns();
    look->slept_ns = boot > look->taken_ns ? boot - look->taken_ns : 0;
    look->clock_ns = o->real_ns - boot; /* wraps around where a clock stands before 1970 */
    facts_init(&look->facts);
    facts_read(l->facts, o->real_ns, &look->facts);
    look_at_load(l, o);
    o->container = l->settings.container;
    sources_look(l->sources, o->real_ns, look->taken_ns, &o->sources);
    sources_facts(&o->sources, &look->facts);
    look->console_source =
        o->sources.decides >= 0 ? o->sources.reports[o->sources.decides].name : NULL;
    return o;
}

void looker_warn(const Looker *l)
{
    const char *how = l->settings.container;
    if (how)
        log_event(LOG_LEVEL_WARN, "container",
                  "how=\"%s\" do=\"set dedicated if nobody works at the host; else run rmd on the "
                  "host, or give it input, display or bus of the host's\"",
                  how);
}

void looker_set_imd(Looker *l, int pid)
{
    atomic_store(&l->imd, pid);
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Until the next look, or the end. */
static bool wait_poll(Looker *l, uint64_t until_ns)
{
    const struct timespec until = time_to_timespec(until_ns);
    pthread_mutex_lock(&l->lock);
    while (!l->stop && os_now_ns() < until_ns)
        (void)pthread_cond_timedwait(&l->wake, &l->lock, &until);
    bool stop = l->stop;
    pthread_mutex_unlock(&l->lock);
    return !stop;
}

static void *run(void *ctx)
{
    Looker *l = ctx;
    uint64_t next = os_now_ns();
    do {
        Observation *o = looker_look(l);
        mailbox_post(l->mailbox, &o->letter);
        next = time_add(next, l->options->poll_ns);
        uint64_t now = os_now_ns();
        if (next < now)
            next = now; /* what was missed is not made up for */
    } while (wait_poll(l, next));
    return NULL;
}

int looker_start(Looker *l, Mailbox *mailbox)
{
    l->mailbox = mailbox;
    int res = os_thread_start(&l->thread, run, l);
    l->runs = res == 0;
    return res;
}

int looker_stop(Looker *l)
{
    struct timespec until;
    if (!l->runs)
        return 0;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_signal(&l->wake);
    pthread_mutex_unlock(&l->lock);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_PATIENCE_S;
    if (pthread_timedjoin_np(l->thread, NULL, &until) != 0)
        return -ETIMEDOUT;
    l->runs = false;
    return 0;
}

/* SPDX-License-Identifier: MIT */
#include "tools/check_judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/time.h"

typedef struct Judge {
    const CheckFacts *facts;
    CheckLines lines;
} Judge;

void check_say(CheckLines *l, enum CheckState state, const char *format, ...)
{
    char text[CHECK_TEXT_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    l->faults += state == CHECK_FAULT;
    l->fn(l->ctx, l->what, state, text);
}

const char *check_state_text(enum CheckState state)
{
    static const char *const texts[CHECK_STATE_MAX] = {[CHECK_OK] = "ok",
                                                       [CHECK_NOTE] = "note",
                                                       [CHECK_UNKNOWN] = "unknown",
                                                       [CHECK_FAULT] = "fault"};
    return texts[state];
}

static void judge_config(Judge *j)
{
    const CheckFacts *f = j->facts;
    j->lines.what = "config";
    if (*f->config_error)
        check_say(&j->lines, CHECK_FAULT, "%s", f->config_error);
    else if (f->config_found)
        check_say(&j->lines, CHECK_OK, "%s", f->config);
    else
        check_say(&j->lines, CHECK_OK,
                  "%s is not there: defaults, options and environment alone count", f->config);
    if (*f->config_doubt)
        check_say(&j->lines, CHECK_NOTE,
                  "%s; correct it, unless the files of other hosts set what is a default here",
                  f->config_doubt);
}

static void judge_no_key(Judge *j)
{
    const CheckFacts *f = j->facts;
    if (*f->config_error) /* it is read up to there */
        check_say(&j->lines, CHECK_UNKNOWN, "not known: the configuration is at fault");
    else if (f->key.insecure)
        check_say(&j->lines, CHECK_NOTE,
                  "none (insecure): everyone on the network may read and write guests' data");
    else if (f->manager.address.kind == ADDR_NONE || addr_is_loopback(&f->manager.address))
        check_say(&j->lines, CHECK_OK, "none; a manager beyond this host will need one");
    else
        check_say(&j->lines, CHECK_FAULT,
                  "none, and the manager is not on this host: copy the cluster's key file, and set "
                  "[dodo] key (dodo keygen makes the first one)");
}

static void judge_key(Judge *j)
{
    const CheckKey *k = &j->facts->key;
    j->lines.what = "key";
    if (!k->path)
        judge_no_key(j);
    else if (*k->error)
        check_say(&j->lines, CHECK_FAULT, "%s", k->error);
    else if (k->count > 1)
        check_say(&j->lines, CHECK_OK,
                  "%s: mode %04o, %s, fingerprint %08" PRIx32 ", and %08" PRIx32
                  ", which is being replaced",
                  k->path, k->mode, k->owner, k->prints[0], k->prints[1]);
    else
        check_say(&j->lines, CHECK_OK, "%s: mode %04o, %s, fingerprint %08" PRIx32, k->path,
                  k->mode, k->owner, k->prints[0]);
}

static void judge_manager(Judge *j)
{
    const CheckManager *m = &j->facts->manager;
    char text[ADDR_TEXT_MAX], hello[32], uptime[32];
    j->lines.what = "manager";
    if (m->address.kind == ADDR_NONE && *m->error)
        check_say(&j->lines, CHECK_FAULT, "%s", m->error);
    else if (m->address.kind == ADDR_NONE && *j->facts->config_error)
        check_say(&j->lines, CHECK_UNKNOWN, "not known: the configuration is at fault");
    else if (m->address.kind == ADDR_NONE)
        check_say(&j->lines, CHECK_FAULT,
                  "none is set: write [dodo] manager in the config file, set DODO_MANAGER, or give "
                  "--manager HOST:PORT");
    else if (!m->asked)
        check_say(&j->lines, CHECK_UNKNOWN, "not asked: the key is not usable");
    else if (*m->error)
        check_say(&j->lines, CHECK_FAULT, "%s", m->error);
    else if (m->standby)
        check_say(
            &j->lines, CHECK_FAULT,
            "%s stands by, and no other that answers is active: does the command of its lease "
            "([cmd] lease) get its lock? See the log there",
            addr_format(&m->address, text, sizeof text));
    else
        check_say(&j->lines, CHECK_OK, "%s answers in %s, %s, up %s",
                  addr_format(&m->address, text, sizeof text),
                  format_time(m->hello_ns, hello, sizeof hello),
                  m->sealed ? "with the same key" : "unsealed",
                  format_time(m->uptime_ms / 1000 * NS_PER_S, uptime, sizeof uptime));
}

/* True: nothing is wrong with it. */
static bool judge_host(Judge *j, const CheckHost *h)
{
    char text[ADDR_TEXT_MAX];
    const uint8_t expected = h->state == HOST_BUSY ? ROLE_RMD : ROLE_IMD;
    (void)addr_format(&h->address, text, sizeof text);
    if (!h->answers && h->state == HOST_SILENT)
        check_say(
            &j->lines, CHECK_FAULT,
            "%s is silent, and does not answer here either: is that host up? else see its log",
            text);
    else if (!h->answers)
        check_say(
            &j->lines, CHECK_FAULT,
            "%s answers the manager, but not this host: does a firewall on the way, or there, "
            "refuse UDP to that port?",
            text);
    else if (h->state == HOST_SILENT)
        check_say(
            &j->lines, CHECK_FAULT,
            "%s answers here, but the manager does not hear it: does a firewall refuse UDP from it "
            "to the manager?",
            text);
    else if (h->role != expected)
        check_say(&j->lines, CHECK_FAULT,
                  "%s is not the daemon that the manager lists there: was it moved?", text);
    else
        return true;
    return false;
}

static void judge_hosts(Judge *j)
{
    const CheckFacts *f = j->facts;
    size_t good = 0;
    j->lines.what = "hosts";
    if (!f->manager.asked || *f->manager.error || f->manager.address.kind == ADDR_NONE) {
        check_say(&j->lines, CHECK_UNKNOWN, "not known without a manager");
        return;
    }
    for (size_t i = 0; i < f->hosts_count; i++)
        good += judge_host(j, &f->hosts[i]);
    if (f->hosts_count == 0)
        check_say(&j->lines, CHECK_NOTE, "the manager knows none: no memory is lent");
    else if (good == f->hosts_count)
        check_say(&j->lines, CHECK_OK, "%zu known, all in order", good);
}

static void judge_memlock(Judge *j)
{
    const CheckLimits *l = &j->facts->limits;
    char pool[32], limit[32];
    j->lines.what = "memlock";
    if (l->pool_bytes == 0)
        check_say(&j->lines, CHECK_OK, "no pool of an imd is set here");
    else if (l->memlock_bytes >= l->pool_bytes)
        check_say(&j->lines, CHECK_OK, "a pool of %s can be locked",
                  format_size(l->pool_bytes, pool, sizeof pool));
    else
        check_say(
            &j->lines, CHECK_FAULT,
            "an imd that this user starts cannot lock its pool of %s, only %s: guests' pages could "
            "be swapped out; raise ulimit -l, or start it by its unit (LimitMEMLOCK=)",
            format_size(l->pool_bytes, pool, sizeof pool),
            format_size(l->memlock_bytes, limit, sizeof limit));
}

static void judge_receive(Judge *j)
{
    const CheckLimits *l = &j->facts->limits;
    char asked[32], most[32];
    j->lines.what = "buffers";
    (void)format_size(l->receive_bytes, asked, sizeof asked);
    (void)format_size(l->receive_max_bytes, most, sizeof most);
    if (l->receive_max_bytes == UINT64_MAX)
        check_say(&j->lines, CHECK_UNKNOWN, "net.core.rmem_max cannot be read");
    else if (l->receive_max_bytes >= l->receive_bytes)
        check_say(&j->lines, CHECK_OK, "sockets get the %s that they ask for", asked);
    else
        check_say(
            &j->lines, l->receive_set ? CHECK_FAULT : CHECK_NOTE,
            "[%s] receive_buffer is %s%s, but sockets get %s: less data can be under way; run "
            "sysctl -w net.core.rmem_max=%" PRIu64,
            l->receive_group, asked, l->receive_set ? "" : " by default", most, l->receive_bytes);
}

unsigned check_judge_parts(const CheckFacts *f, unsigned parts, CheckLineFn *fn, void *ctx)
{
    static const struct {
        enum CheckPart part;
        void (*judge)(Judge *j);
    } all[] = {{CHECK_CONFIG, judge_config},   {CHECK_KEY, judge_key},
               {CHECK_MANAGER, judge_manager}, {CHECK_HOSTS, judge_hosts},
               {CHECK_MEMLOCK, judge_memlock}, {CHECK_BUFFERS, judge_receive}};
    Judge j = {.facts = f, .lines = {.fn = fn, .ctx = ctx}};
    for (size_t i = 0; i < ARRAY_SIZE(all); i++)
        if (parts & all[i].part)
            all[i].judge(&j);
    return j.lines.faults;
}

unsigned check_judge(const CheckFacts *f, CheckLineFn *fn, void *ctx)
{
    return check_judge_parts(f, CHECK_ALL, fn, ctx);
}

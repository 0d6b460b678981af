/* SPDX-License-Identifier: MIT */
#include "tools/join_judge.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/parse.h"

typedef struct Judge {
    const JoinFacts *facts;
    CheckLines lines;
} Judge;

/* "10.0.0.5" of "10.0.0.5:0"; for a config file, IPv6 in brackets is fine, too. */
static void host_text(const Addr *a, char *buf, size_t cap)
{
    (void)addr_format(a, buf, cap);
    char *colon = strrchr(buf, ':');
    if (colon)
        *colon = '\0';
}

static bool answers(const JoinFacts *f)
{
    return f->check.manager.asked && !*f->check.manager.error;
}

/* A host that is beyond this one needs the key; nothing here fetches it. */
static void judge_key(Judge *j)
{
    const JoinFacts *f = j->facts;
    const CheckKey *k = &f->check.key;
    const bool local = addr_is_loopback(&f->check.manager.address);
    j->lines.what = "key";
    if (k->path || k->insecure || local || *f->check.config_error) {
        j->lines.faults += check_judge_parts(&f->check, CHECK_KEY, j->lines.fn, j->lines.ctx);
        return;
    }
    check_say(
        &j->lines, CHECK_FAULT,
        "none: copy %s from the manager's host, over a way that nobody can read (scp -p), to the "
        "same path; then, as root: chown root:dodo %s && chmod 0640 %s",
        f->key_path, f->key_path, f->key_path);
}

static void judge_address(Judge *j)
{
    const JoinFacts *f = j->facts;
    char host[ADDR_TEXT_MAX];
    j->lines.what = "address";
    if (f->local.kind == ADDR_NONE) {
        check_say(&j->lines,
                  f->check.manager.address.kind == ADDR_NONE ? CHECK_UNKNOWN : CHECK_FAULT,
                  "no way to %s from here: see ip route", f->manager);
        return;
    }
    host_text(&f->local, host, sizeof host);
    if (f->configured)
        check_say(&j->lines, CHECK_OK, "datagrams to the manager leave from %s", host);
    else
        check_say(
            &j->lines, CHECK_NOTE,
            "datagrams to the manager leave from %s; no manager is set here: write [dodo] manager "
            "= %s and key = %s into %s, then: systemctl enable --now dodo-rmd (or, for a "
            "host without an owner, [imd] pool too, and dodo-imd)",
            host, f->manager, f->check.key.path ? f->check.key.path : f->key_path, f->check.config);
}

static void judge_port(Judge *j, const JoinPort *p)
{
    char text[ADDR_TEXT_MAX];
    (void)addr_format(&p->address, text, sizeof text);
    switch (p->state) {
    case JOIN_PORT_ANSWERED:
        check_say(&j->lines, CHECK_OK, "UDP %s (%s): the manager's answer comes in", text,
                  p->whose);
        return;
    case JOIN_PORT_SILENT:
        check_say(
            &j->lines, CHECK_FAULT,
            "UDP %s (%s): the manager answers this host, but not at this port: open it in the "
            "firewalls here and on the way",
            text, p->whose);
        return;
    case JOIN_PORT_IN_USE:
        check_say(&j->lines, CHECK_OK, "UDP %s (%s): in use, by the daemon if it runs already",
                  text, p->whose);
        return;
    case JOIN_PORT_NOT_HERE:
        check_say(&j->lines, CHECK_FAULT,
                  "%s (%s) is no address of this host (see ip addr): correct [%s] listen", text,
                  p->whose, j->facts->rmd ? "rmd" : "imd");
        return;
    case JOIN_PORT_NOT_BOUND:
        check_say(&j->lines, CHECK_FAULT, "UDP %s (%s): this user cannot listen there", text,
                  p->whose);
        return;
    }
}

static void judge_ports(Judge *j)
{
    const JoinFacts *f = j->facts;
    j->lines.what = "ports";
    if (!answers(f))
        check_say(&j->lines, CHECK_UNKNOWN, "not known without a manager that answers");
    for (unsigned i = 0; answers(f) && i < f->ports_count; i++)
        judge_port(j, &f->ports[i]);
}

static void judge_rmd_lends(Judge *j)
{
    const JoinFacts *f = j->facts;
    const uint64_t bytes = min_u64(f->lendable_bytes, f->cap_bytes);
    char lends[32], total[32];
    (void)format_size(bytes, lends, sizeof lends);
    (void)format_size(f->total_bytes, total, sizeof total);
    if (!f->memory_known)
        check_say(&j->lines, CHECK_UNKNOWN, "/proc/meminfo and /proc/zoneinfo cannot be read");
    else if (bytes < min_u64(f->least_bytes, f->cap_bytes) || bytes == 0)
        check_say(
            &j->lines, CHECK_FAULT,
            "this host lends nothing, even when idle: of its %s, 15 %% and what is in use stay "
            "with it; end programs that nobody needs, or leave the host out",
            total);
    else
        check_say(&j->lines, CHECK_OK, "this host lends %s of its %s when idle%s", lends, total,
                  f->cap_bytes < f->lendable_bytes ? " ([rmd] pool)" : "");
}

static void judge_lends(Judge *j)
{
    const JoinFacts *f = j->facts;
    char pool[32], total[32];
    j->lines.what = "lends";
    if (!f->imd || f->rmd) {
        judge_rmd_lends(j);
        return;
    }
    (void)format_size(f->check.limits.pool_bytes, pool, sizeof pool);
    (void)format_size(f->total_bytes, total, sizeof total);
    if (f->check.limits.pool_bytes == 0)
        check_say(&j->lines, CHECK_FAULT,
                  "[imd] has settings, but no pool: write how much is lent");
    else if (f->memory_known && f->check.limits.pool_bytes > f->total_bytes)
        check_say(&j->lines, CHECK_FAULT, "[imd] pool is %s, but this host has %s: lower it", pool,
                  total);
    else
        check_say(&j->lines, CHECK_OK,
                  "this host lends %s always, whatever goes on there ([imd] pool)", pool);
}

unsigned join_judge(const JoinFacts *f, CheckLineFn *fn, void *ctx)
{
    Judge j = {.facts = f, .lines = {.fn = fn, .ctx = ctx}};
    j.lines.faults = check_judge_parts(&f->check, CHECK_CONFIG, fn, ctx);
    judge_key(&j);
    j.lines.faults += check_judge_parts(&f->check, CHECK_MANAGER | CHECK_HOSTS, fn, ctx);
    judge_address(&j);
    judge_ports(&j);
    j.lines.faults += check_judge_parts(&f->check, CHECK_MEMLOCK | CHECK_BUFFERS, fn, ctx);
    judge_lends(&j);
    return j.lines.faults;
}

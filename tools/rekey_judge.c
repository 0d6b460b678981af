/* SPDX-License-Identifier: MIT */
#include "tools/rekey_judge.h"

#include <inttypes.h>

#include "base/parse.h"
#include "base/time.h"

typedef struct Judged {
    bool fine;
    const char *text;
} Judged;

static Judged judge_begun(const RekeyHost *h)
{
    if (h->takes_next)
        return (Judged){true, "has the next key"};
    if (h->takes_old)
        return (Judged){false, "has only the old key: copy the file there, and reload the daemon"};
    return (Judged){false, "does not answer"};
}

static Judged judge_finished(const RekeyHost *h)
{
    if (h->takes_next && !h->takes_old)
        return (Judged){true, "has the new key alone"};
    if (h->takes_next)
        return (Judged){false,
                        "takes the old key, too: copy the file there, and reload the daemon"};
    if (h->takes_old)
        return (Judged){false, "has only the old key: copy the file there, and reload the daemon"};
    return (Judged){false, "does not answer"};
}

static Judged judge_idle(const RekeyHost *h)
{
    return h->takes_next ? (Judged){true, "has the key"} : (Judged){false, "does not answer"};
}

static unsigned judge_hosts(const RekeyFacts *f, GString *out)
{
    unsigned behind = 0;
    for (size_t i = 0; i < f->hosts_count; i++) {
        const RekeyHost *h = &f->hosts[i];
        char text[ADDR_TEXT_MAX];
        const Judged j = f->stage == REKEY_BEGUN      ? judge_begun(h)
                         : f->stage == REKEY_FINISHED ? judge_finished(h)
                                                      : judge_idle(h);
        g_string_append_printf(out, "%-24s %s%s\n", addr_format(&h->address, text, sizeof text),
                               j.text, h->manager ? " (the manager)" : "");
        behind += !j.fine;
    }
    return behind;
}

static void say_programs(const RekeyFacts *f, GString *out)
{
    if (f->programs > 0)
        g_string_append_printf(
            out,
            "Programs are not asked, and there are %" PRIu64
            ": one that began before --begin has only the old key. After the\nfinish it goes on "
            "with its files alone, until it is started again.\n",
            f->programs);
}

static void say_young(const RekeyFacts *f, GString *out)
{
    char uptime[32], known[32];
    g_string_append_printf(
        out,
        "The manager has started %s ago, and may not know all hosts before %s: ask again then.\n",
        format_time(f->uptime_ms / 1000 * NS_PER_S, uptime, sizeof uptime),
        format_time(f->known_ms * NS_PER_MS, known, sizeof known));
}

unsigned rekey_judge(const RekeyFacts *f, GString *out)
{
    const bool young = f->stage != REKEY_IDLE && f->uptime_ms < f->known_ms;
    const unsigned behind = judge_hosts(f, out);
    if (f->hosts_count == 0)
        g_string_append(out, "No daemon is known.\n");
    else if (f->stage == REKEY_IDLE)
        g_string_append_printf(out,
                               "No change is under way: %s holds one key, %08" PRIx32
                               ". It is changed with: dodo rekey --begin\n",
                               f->path, f->new_print);
    else if (behind > 0)
        g_string_append_printf(out, "%u of %zu daemons do not have the right keys yet.\n", behind,
                               f->hosts_count);
    else if (young)
        say_young(f, out);
    else if (f->stage == REKEY_BEGUN)
        g_string_append_printf(
            out, "All have the next key, %08" PRIx32 ". Go on here with: dodo rekey --finish\n",
            f->new_print);
    else
        g_string_append_printf(
            out, "Nobody takes the old key, %08" PRIx32 ", any more. Remove it: rm %s\n",
            f->old_print, f->old_path);
    if (f->stage == REKEY_BEGUN)
        say_programs(f, out);
    return behind + (f->hosts_count == 0 || young);
}

void rekey_steps(const RekeyFacts *f, GString *out)
{
    const bool begun = f->stage == REKEY_BEGUN;
    if (begun)
        g_string_append_printf(out,
                               "%s holds two keys now: %08" PRIx32
                               ", which is in use, and %08" PRIx32 ", the next.\n",
                               f->path, f->old_print, f->new_print);
    else
        g_string_append_printf(out,
                               "%s holds the key %08" PRIx32 " alone now; the old one, %08" PRIx32
                               ", is in %s.\n",
                               f->path, f->new_print, f->old_print, f->old_path);
    g_string_append_printf(out,
                           "1. Copy %s to every host of the cluster, those of programs included, "
                           "with its owner and mode,\n   over a way that nobody can read:\n"
                           "       scp -p %s HOST:%s\n"
                           "2. There and here: systemctl reload dodo-cmd, dodo-imd, dodo-rmd, "
                           "whichever runs.\n"
                           "3. dodo rekey --status says who has it, and what comes next.\n",
                           f->path, f->path, f->path);
}

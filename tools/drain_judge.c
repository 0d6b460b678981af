/* SPDX-License-Identifier: MIT */
#include "tools/drain_judge.h"

#include <inttypes.h>

#include "base/num.h"
#include "base/time.h"
#include "tools/drain_words.h"

const char *drain_verdict_text(enum DrainVerdict v)
{
    static const char *const texts[DRAIN_VERDICT_MAX] = {
        [DRAIN_GOES_ON] = "draining", [DRAIN_AGAIN] = "draining",    [DRAIN_DONE] = "done",
        [DRAIN_STUCK] = "stuck",      [DRAIN_STOPPED] = "cancelled", [DRAIN_LOST] = "lost",
        [DRAIN_UNHEARD] = "unheard",  [DRAIN_LATE] = "late",
    };
    return v < DRAIN_VERDICT_MAX ? texts[v] : "unknown";
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Anything that shows that there is still something to wait for. */
static bool got_on(const OpDrainReply *before, const OpDrainReply *now)
{
    return drain_left_there(now) < drain_left_there(before) ||
           now->host_regions < before->host_regions || now->open_regions < before->open_regions ||
           now->left_bytes != before->left_bytes || now->copied_bytes != before->copied_bytes ||
           now->asking > before->asking || now->listed != before->listed;
}

/* A program that is silent for dead_ms is dead. Somewhat later its regions have been freed, and all
 * that live have asked for their moves. */
static bool is_overdue(const DrainJudge *j, uint64_t since_ns, uint64_t now_ns)
{
    const uint64_t dead_ns = j->last.dead_ms * NS_PER_MS;
    return now_ns >= time_add(since_ns, dead_ns + dead_ns / 2);
}

/* Nothing is left but what nobody will come for; or for long nothing has got on, and no program
 * says that it could: those that ask find no room on any other host, those that do not ask cannot.
 */
static bool is_stuck(const DrainJudge *j, uint64_t now_ns)
{
    const OpDrainReply *r = &j->last;
    if (r->listed && r->kept_regions > 0 && drain_left_there(r) == r->kept_regions && j->kept_stay)
        return true;
    return r->asking <= r->refused && is_overdue(j, j->moved_ns, now_ns);
}

static void note(DrainJudge *j, const DrainLook *look)
{
    if (!j->known || got_on(&j->last, &look->reply))
        j->moved_ns = look->at_ns;
    j->known = true;
    j->epoch = look->reply.epoch;
    j->last = look->reply;
    j->kept_stay = look->kept_stay;
    j->samples[j->looks++ % DRAIN_RATE_LOOKS] = (DrainSample){look->at_ns, look->reply.left_bytes};
}

/* The manager knows no such host: one that has just started may hear of it yet. */
static enum DrainVerdict judge_gone(const DrainJudge *j, uint64_t now_ns)
{
    return j->known || is_overdue(j, j->moved_ns, now_ns) ? DRAIN_LOST : DRAIN_GOES_ON;
}

static enum DrainVerdict judge(DrainJudge *j, const DrainLook *look)
{
    if (!look->answered)
        return is_overdue(j, j->heard_ns, look->at_ns) ? DRAIN_UNHEARD : DRAIN_GOES_ON;
    if (!j->begun || look->manager != j->manager) {
        j->begun = true;
        j->known = false;
        j->manager = look->manager;
        j->moved_ns = look->at_ns;
    }
    j->heard_ns = look->at_ns;
    if (look->gone)
        return judge_gone(j, look->at_ns);
    if (j->epoch != 0 && look->reply.epoch != j->epoch)
        return DRAIN_LOST;
    if (look->reply.state == DRAIN_OFF)
        return j->known ? DRAIN_STOPPED : DRAIN_AGAIN;
    note(j, look);
    if (drain_is_done(&j->last))
        return DRAIN_DONE;
    return is_stuck(j, look->at_ns) ? DRAIN_STUCK : DRAIN_GOES_ON;
}

enum DrainVerdict drain_judge(DrainJudge *j, const DrainLook *look)
{
    const enum DrainVerdict v = judge(j, look);
    const bool ends = v != DRAIN_GOES_ON && v != DRAIN_AGAIN;
    return !ends && j->until_ns != 0 && look->at_ns >= j->until_ns ? DRAIN_LATE : v;
}

uint64_t drain_rate(const DrainJudge *j)
{
    if (j->looks < 2)
        return 0;
    const unsigned first = j->looks > DRAIN_RATE_LOOKS ? j->looks - DRAIN_RATE_LOOKS : 0;
    const DrainSample *from = &j->samples[first % DRAIN_RATE_LOOKS];
    const DrainSample *to = &j->samples[(j->looks - 1) % DRAIN_RATE_LOOKS];
    const uint64_t ms = (to->at_ns - from->at_ns) / NS_PER_MS;
    if (ms == 0 || to->left_bytes >= from->left_bytes)
        return 0;
    return (uint64_t)((double)(from->left_bytes - to->left_bytes) * 1000 / (double)ms);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void say_left(const DrainJudge *j, GString *out)
{
    drain_say_count(out, drain_left_there(&j->last), "region was", "regions were");
    g_string_append(out, " left there");
}

/* "3 regions (12.0 MiB)" */
static void say_regions(GString *out, uint64_t n, uint64_t bytes)
{
    drain_say_count(out, n, "region (", "regions (");
    drain_say_size(out, bytes);
    g_string_append_c(out, ')');
}

static DrainSpeed speed(const DrainJudge *j)
{
    const uint64_t rate = drain_rate(j), left = j->last.left_bytes;
    return (DrainSpeed){left, rate, rate ? left / rate + (left % rate > 0) : 0};
}

void drain_say_progress(const DrainJudge *j, GString *out)
{
    const OpDrainReply *r = &j->last;
    g_string_append_printf(out, "%s: ", j->host);
    if (!j->known) {
        g_string_append(out, "the manager has started again, and does not know the host yet");
        return;
    }
    if (!r->listed) {
        g_string_append(out, "the manager waits for the list of its regions");
        return;
    }
    const DrainSpeed fast = speed(j);
    drain_say_left(r, &fast, out);
}

static void say_why_open(const OpDrainReply *r, GString *out)
{
    if (r->clients > r->asking) {
        g_string_append(out, "  ");
        drain_say_count(out, r->clients - r->asking, "program does", "programs do");
        g_string_append(out,
                        " not move what is open there: it uses an older libdodo, or does not run "
                        "on: end it, or wait until it ends\n");
    }
    if (r->refused > 0) {
        g_string_append(out, "  ");
        drain_say_count(out, r->refused, "program finds", "programs find");
        g_string_append(out,
                        " no room on other hosts: let more hosts lend memory, or end programs\n");
    }
}

static void say_why_others(const DrainJudge *j, GString *out)
{
    const OpDrainReply *r = &j->last;
    if (!r->listed)
        g_string_append(out,
                        "  the host has not said which regions it has: does the manager hear it? "
                        "See dodo check\n");
    if (r->kept_regions > 0) {
        g_string_append(out, "  ");
        say_regions(out, r->kept_regions, r->kept_bytes);
        g_string_append(out, r->kept_regions == 1 ? " is" : " are");
        g_string_append(out, " kept there for a next run");
        g_string_append(
            out, j->drop ? ", and the host does not free them\n"
                         : ", and no other host has room for them: let more hosts lend memory; or "
                           "--drop frees what is kept, and the next run reads its files\n");
    }
    if (r->busy_regions > 0) {
        g_string_append(out, "  ");
        drain_say_count(out, r->busy_regions, "region is", "regions are");
        g_string_append(out, " being opened, closed or freed, and the host does not answer that\n");
    }
    if (r->silent_s > 0)
        g_string_append_printf(out,
                               "  the host is silent, for %" PRIu32 " s now: what it has is not "
                               "known; is it up? See dodo check\n",
                               r->silent_s);
    else if (r->listed && drain_left_there(r) == 0)
        g_string_append_printf(
            out,
            "  the host says that it has %" PRIu64
            " that the manager does not list: they are kept there for a next run\n",
            r->host_regions);
}

static void say_how_to_go_on(const DrainJudge *j, GString *out)
{
    g_string_append_printf(out,
                           "It still gets no new regions. To go on: the same command again. To end "
                           "that: dodo drain --cancel %s\n",
                           j->host);
}

static void say_late(const DrainJudge *j, GString *out)
{
    g_string_append_printf(out, "%s: not done in the time that was given, ", j->host);
    drain_say_count(out, drain_left_there(&j->last), "region is", "regions are");
    g_string_append(out, " left there\n");
    say_how_to_go_on(j, out);
}

static void say_stuck(const DrainJudge *j, GString *out)
{
    g_string_append_printf(out, "%s: not done, ", j->host);
    drain_say_count(out, drain_left_there(&j->last), "region is", "regions are");
    g_string_append(out, " left there\n");
    say_why_open(&j->last, out);
    say_why_others(j, out);
    say_how_to_go_on(j, out);
}

void drain_say_end(const DrainJudge *j, enum DrainVerdict v, GString *out)
{
    switch (v) {
    case DRAIN_DONE:
        g_string_append_printf(out,
                               "%s: done, nothing is left there. It gets no new regions until it "
                               "starts again, or: dodo drain --cancel %s\n",
                               j->host, j->host);
        break;
    case DRAIN_STUCK:
        say_stuck(j, out);
        break;
    case DRAIN_LATE:
        say_late(j, out);
        break;
    case DRAIN_STOPPED:
        g_string_append_printf(
            out, "%s: not done, somebody has cancelled it: it gets new regions again; ", j->host);
        say_left(j, out);
        g_string_append_c(out, '\n');
        break;
    case DRAIN_LOST:
        g_string_append_printf(
            out, "%s: not done, the host has left the cluster or has started again; ", j->host);
        say_left(j, out);
        g_string_append(out, ", gone with its memory\n");
        break;
    case DRAIN_UNHEARD:
        g_string_append_printf(out, "%s: not known, the manager has not answered for long; ",
                               j->host);
        say_left(j, out);
        g_string_append_c(out, '\n');
        break;
    case DRAIN_GOES_ON:
    case DRAIN_AGAIN:
    case DRAIN_VERDICT_MAX:
        break;
    }
}

void drain_say_json(const DrainJudge *j, enum DrainVerdict v, GString *out)
{
    const DrainSpeed fast = speed(j);
    g_string_append_printf(out, "{\"host\":\"%s\",\"state\":\"%s\",\"epoch\":\"%016" PRIx64 "\"",
                           j->host, drain_verdict_text(v), j->epoch);
    drain_say_members(&j->last, &fast, out);
    g_string_append(out, "}\n");
}

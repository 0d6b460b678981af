/* SPDX-License-Identifier: MIT */
#include "tools/programs_text.h"

#include <inttypes.h>

#include "base/num.h"
#include "base/parse.h"
#include "base/printable.h"
#include "base/time.h"
#include "tools/json_text.h"

enum { TEXT_MAX = 32, USER_MAX = 12, MINUTE = 60, HOUR = 3600, DAY = 86400 };

static int by_start(const void *a, const void *b)
{
    const Program *x = &((const ProgramSeen *)a)->program, *y = &((const ProgramSeen *)b)->program;
    const int started = (x->started_ns > y->started_ns) - (x->started_ns < y->started_ns);
    return started ? started : (x->pid > y->pid) - (x->pid < y->pid);
}

void programs_sort(GArray *seen)
{
    g_array_sort(seen, by_start);
}

/* ---- for people ------------------------------------------------------------------------------ */

static const char *duration(uint64_t ns, char buf[TEXT_MAX])
{
    const uint64_t s = ns / NS_PER_S;
    if (s < MINUTE)
        (void)g_snprintf(buf, TEXT_MAX, "%" PRIu64 ".%us", s,
                         (unsigned)(ns % NS_PER_S / 100000000));
    else if (s < HOUR)
        (void)g_snprintf(buf, TEXT_MAX, "%" PRIu64 "m%02us", s / MINUTE, (unsigned)(s % MINUTE));
    else if (s < DAY)
        (void)g_snprintf(buf, TEXT_MAX, "%" PRIu64 "h%02um", s / HOUR,
                         (unsigned)(s % HOUR / MINUTE));
    else
        (void)g_snprintf(buf, TEXT_MAX, "%" PRIu64 "d%02uh", s / DAY, (unsigned)(s % DAY / HOUR));
    return buf;
}

/* [0, 1]; below 0: nothing was read. */
static double share(uint64_t part, double all)
{
    const double is = all > 0 ? (double)part / all : -1;
    return is > 1 ? 1 : is;
}

static double read_bytes(const ProgramFigures *f)
{
    return (double)f->local_bytes + (double)f->remote_bytes + (double)f->file_bytes;
}

static const char *percent(uint64_t part, double all, char buf[TEXT_MAX])
{
    const double is = share(part, all);
    (void)g_snprintf(buf, TEXT_MAX, is < 0 ? "-" : "%.0f%%", is * 100);
    return buf;
}

static uint64_t saved_ns(const ProgramFigures *f)
{
    return f->local_saved_ns + f->remote_saved_ns;
}

static void add_row(const ProgramSeen *s, uint64_t now_ns, ProgramUserFn *user, GString *out)
{
    const Program *p = &s->program;
    const ProgramFigures *f = &p->figures;
    const double all = read_bytes(f);
    char up[TEXT_MAX], held[TEXT_MAX], local[TEXT_MAX], remote[TEXT_MAX], file[TEXT_MAX],
        read[TEXT_MAX], written[TEXT_MAX], saved[TEXT_MAX] = "-";
    g_string_append_printf(out, "%7" PRIu64 " %-15s ", p->pid, p->name);
    if (user) {
        char shown[USER_MAX];
        g_autofree char *name = user(s->uid);
        g_string_append_printf(out, "%-11s ", printable_short(name, shown, sizeof shown));
    }
    if (f->valued_reads > 0)
        (void)duration(saved_ns(f), saved);
    g_string_append_printf(
        out, "%7s %7" PRIu64 " %9s %9s %5s %6s %5s %9s %7s\n",
        duration(sub_u64(now_ns, p->started_ns), up), f->regions,
        format_size(f->held_bytes, held, sizeof held),
        format_size(all < (double)G_MAXUINT64 ? (uint64_t)all : G_MAXUINT64, read, sizeof read),
        percent(f->local_bytes, all, local), percent(f->remote_bytes, all, remote),
        percent(f->file_bytes, all, file), format_size(f->write_bytes, written, sizeof written),
        saved);
}

void programs_table(const GArray *seen, uint64_t now_ns, ProgramUserFn *user, GString *out)
{
    if (seen->len == 0) {
        g_string_append(out, "no program uses Dodo here\n");
        return;
    }
    g_string_append_printf(out, "%7s %-15s %s%7s %7s %9s %9s %5s %6s %5s %9s %7s\n", "PID", "NAME",
                           user ? "USER        " : "", "RUNS", "REGIONS", "REMOTE", "READ", "LOCAL",
                           "REMOTE", "FILE", "WRITTEN", "SAVED");
    for (guint i = 0; i < seen->len; i++)
        add_row(&g_array_index(seen, ProgramSeen, i), now_ns, user, out);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void add_part(GString *out, const char *name, uint64_t reads, uint64_t bytes, double all)
{
    g_string_append_printf(
        out, ",\"%s\":{\"reads\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"share\":", name, reads, bytes);
    const double is = share(bytes, all);
    char buf[G_ASCII_DTOSTR_BUF_SIZE];
    g_string_append(out, is < 0 ? "null" : g_ascii_formatd(buf, sizeof buf, "%.4f", is));
    g_string_append_c(out, '}');
}

/* null: what reads of the file cost is not known. */
static void add_saved(GString *out, const char *name, const ProgramFigures *f, uint64_t ns)
{
    if (f->valued_reads > 0)
        g_string_append_printf(out, ",\"%s\":%" PRIu64, name, ns);
    else
        g_string_append_printf(out, ",\"%s\":null", name);
}

static void add_object(const ProgramSeen *s, uint64_t now_ns, ProgramUserFn *user, GString *out)
{
    const Program *p = &s->program;
    const ProgramFigures *f = &p->figures;
    const double all = read_bytes(f);
    g_autofree char *name = user ? user(s->uid) : NULL;
    g_string_append_printf(out, "{\"pid\":%" PRIu64 ",\"name\":", p->pid);
    json_text_add(out, p->name);
    g_string_append_printf(out, ",\"uid\":%" PRIu32, s->uid);
    if (name) {
        g_string_append(out, ",\"user\":");
        json_text_add(out, name);
    }
    g_string_append_printf(out,
                           ",\"runs_ms\":%" PRIu64 ",\"regions\":%" PRIu64
                           ",\"remote_memory_bytes\":%" PRIu64 ",\"local_memory_bytes\":%" PRIu64,
                           (uint64_t)(sub_u64(now_ns, p->started_ns) / NS_PER_MS), f->regions,
                           f->held_bytes, f->cached_bytes);
    add_part(out, "local", f->local_reads, f->local_bytes, all);
    add_part(out, "remote", f->remote_reads, f->remote_bytes, all);
    add_part(out, "file", f->file_reads, f->file_bytes, all);
    g_string_append_printf(out, ",\"writes\":%" PRIu64 ",\"written_bytes\":%" PRIu64, f->writes,
                           f->write_bytes);
    add_saved(out, "saved_ns", f, saved_ns(f));
    add_saved(out, "saved_local_ns", f, f->local_saved_ns);
    add_saved(out, "saved_remote_ns", f, f->remote_saved_ns);
    g_string_append_printf(out, ",\"valued_reads\":%" PRIu64 "}", f->valued_reads);
}

void programs_json(const GArray *seen, uint64_t now_ns, ProgramUserFn *user, GString *out)
{
    g_string_append(out, "{\"programs\":[");
    for (guint i = 0; i < seen->len; i++) {
        g_string_append(out, i ? "," : "");
        add_object(&g_array_index(seen, ProgramSeen, i), now_ns, user, out);
    }
    g_string_append(out, "]}\n");
}

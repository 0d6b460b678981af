/* SPDX-License-Identifier: MIT */
/* stories: what the parts of a small cluster say to each other in the main cases, message by
 * message, as docs/stories.md has it. The parts are the real cores, on the simulation's clock and
 * network; nothing is sealed, so that it can be read. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/wire_text.h"
#include "tests/sim/world.h"

enum { REGION_LEN = 8192, DELAY_US = 100, DISK_US = 8000 };

typedef struct Teller {
    World *w;
    uint64_t from_ns; /* the chapter's beginning */
    bool tells;
    /* Lost is the first datagram of this type with this segment; 0: none. */
    uint8_t lose_type;
    uint16_t lose_index;
} Teller;

/* ---- what is printed ------------------------------------------------------------------------- */

static void say_at(const Teller *s, const char *text)
{
    printf("%7" PRIu64 " us  %s\n", (uint64_t)((world_now(s->w) - s->from_ns) / NS_PER_US), text);
}

static const char *name_of(const Addr *a)
{
    unsigned host = a->host[0] | (unsigned)a->host[1] << 8;
    if (host == HOST_CMD)
        return "cmd";
    if (host >= HOST_CLIENT)
        return "client";
    return a->port >= PORT_DATA ? "imd data" : "imd";
}

static bool is_lost(Teller *s, const uint8_t *datagram, size_t len)
{
    WireHeader h;
    WireData data;
    WireWrite write;
    if (s->lose_type == 0 || wire_header_decode(datagram, len, &h) != 0 || h.type != s->lose_type)
        return false;
    const uint8_t *p = datagram + WIRE_HEADER_SIZE;
    bool it = h.type == WIRE_DATA ? wire_data_decode(p, len - WIRE_HEADER_SIZE, &data) == 0 &&
                                        data.index == s->lose_index
                                  : wire_write_decode(p, len - WIRE_HEADER_SIZE, &write) == 0 &&
                                        write.index == s->lose_index;
    if (it)
        s->lose_type = 0;
    return it;
}

static bool watch(void *ctx, const Addr *from, const Addr *to, const uint8_t *datagram, size_t len)
{
    Teller *s = ctx;
    char text[WIRE_TEXT_MAX], line[WIRE_TEXT_MAX + 64];
    bool lost = is_lost(s, datagram, len);
    snprintf(line, sizeof line, "%-8s -> %-8s  %s%s", name_of(from), name_of(to),
             wire_text(datagram, len, text), lost ? "   (lost)" : "");
    if (s->tells)
        say_at(s, line);
    return !lost;
}

/* ---- what happens ---------------------------------------------------------------------------- */

static void run_for(Teller *s, uint64_t ns)
{
    uint64_t until = world_now(s->w) + ns;
    while (world_now(s->w) < until && !s->w->phase.stopping && simnet_step(s->w->net)) {
    }
    if (s->w->violated.text[0]) {
        fprintf(stderr, "stories: %s\n", s->w->violated.text);
        exit(1);
    }
}

static void nothing(void *ctx, uint64_t arg)
{
    (void)ctx;
    (void)arg;
}

/* So that time passes although nothing happens. */
static void pass(Teller *s, uint64_t ns)
{
    simnet_at(s->w->net, world_now(s->w) + ns, NULL, nothing, NULL, 0);
    run_for(s, ns);
}

static void chapter(Teller *s, const char *title, const char *text)
{
    pass(s, NS_PER_S);
    printf("## %s\n\n%s\n\n```\n", title, text);
    s->tells = true;
    s->from_ns = world_now(s->w);
}

static void chapter_end(Teller *s)
{
    printf("```\n\n");
    s->tells = false;
    s->lose_type = 0;
}

static Thread *thread(Teller *s)
{
    return &s->w->processes[0].threads[0];
}

/* A call of the program, to its end; @begin: as program_read_all(). */
static void call(Teller *s, const char *name, void (*begin)(Thread *t, Desc *d))
{
    Thread *t = thread(s);
    char line[96];
    snprintf(line, sizeof line, "the program calls %s", name);
    if (s->tells)
        say_at(s, line);
    begin(t, &s->w->processes[0].descs[0]);
    while (t->in_call)
        run_for(s, 1);
    snprintf(line, sizeof line, "%s returns %zd%s%s", name, t->call.result,
             t->call.result < 0 ? ": " : "", t->call.result < 0 ? strerror(t->call.error) : "");
    if (s->tells)
        say_at(s, line);
}

static void open_new(Thread *t, Desc *d)
{
    *d = (Desc){.file = &program_fs(t->process)->files[0], .len = REGION_LEN};
    program_open(t, d);
}

/* Open, and filled. */
static void prepare_region(Teller *s)
{
    call(s, "mopen", open_new);
    call(s, "mread", program_read_all);
    pass(s, NS_PER_S);
}

/* ---- the chapters ---------------------------------------------------------------------------- */

static void tell_beginning(Teller *s)
{
    chapter(s, "A host joins",
            "imd has started: it says HELLO to the manager, which answers with the tag by which it "
            "wants to be\ncalled. Then imd offers its pool, and lists what it holds: nothing yet.");
    imd_start(&s->w->imds[0]);
    pass(s, 10 * NS_PER_MS);
    chapter_end(s);

    chapter(s, "A region is opened",
            "The program's first `mopen` also says HELLO to the manager. The manager asks an imd "
            "that has room, and\nanswers with the region's address: host, port, epoch, number and "
            "capability.");
    call(s, "mopen", open_new);
    chapter_end(s);
}

static void tell_reads(Teller *s)
{
    chapter(
        s, "The first read",
        "No block is filled yet: the answer says so at once, in a datagram without data. The "
        "client reads the\nfile, returns, and offers what it read: the fill goes to the host in "
        "the background.");
    call(s, "mread", program_read_all);
    pass(s, 20 * NS_PER_MS);
    chapter_end(s);

    chapter(s, "A read",
            "One question, and the answer in as many datagrams as it takes: no acknowledgment, and "
            "no disk.");
    call(s, "mread", program_read_all);
    chapter_end(s);

    chapter(s, "A read that loses a datagram",
            "Later segments show that one is missing: the client asks again for that one alone (a "
            "selective NACK).");
    s->lose_type = WIRE_DATA;
    s->lose_index = 2;
    call(s, "mread", program_read_all);
    chapter_end(s);
}

static void tell_writes(Teller *s)
{
    chapter(
        s, "A write",
        "The bytes go to the host and to the file at the same time. The write returns when both "
        "have them.");
    call(s, "mwrite", program_write_all);
    chapter_end(s);

    chapter(s, "A write that loses a datagram",
            "The host sees the gap, and says what it has: the client sends the rest again.");
    s->lose_type = WIRE_WRITE;
    s->lose_index = 1;
    call(s, "mwrite", program_write_all);
    chapter_end(s);

    chapter(s, "A region is closed",
            "The manager has the imd free the memory before it answers: it can be lent again at "
            "once.");
    call(s, "mclose", program_close);
    chapter_end(s);
}

static void tell_ends(Teller *s)
{
    prepare_region(s);
    chapter(s, "The owner comes back",
            "rmd tells its imd to go. imd says good-bye to the manager and to each client, and "
            "gives its memory\nback. The next read knows already that the region is lost: it asks "
            "nobody.");
    imd_leave(&s->w->imds[0]);
    pass(s, 20 * NS_PER_MS);
    call(s, "mread", program_read_all);
    chapter_end(s);

    call(s, "mclose", program_close);
    imd_start(&s->w->imds[0]);
    pass(s, 5 * NS_PER_S);
    prepare_region(s);
    chapter(
        s, "A host dies beside a write",
        "The file gets its bytes as ever. The host is asked what it has, less and less often, and "
        "greeted again,\nfor it may have restarted. In between it gets smaller datagrams, for the "
        "path may have changed. At the\ndeadline for a transfer the region is lost. The write has "
        "done its work all the same; the next call\nfinds out.");
    imd_crash(&s->w->imds[0]);
    call(s, "mwrite", program_write_all);
    call(s, "mread", program_read_all);
    chapter_end(s);
}

/* A calm cluster of one host and one program with one thread. */
static void choose(Params *p)
{
    params_choose(p, 1, SCENARIO_CALM);
    p->calm = false; /* a host goes */
    p->sealed = p->rotating = p->checked = p->owners.monitors = p->hosts.give_back = p->later =
        false;
    p->clients = p->threads = p->imds = p->imd_threads = p->client_hosts = p->files = 1;
    p->link = (SimLink){.delay_ns = DELAY_US * NS_PER_US};
    p->fs = (SimFsConfig){.op_ns = DISK_US * NS_PER_US, .granule_ns = 1, .honest = true};
    p->datagram_max = 1472;
    p->shells = (ShellParams){.room = {.receives = 8, .sends = 8}, .no_route_every_ns = TIME_NEVER};
    p->hosts.pool_bytes = 1 << 20;
    p->faults.writer_every_ns = p->faults.lie_every_ns = p->owners.limit_every_ns =
        p->owners.reclaim_every_ns = TIME_NEVER;
    p->faults.stranger_ppm = p->hosts.cap_bytes = p->hosts.cap_packets = p->faults.turn_late_ns =
        p->faults.trickle_ns = 0;
    p->cores.alive_ns = p->cores.beat_ns = 3600 * NS_PER_S; /* what they say is another story */
    p->cores.host_dead_ns = p->cores.client_dead_ns = 4 * p->cores.beat_ns;
    p->cores.transfer_deadline_ns = 400 * NS_PER_MS;
    p->cores.leave_deadline_ns = 200 * NS_PER_MS;
}

int main(void)
{
    static uint64_t counts[COVER_MAX];
    World *w = calloc(1, sizeof *w);
    Teller s = {.w = w};
    if (!w)
        return 1;
    w->cover = counts;
    w->seed = 1;
    choose(&w->p);
    programs_make(w);
    w->phase.now = PHASE_HEAL; /* the program does nothing by itself */
    simnet_watch(w->net, watch, &s);
    pass(&s, 200 * NS_PER_MS);
    imd_stop(&w->imds[0]); /* all have started: it begins again, to be watched */
    pass(&s, 100 * NS_PER_MS);
    process_start(&w->processes[0]);
    tell_beginning(&s);
    tell_reads(&s);
    tell_writes(&s);
    tell_ends(&s);
    programs_end(w);
    free(w);
    return fflush(stdout) ? 1 : 0;
}

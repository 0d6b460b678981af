/* SPDX-License-Identifier: MIT */
/* The turns of a queue in all interleavings of its threads (see tests/lib/interleave.h): its owner
 * reads, waits and closes it, while others close regions that have reads under way there, and a
 * worker reads files. The link below it is a model: a datagram ends the oldest read. */
#include "tests/lib/case.h"
#include "tests/unit/interleave_fixture.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/time.h"
#include "libdodo/share_map.h"
#include "libdodo/gate.h"
#include "libdodo/link.h"
#include "libdodo/queue.h"

enum { READS = 3, LEN = 64 };
enum { COUNT_TAKEN, COUNT_LATE, COUNT_FILES, COUNT_HELD }; /* for interleave_count() */

struct Channel {
    Call *calls[READS];
    unsigned count;
    bool files;         /* its reads need their files, and no datagram */
    bool news, stepped; /* stepped: somebody is inside */
};

static struct {
    DodoQueue *queue;
    Link link;
    Transport transport;
    Channel channel;
    int socket; /* an eventfd: datagrams that came */
    unsigned taken;
    uint8_t buf[LEN];
} w;

/* ---- the link -------------------------------------------------------------------------------- */

static int socket_fd(const Transport *t)
{
    (void)t;
    return w.socket;
}

Link *runtime_link_new(Runtime *rt, unsigned calls_max)
{
    static const TransportOps ops = {.fd = socket_fd};
    (void)rt;
    (void)calls_max;
    w.transport.ops = &ops;
    w.link.batches.transport = &w.transport;
    w.link.channel = &w.channel;
    w.link.timer_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return &w.link;
}

Link *link_free(Link *link)
{
    if (w.channel.count > 0)
        interleave_fail("the link is given back with %u reads under way", w.channel.count);
    (void)close(link->timer_fd);
    return NULL;
}

void link_abandon(Link *link)
{
    (void)link;
}

/* One thread at a time. */
static void channel_alone(const char *what)
{
    if (w.channel.stepped)
        interleave_fail("two threads have a turn");
    w.channel.stepped = true;
    interleave_point(what);
    w.channel.stepped = false;
}

void link_step(Link *link)
{
    (void)link;
    channel_alone("moves the channel on");
}

static void call_ends(Channel *ch, Call *call)
{
    unsigned i = 0;
    while (ch->calls[i] != call)
        i++;
    ch->count--;
    memmove(ch->calls + i, ch->calls + i + 1, (ch->count - i) * sizeof *ch->calls);
    call->need = NEED_NOTHING;
    call->result = LEN;
    ch->news = true;
}

bool link_receive(Link *link)
{
    eventfd_t one;
    channel_alone("receives");
    if (eventfd_read(socket_fd(link->batches.transport), &one) != 0)
        return false;
    for (unsigned i = 0; i < w.channel.count; i++)
        if (!w.channel.calls[i]->held) {
            call_ends(&w.channel, w.channel.calls[i]);
            return true;
        }
    interleave_fail("data comes for nobody");
    return true;
}

void link_alarm(Link *link, uint64_t deadline_ns)
{
    (void)link;
    (void)deadline_ns;
}

void call_read_start(Call *call, Channel *ch, int rd, off_t offset, void *buf, size_t len,
                     uint64_t now_ns)
{
    (void)rd, (void)offset, (void)buf, (void)len, (void)now_ns;
    *call = (Call){.need = ch->files ? NEED_FILE_READ : NEED_NETWORK, .channel = ch};
    ch->calls[ch->count++] = call;
    ch->news |= ch->files;
    if (!ch->files)
        (void)eventfd_write(w.socket, 1); /* its data has come */
}

void call_write_start(Call *call, Channel *ch, int rd, off_t offset, const void *buf, size_t len,
                      uint64_t now_ns)
{
    call_read_start(call, ch, rd, offset, (void *)(uintptr_t)buf, len, now_ns);
    if (ch->files)
        call->need = NEED_FILE_WRITE;
}

void call_sync_start(Call *call, Channel *ch, int rd, uint64_t now_ns)
{
    (void)rd, (void)now_ns;
    *call = (Call){.need = NEED_FILE_SYNC, .channel = ch};
    ch->calls[ch->count++] = call;
    ch->news = true;
}

/* One that is held needs nothing yet, and its data has not come. */
void call_hold(Call *call)
{
    eventfd_t one;
    if (call->need == NEED_NETWORK)
        (void)eventfd_read(w.socket, &one);
    call->held = true;
    call->phase = call->need;
    call->need = NEED_NETWORK;
    interleave_count(COUNT_HELD);
}

void call_release(Call *call)
{
    call->held = false;
    call->need = call->phase;
    call->channel->news = true;
    if (call->need == NEED_NETWORK)
        (void)eventfd_write(w.socket, 1);
}

bool call_cancel(Call *call)
{
    if (!call->held)
        return false;
    call_ends(call->channel, call);
    return true;
}

Call *channel_next(Channel *ch, Call *after)
{
    unsigned i = 0;
    while (after && i < ch->count && ch->calls[i] != after)
        i++;
    i += after != NULL;
    return i < ch->count ? ch->calls[i] : NULL;
}

bool channel_take_news(Channel *ch)
{
    bool news = ch->news;
    ch->news = false;
    return news;
}

uint64_t channel_deadline(Channel *ch)
{
    (void)ch;
    return TIME_NEVER;
}

void call_file_taken(Call *call)
{
    call->need = NEED_NETWORK; /* nothing that the queue could do */
}

void call_file_done(Call *call, const FileResult *result, uint64_t now_ns)
{
    (void)now_ns;
    if (result->count != LEN)
        interleave_fail("a file's result is not what was read");
    call_ends(call->channel, call);
}

/* ---- what else it stands on ------------------------------------------------------------------ */

void gate_enter(void)
{
}

void gate_leave(void)
{
}

void reason_set(const char *text)
{
    (void)text;
}

void file_read(File *file, void *buf, size_t len, uint64_t offset, FileResult *ret)
{
    (void)file, (void)buf, (void)len, (void)offset;
    interleave_point("reads the file");
    ret->count = LEN;
    interleave_count(COUNT_FILES);
}

void file_stamp(File *file, FileResult *ret)
{
    (void)file;
    *ret = (FileResult){0};
}

void share_map_join(ShareAsk *ask)
{
    (void)ask;
}

void file_write(File *file, const void *buf, size_t len, uint64_t offset, FileResult *ret)
{
    (void)file, (void)buf, (void)len, (void)offset;
    interleave_point("writes the file");
    ret->count = LEN;
    interleave_count(COUNT_FILES);
}

void file_sync(File *file, FileResult *ret)
{
    (void)file;
    interleave_point("syncs the file");
    ret->count = LEN;
    interleave_count(COUNT_FILES);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void submit(enum OrderKind kind, int rd)
{
    const QueueTask task = {.kind = kind, .rd = rd, .buf = w.buf, .len = LEN, .tag = w.buf};
    if (queue_submit(w.queue, &task) != 0)
        interleave_fail("a request does not begin");
}

static void read_from(int rd)
{
    submit(ORDER_READ, rd);
}

/* A read of each of two regions is under way. */
static void begin(void)
{
    w.socket = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (w.socket < 0 || queue_open(NULL, READS, &w.queue) != 0)
        abort();
    read_from(1);
    read_from(2);
}

static void begin_silent(void)
{
    eventfd_t one;
    begin();
    while (eventfd_read(w.socket, &one) == 0)
        ;
}

static void begin_files(void)
{
    w.channel.files = true;
    begin();
}

/* A read and a sync wait for a write of their region. */
static void begin_order(void)
{
    w.socket = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (w.socket < 0 || queue_open(NULL, READS, &w.queue) != 0)
        abort();
    submit(ORDER_WRITE, 1);
    submit(ORDER_READ, 1);
    submit(ORDER_SYNC, 1);
}

static void begin_order_files(void)
{
    w.channel.files = true;
    begin_order();
}

static void end(void)
{
    (void)close(w.socket);
    if (interleave_heap_bytes() != 0)
        interleave_fail("%zu bytes are not freed", interleave_heap_bytes());
}

static void take(unsigned most)
{
    DodoDone done[READS];
    int n = queue_wait(w.queue, done, most, -1);
    if (n < 1)
        interleave_fail("%u reads were taken, and there are no more", w.taken);
    w.taken += (unsigned)n;
    interleave_count(COUNT_TAKEN);
}

/* Reads from a third region meanwhile, takes all and closes the queue. */
static void own(void)
{
    read_from(3);
    while (w.taken < READS)
        take(1);
    queue_close(w.queue);
}

static void own_ordered(void)
{
    while (w.taken < READS)
        take(1);
    queue_close(w.queue);
}

/* What still waits is cancelled, and comes as all else. */
static void own_cancelling(void)
{
    (void)queue_cancel(w.queue, w.buf);
    own_ordered();
}

/* Looks while another thread waits for the hosts, and has hosts answer then. */
static void own_looking(void)
{
    DodoDone done[READS];
    if (queue_wait(w.queue, done, READS, 0) != 0)
        interleave_fail("a read is over that no host has answered");
    for (unsigned i = 0; i < 2; i++)
        (void)eventfd_write(w.socket, 1);
    while (w.taken < 2)
        take(1);
    queue_close(w.queue);
}

/* Takes what is done, once, and closes the queue, whatever is under way. */
static void own_briefly(void)
{
    take(READS);
    queue_close(w.queue);
}

static void close_1(void)
{
    queue_finish_region(1);
    interleave_count(COUNT_LATE);
}

static void close_2(void)
{
    queue_finish_region(2);
    interleave_count(COUNT_LATE);
}

/* A thread whose own call may wait for one here. */
static void help(void)
{
    for (int i = 0; i < 2; i++)
        if (queue_help_all())
            interleave_count(COUNT_LATE);
}

/* ---- the tests ------------------------------------------------------------------------------- */

static const InterleaveScenario owner_beside = {"turns", begin, {own, close_1, close_2}, end};
static const InterleaveScenario close_beside = {
    "close", begin, {own_briefly, close_1, close_2}, end};
static const InterleaveScenario files_beside = {"files", begin_files, {own, close_1}, end};
static const InterleaveScenario files_close = {
    "files-close", begin_files, {own_briefly, close_1}, end};
static const InterleaveScenario files_left = {"files-left", begin_files, {own, close_2}, end};
static const InterleaveScenario order_beside = {"order", begin_order, {own_ordered, close_1}, end};
static const InterleaveScenario order_files = {
    "order-files", begin_order_files, {own_ordered, close_1}, end};
static const InterleaveScenario order_cancel = {
    "order-cancel", begin_order_files, {own_cancelling, close_1}, end};
static const InterleaveScenario order_close = {
    "order-close", begin_order_files, {own_briefly, close_1}, end};
static const InterleaveScenario look_beside = {"look", begin_silent, {own_looking, close_1}, end};
static const InterleaveScenario help_beside = {"help", begin, {own, help, close_1}, end};
static const InterleaveScenario help_files = {"help-files", begin_files, {own, help}, end};
static const InterleaveScenario help_close = {"help-close", begin, {own_briefly, help}, end};
static const InterleaveScenario *const scenarios[] = {
    &owner_beside, &close_beside, &files_beside, &files_close, &files_left,
    &order_beside, &order_files,  &order_cancel, &order_close, &help_beside,
    &help_files,   &help_close,   &look_beside,  NULL};

TEST(queue__everybody_gets_a_turn)
{
    (void)clean(&owner_beside, 2, COUNT_LATE + 1);
    noticed(&owner_beside, BREAK_BROADCAST, "no thread can go on");
}

TEST(queue__closes_beside_others)
{
    (void)clean(&close_beside, 2, COUNT_LATE + 1);
    noticed(&close_beside, BREAK_BROADCAST, "no thread can go on");
}

TEST(queue__hears_of_files)
{
    InterleaveResult r = clean(&files_beside, 1, COUNT_FILES + 1);
    assert_true(r.counts[COUNT_FILES] >= r.schedules);
    (void)clean(&files_close, 2, COUNT_FILES + 1);
}

/* A look takes no time while another thread waits for a silent host. */
TEST(queue__is_looked_at_beside_a_close)
{
    (void)clean(&look_beside, 2, COUNT_LATE + 1);
}

/* What is over and not taken keeps nobody awake who waits for the rest. */
TEST(queue__waits_beside_what_is_left)
{
    (void)clean(&files_left, 1, COUNT_FILES + 1);
}

TEST(queue__keeps_its_order_beside_others)
{
    (void)clean(&order_beside, 2, COUNT_LATE + 1);
    InterleaveResult r = clean(&order_files, 1, COUNT_HELD + 1);
    assert_true(r.counts[COUNT_HELD] >= 2 * r.schedules);
    assert_true(r.counts[COUNT_FILES] >= 3 * r.schedules);
    (void)clean(&order_cancel, 1, COUNT_LATE + 1);
    (void)clean(&order_close, 1, COUNT_LATE + 1);
}

TEST(queue__is_helped_beside_others)
{
    (void)clean(&help_beside, 2, COUNT_LATE + 1);
    (void)clean(&help_files, 1, COUNT_FILES + 1);
    (void)clean(&help_close, 2, COUNT_LATE + 1);
    noticed(&help_beside, BREAK_BROADCAST, "no thread can go on");
}

int main(int argc, char **argv)
{
    return argc > 1 ? replay(scenarios, argc, argv) : cases_run(NULL, NULL);
}

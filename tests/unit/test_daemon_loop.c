/* SPDX-License-Identifier: MIT */
/* The loop: descriptors, the timer, signals; and the mailbox that wakes it from another thread. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/os.h"
#include "base/time.h"
#include "daemon/loop.h"
#include "daemon/mailbox.h"
#include "tests/lib/case.h"

enum { PATIENCE_S = 60 };

typedef struct Story {
    Loop *loop;
    uint64_t deadline_ns;
    unsigned expired, signals, letters, reloads;
    bool late; /* an expiry came before its deadline */
    Mailbox mail;
} Story;

static uint64_t on_deadline(void *ctx)
{
    return ((Story *)ctx)->deadline_ns;
}

static void on_expire(void *ctx, uint64_t now_ns)
{
    Story *s = ctx;
    s->late |= now_ns < s->deadline_ns;
    if (++s->expired == 3)
        loop_stop(s->loop);
    s->deadline_ns = time_add(now_ns, 2 * NS_PER_MS);
}

static void on_signal(void *ctx, unsigned nth)
{
    Story *s = ctx;
    s->signals = nth;
    if (nth == 1)
        (void)raise(SIGINT);
    else
        loop_stop(s->loop);
}

static void on_reload(void *ctx)
{
    Story *s = ctx;
    s->reloads++;
    (void)raise(SIGTERM);
}

static const LoopOps ops = {.deadline = on_deadline, .expire = on_expire, .signal = on_signal};

TEST(loop__expires_at_deadlines)
{
    Story s = {.deadline_ns = 0}; /* long past: comes all the same */
    s.loop = loop_new(&ops, &s);
    assert_non_null(s.loop);
    assert_int_equal(loop_run(s.loop), 0);
    assert_int_equal(s.expired, 3);
    assert_false(s.late);
    assert_null(loop_free(s.loop));
    assert_null(loop_free(NULL));
}

TEST(loop__counts_signals)
{
    Story s = {.deadline_ns = TIME_NEVER};
    s.loop = loop_new(&ops, &s);
    assert_non_null(s.loop);
    assert_int_equal(raise(SIGTERM), 0); /* before the loop runs: not lost */
    assert_int_equal(loop_run(s.loop), 0);
    assert_int_equal(s.signals, 2);
    loop_free(s.loop);
}

/* Who started it may have blocked them, and a program inherits that. */
TEST(loop__hears_signals_that_were_blocked)
{
    sigset_t all, before;
    Story s = {.deadline_ns = 0}; /* ends the loop if they do not come */
    (void)sigfillset(&all);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &all, &before), 0);
    assert_int_equal(raise(SIGTERM), 0);
    s.loop = loop_new(&ops, &s);
    assert_non_null(s.loop);
    assert_int_equal(loop_run(s.loop), 0);
    assert_int_equal(s.signals, 2);
    loop_free(s.loop);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &before, NULL), 0);
}

/* Never the end of a daemon. */
TEST(loop__reloads_at_a_hangup)
{
    LoopOps reloading = ops;
    Story s = {.deadline_ns = TIME_NEVER}, deaf = {.deadline_ns = TIME_NEVER};
    reloading.reload = on_reload;
    s.loop = loop_new(&reloading, &s);
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(loop_run(s.loop), 0);
    assert_int_equal(s.reloads, 1);
    assert_int_equal(s.signals, 2);
    loop_free(s.loop);
    deaf.loop = loop_new(&ops, &deaf);
    assert_int_equal(raise(SIGHUP), 0);
    assert_int_equal(raise(SIGTERM), 0);
    assert_int_equal(loop_run(deaf.loop), 0);
    assert_int_equal(deaf.signals, 2);
    loop_free(deaf.loop);
}

static void on_reload_in_time(void *ctx)
{
    ((Story *)ctx)->deadline_ns = os_now_ns();
}

/* What a reload makes due is done, though nothing else wakes the loop. */
TEST(loop__looks_at_its_deadline_after_a_reload)
{
    LoopOps reloading = ops;
    Story s = {.deadline_ns = TIME_NEVER};
    reloading.reload = on_reload_in_time;
    s.loop = loop_new(&reloading, &s);
    assert_int_equal(raise(SIGHUP), 0);
    (void)alarm(PATIENCE_S);
    assert_int_equal(loop_run(s.loop), 0);
    (void)alarm(0);
    assert_int_equal(s.expired, 3);
    loop_free(s.loop);
}

typedef struct Ends {
    Loop *loop;
    int fd; /* that somebody hears no more */
    unsigned heard;
} Ends;

static void on_end(void *ctx)
{
    Ends *e = ctx;
    if (++e->heard > 1)
        loop_stop(e->loop);
    loop_unwatch(e->loop, e->fd);
}

/* What is readable for ever, an end that is closed, keeps nobody busy; others are heard as before.
 */
TEST(loop__unwatches_one_descriptor)
{
    Story s = {.deadline_ns = 0};
    Ends first, second;
    int ends[2][2];
    s.loop = loop_new(&ops, &s);
    assert_non_null(s.loop);
    for (int i = 0; i < 2; i++) {
        Ends *e = i ? &second : &first;
        assert_int_equal(pipe(ends[i]), 0);
        assert_int_equal(close(ends[i][1]), 0);
        *e = (Ends){.loop = s.loop, .fd = ends[i][0]};
        assert_int_equal(loop_watch(s.loop, ends[i][0], on_end, e), 0);
    }
    assert_int_equal(loop_run(s.loop), 0);
    assert_int_equal(first.heard, 1);
    assert_int_equal(second.heard, 1);
    loop_free(s.loop);
    (void)close(ends[0][0]);
    (void)close(ends[1][0]);
}

static void on_traffic(void *ctx)
{
    (void)ctx;
}

/* A descriptor that always has something to read, as the socket of a manager that many ask, does
 * not put off what is due. */
TEST(loop__expires_while_a_descriptor_is_always_readable)
{
    Story s = {.deadline_ns = 0};
    int ends[2];
    s.loop = loop_new(&ops, &s);
    assert_non_null(s.loop);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1); /* nobody takes it */
    assert_int_equal(loop_watch(s.loop, ends[0], on_traffic, &s), 0);
    (void)alarm(PATIENCE_S);
    assert_int_equal(loop_run(s.loop), 0);
    (void)alarm(0);
    assert_int_equal(s.expired, 3);
    assert_false(s.late);
    loop_free(s.loop);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

typedef struct Resting {
    Loop *loop;
    int fd;
    uint64_t rest_ns;
    unsigned heard, heard_last;
} Resting;

static void on_resting(void *ctx)
{
    Resting *r = ctx;
    if (++r->heard == r->heard_last)
        loop_stop(r->loop);
    loop_rest(r->loop, r->fd, r->rest_ns);
}

/* What always has something to read is left alone for a while, and then heard again. */
TEST(loop__rests_from_one_descriptor)
{
    for (unsigned heard = 1; heard <= 2; heard++) {
        Story s = {.deadline_ns = heard == 1 ? 0 : TIME_NEVER};
        int ends[2];
        s.loop = loop_new(&ops, &s);
        assert_non_null(s.loop);
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(close(ends[1]), 0);
        Resting r = {.loop = s.loop,
                     .fd = ends[0],
                     .rest_ns = heard == 1 ? 3600 * NS_PER_S : NS_PER_MS,
                     .heard_last = 2};
        assert_int_equal(loop_watch(s.loop, ends[0], on_resting, &r), 0);
        (void)alarm(PATIENCE_S);
        assert_int_equal(loop_run(s.loop), 0); /* until the third deadline, or the second time */
        (void)alarm(0);
        assert_int_equal(r.heard, heard);
        loop_free(s.loop);
        (void)close(ends[0]);
    }
}

enum { LETTERS = 1000 };
typedef struct Numbered {
    Letter letter;
    unsigned number;
} Numbered;
static Numbered numbered[LETTERS];

static void on_mail(void *ctx)
{
    Story *s = ctx;
    for (Letter *l = mailbox_take(&s->mail), *next; l; l = next) {
        next = l->next;
        assert_int_equal(((Numbered *)l)->number, s->letters);
        if (++s->letters == LETTERS)
            loop_stop(s->loop);
    }
}

static void *post(void *ctx)
{
    Story *s = ctx;
    for (unsigned i = 0; i < LETTERS; i++) {
        numbered[i].number = i;
        mailbox_post(&s->mail, &numbered[i].letter);
    }
    return NULL;
}

static void *wait_for_mail(void *ctx)
{
    mailbox_wait(&((Story *)ctx)->mail);
    return NULL;
}

static bool bell_is_silent(const Mailbox *m)
{
    struct pollfd at = {.fd = m->fd, .events = POLLIN};
    return poll(&at, 1, 0) == 0;
}

/* The bell of a letter may come when that has been taken, with another one's: who waits for the
 * next letter sleeps. */
TEST(mailbox__waiting_sleeps_after_a_late_bell)
{
    Story s = {.deadline_ns = TIME_NEVER};
    pthread_t waiter;
    assert_int_equal(mailbox_init(&s.mail), 0);
    assert_int_equal(eventfd_write(s.mail.fd, 1), 0);
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_mail, &s), 0);
    const uint64_t end = time_add(os_now_ns(), PATIENCE_S * NS_PER_S);
    while (!bell_is_silent(&s.mail) && os_now_ns() < end)
        (void)sched_yield();
    assert_true(bell_is_silent(&s.mail)); /* else it is heard again and again */
    mailbox_post(&s.mail, &numbered[0].letter);
    assert_int_equal(pthread_join(waiter, NULL), 0);
    assert_ptr_equal(mailbox_take(&s.mail), &numbered[0].letter);
    mailbox_deinit(&s.mail);
}

TEST(mailbox__wakes_the_loop_in_order)
{
    Story s = {.deadline_ns = TIME_NEVER};
    pthread_t poster;
    s.loop = loop_new(&ops, &s);
    assert_non_null(s.loop);
    assert_int_equal(mailbox_init(&s.mail), 0);
    assert_null(mailbox_take(&s.mail));
    assert_int_equal(loop_watch(s.loop, s.mail.fd, on_mail, &s), 0);
    assert_int_equal(pthread_create(&poster, NULL, post, &s), 0);
    assert_int_equal(loop_run(s.loop), 0);
    assert_int_equal(pthread_join(poster, NULL), 0);
    assert_int_equal(s.letters, LETTERS);
    loop_free(s.loop);
    mailbox_deinit(&s.mail);
}

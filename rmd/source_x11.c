/* SPDX-License-Identifier: MIT */
/* X11: the server counts the time since any input (extension MIT-SCREEN-SAVER). XCB, because Xlib
 * ends the program when its server dies.
 *
 * A server that accepts a connection and then says nothing would block us for ever. So a thread of
 * its own asks it, and a look waits for that a while. If the thread hangs for ever, it is left
 * behind: the last user of what both share frees it. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xcb/screensaver.h>
#include <xcb/xcb.h>

#include "base/cleanup.h"
#include "base/os.h"
#include "base/time.h"
#include "rmd/source_kinds.h"
#include "rmd/source_report.h"

typedef struct Asker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool wanted, quit; /* from the source */
    bool busy;         /* an answer is under way */
    unsigned users;    /* the source, the thread */
    uint64_t asked;    /* number of answers */
    bool known;
    uint64_t idle_ns;
    const char *why; /* unless known; static */
    char display[];
} Asker;

typedef struct X11Source {
    Source base;
    Asker *asker;
    pthread_t thread;
} X11Source;

/* ---- the thread: X ----------------------------------------------------------------------------
 */

static xcb_connection_t *x_connect(const char *display, xcb_window_t *ret_root, const char **why)
{
    int number;
    xcb_connection_t *c = xcb_connect(display, &number);
    *why = "no X server answers there, or it does not let us in";
    if (!xcb_connection_has_error(c)) {
        const xcb_query_extension_reply_t *x = xcb_get_extension_data(c, &xcb_screensaver_id);
        xcb_screen_iterator_t screens = xcb_setup_roots_iterator(xcb_get_setup(c));
        *why = "the X server cannot tell: it has no extension MIT-SCREEN-SAVER";
        if (x && x->present && screens.rem > 0) {
            *ret_root = screens.data->root;
            return c;
        }
    }
    xcb_disconnect(c);
    return NULL;
}

static bool x_ask(xcb_connection_t *c, xcb_window_t root, uint64_t *ret_idle_ns)
{
    xcb_generic_error_t *error = NULL;
    xcb_screensaver_query_info_cookie_t cookie = xcb_screensaver_query_info(c, root);
    CLEANUP_FREE xcb_screensaver_query_info_reply_t *reply =
        xcb_screensaver_query_info_reply(c, cookie, &error);
    free(error);
    while (true) { /* events nobody asked for */
        CLEANUP_FREE xcb_generic_event_t *event = xcb_poll_for_event(c);
        if (!event)
            break;
    }
    if (reply)
        *ret_idle_ns = reply->ms_since_user_input * NS_PER_MS;
    return reply;
}

typedef struct Answer {
    bool known;
    uint64_t idle_ns;
    const char *why;
} Answer;

static Answer x_answer(const char *display, xcb_connection_t **c, xcb_window_t *root)
{
    Answer a = {.why = NULL};
    if (!*c)
        *c = x_connect(display, root, &a.why);
    if (!*c)
        return a;
    a.known = x_ask(*c, *root, &a.idle_ns);
    if (!a.known) {
        xcb_disconnect(*c);
        *c = NULL;
        a.why = "the X server is gone";
    }
    return a;
}

static void asker_drop(Asker *a)
{
    (void)pthread_mutex_lock(&a->lock);
    bool last = --a->users == 0;
    (void)pthread_mutex_unlock(&a->lock);
    if (!last)
        return;
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
}

static void *asker_run(void *ctx)
{
    Asker *a = ctx;
    xcb_connection_t *c = NULL;
    xcb_window_t root = 0;
    (void)pthread_mutex_lock(&a->lock);
    while (!a->quit) {
        if (!a->wanted) {
            (void)pthread_cond_wait(&a->changed, &a->lock);
            continue;
        }
        a->wanted = false;
        a->busy = true;
        (void)pthread_mutex_unlock(&a->lock);
        Answer answer = x_answer(a->display, &c, &root);
        (void)pthread_mutex_lock(&a->lock);
        a->known = answer.known;
        a->idle_ns = answer.idle_ns;
        a->why = answer.why;
        a->busy = false;
        a->asked++;
        (void)pthread_cond_broadcast(&a->changed);
    }
    (void)pthread_mutex_unlock(&a->lock);
    if (c)
        xcb_disconnect(c);
    asker_drop(a);
    return NULL;
}

/* ---- the source -------------------------------------------------------------------------------
 */

static Asker *asker_new(const char *display)
{
    size_t len = strlen(display) + 1;
    Asker *a = calloc(1, sizeof *a + len);
    pthread_condattr_t attr;
    if (!a)
        return NULL;
    memcpy(a->display, display, len);
    a->users = 1;
    (void)pthread_mutex_init(&a->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&a->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    return a;
}

static bool asker_start(Asker *a, pthread_t *ret_thread)
{
    a->users++;
    bool started = os_thread_start(ret_thread, asker_run, a) == 0;
    if (!started)
        a->users--;
    return started;
}

static Source *x11_open(const SourceSettings *settings)
{
    X11Source *s = settings->display ? calloc(1, sizeof *s) : NULL;
    if (s)
        s->asker = asker_new(settings->display);
    if (s && s->asker && asker_start(s->asker, &s->thread))
        return &s->base;
    if (s && s->asker)
        asker_drop(s->asker);
    free(s);
    return NULL;
}

static struct timespec patience(void)
{
    return time_to_timespec(os_now_ns() + SOURCE_PATIENCE_NS);
}

static void x11_look(Source *base, uint64_t now_ns, uint64_t awake_ns, SourceReport *ret)
{
    Asker *a = ((X11Source *)(void *)base)->asker;
    struct timespec until = patience();
    char age[32];
    (void)now_ns, (void)awake_ns;
    (void)pthread_mutex_lock(&a->lock);
    if (a->busy) { /* since an earlier look: it had its time */
        source_unknown(ret, "%s: the X server does not answer", a->display);
    } else {
        uint64_t before = a->asked;
        a->wanted = true;
        (void)pthread_cond_broadcast(&a->changed);
        int r = 0;
        while (a->asked == before && r == 0)
            r = pthread_cond_timedwait(&a->changed, &a->lock, &until);
        if (a->asked == before)
            source_unknown(ret, "%s: the X server does not answer", a->display);
        else if (!a->known)
            source_unknown(ret, "%s: %s", a->display, a->why);
        else
            source_known(ret, a->idle_ns, "%s: last touched %s ago", a->display,
                         source_age(a->idle_ns, age));
    }
    (void)pthread_mutex_unlock(&a->lock);
}

static void x11_close(Source *base)
{
    X11Source *s = (X11Source *)(void *)base;
    (void)pthread_mutex_lock(&s->asker->lock);
    bool hangs = s->asker->busy;
    s->asker->quit = true;
    (void)pthread_cond_broadcast(&s->asker->changed);
    (void)pthread_mutex_unlock(&s->asker->lock);
    if (hangs)
        (void)pthread_detach(s->thread);
    else
        (void)pthread_join(s->thread, NULL);
    asker_drop(s->asker);
    free(s);
}

const SourceKind source_x11 = {"x11", x11_open, x11_look, x11_close};

/* SPDX-License-Identifier: MIT */
#include "libdodo/names.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/os.h"

struct Names {
    Places places;
    uint8_t family;
    bool loopback_only;
    pthread_mutex_t lock;
    unsigned users; /* under the lock: the library, and the thread while it runs */
    NamesFn *fn;    /* likewise; NULL: nobody wants to hear it any more */
    void *ctx;
    NamesTellFn *tell;
};

static bool loopback_only(const Settings *s)
{
    return s->keys_count == 0 && !s->insecure;
}

void names_first(const Settings *s, Resolved *found)
{
    resolve_places(&s->managers, ADDR_NONE, loopback_only(s), found);
}

Names *names_new(const Settings *s, NamesFn *fn, void *ctx, NamesTellFn *tell)
{
    Names *n = places_have_names(&s->managers) ? calloc(1, sizeof *n) : NULL;
    if (!n)
        return NULL;
    *n = (Names){.places = s->managers,
                 .family = s->family,
                 .loopback_only = loopback_only(s),
                 .users = 1,
                 .fn = fn,
                 .ctx = ctx,
                 .tell = tell};
    (void)pthread_mutex_init(&n->lock, NULL);
    return n;
}

static void leave(Names *n)
{
    (void)pthread_mutex_lock(&n->lock);
    const bool last = --n->users == 0;
    (void)pthread_mutex_unlock(&n->lock);
    if (!last)
        return;
    (void)pthread_mutex_destroy(&n->lock);
    free(n);
}

static void *resolve(void *arg)
{
    Names *n = arg;
    Resolved found;
    resolve_places(&n->places, n->family, n->loopback_only, &found);
    (void)pthread_mutex_lock(&n->lock);
    const bool heard = n->fn != NULL;
    if (heard)
        n->fn(n->ctx, &found);
    (void)pthread_mutex_unlock(&n->lock);
    if (heard)
        n->tell(&found);
    leave(n);
    return NULL;
}

/* The names are wanted again when the thread could not be started. */
void names_resolve(Names *n)
{
    const Resolved nothing = {.count = 0};
    pthread_t thread;
    (void)pthread_mutex_lock(&n->lock);
    n->users++;
    (void)pthread_mutex_unlock(&n->lock);
    if (os_thread_start(&thread, resolve, n) == 0) {
        (void)pthread_detach(thread);
        return;
    }
    leave(n);
    n->fn(n->ctx, &nothing);
}

void names_end(Names *n)
{
    if (!n)
        return;
    (void)pthread_mutex_lock(&n->lock);
    n->fn = NULL;
    (void)pthread_mutex_unlock(&n->lock);
    leave(n);
}

void names_abandon(Names *n)
{
    free(n);
}

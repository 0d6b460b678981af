/* SPDX-License-Identifier: MIT */
#include "daemon/mailbox.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

int mailbox_init(Mailbox *m)
{
    m->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (m->fd < 0)
        return -errno;
    pthread_mutex_init(&m->lock, NULL);
    m->first = NULL;
    m->last = &m->first;
    atomic_init(&m->waiting, false);
    return 0;
}

void mailbox_deinit(Mailbox *m)
{
    (void)close(m->fd);
    m->fd = -1;
    pthread_mutex_destroy(&m->lock);
}

void mailbox_post(Mailbox *m, Letter *letter)
{
    letter->next = NULL;
    pthread_mutex_lock(&m->lock);
    *m->last = letter;
    m->last = &letter->next;
    atomic_store(&m->waiting, true);
    pthread_mutex_unlock(&m->lock);
    (void)eventfd_write(m->fd, 1); /* cannot fail: the counter stays far below its limit */
}

void mailbox_wait(const Mailbox *m)
{
    struct pollfd at = {.fd = m->fd, .events = POLLIN};
    eventfd_t ignored;
    while (!mailbox_waiting(m))
        if (poll(&at, 1, -1) > 0)
            (void)eventfd_read(m->fd, &ignored); /* perhaps of a letter that has been taken */
}

bool mailbox_waiting(const Mailbox *m)
{
    return atomic_load(&m->waiting);
}

Letter *mailbox_take(Mailbox *m)
{
    eventfd_t ignored;
    (void)eventfd_read(m->fd, &ignored); /* before the queue is emptied: what comes later rings */
    pthread_mutex_lock(&m->lock);
    Letter *all = m->first;
    m->first = NULL;
    m->last = &m->first;
    atomic_store(&m->waiting, false);
    pthread_mutex_unlock(&m->lock);
    return all;
}

void mailbox_drop(Mailbox *m, void (*drop)(void *letter))
{
    for (Letter *l = mailbox_take(m), *next; l; l = next) {
        next = l->next;
        drop(l);
    }
    mailbox_deinit(m);
}

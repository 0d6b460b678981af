/* SPDX-License-Identifier: MIT */
/* A mailbox in all interleavings of threads that post with one that waits on its descriptor (see
 * tests/lib/interleave.h): no letter is left without a bell. */
#include "tests/lib/case.h"
#include "tests/unit/interleave_fixture.h"

#include <sys/epoll.h>
#include <unistd.h>

#include "daemon/mailbox.h"

enum { COUNT_SLEPT, COUNT_TOGETHER }; /* for interleave_count() */
enum { POSTERS = 2, LETTERS = 2 };    /* of each */

typedef struct Numbered {
    Letter letter; /* first */
    unsigned number;
} Numbered;

static struct {
    Mailbox box;
    int epoll_fd;
    Numbered letters[POSTERS][LETTERS];
} w;

static void begin(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    w.epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (mailbox_init(&w.box) != 0 || epoll_ctl(w.epoll_fd, EPOLL_CTL_ADD, w.box.fd, &event) != 0)
        interleave_fail("no descriptors");
}

static void end(void)
{
    (void)close(w.epoll_fd);
    mailbox_deinit(&w.box);
}

static void post(unsigned poster)
{
    for (unsigned i = 0; i < LETTERS; i++) {
        w.letters[poster][i].number = i;
        mailbox_post(&w.box, &w.letters[poster][i].letter);
    }
}

static void post_first(void)
{
    post(0);
}

static void post_second(void)
{
    post(1);
}

/* As a loop does: it takes nothing before the descriptor says that there is something. */
static void receive(void)
{
    struct epoll_event event;
    unsigned next[POSTERS] = {0};
    for (unsigned all = 0, before; all < POSTERS * LETTERS;) {
        interleave_count(COUNT_SLEPT);
        (void)interleave_epoll_wait(w.epoll_fd, &event, 1, -1);
        before = all;
        for (const Letter *l = mailbox_take(&w.box); l; l = l->next, all++) {
            const Numbered *n = (const Numbered *)(const void *)l;
            unsigned poster = n >= w.letters[1];
            if (n->number != next[poster]++)
                interleave_fail("letters of a thread are out of order");
        }
        if (all > before + 1)
            interleave_count(COUNT_TOGETHER);
    }
}

static const InterleaveScenario on_descriptor = {
    "descriptor", begin, {receive, post_first, post_second}, end};
static const InterleaveScenario *const scenarios[] = {&on_descriptor, NULL};

TEST(mailbox__no_letter_without_a_bell)
{
    (void)clean(&on_descriptor, 2, COUNT_TOGETHER + 1);
}

int main(int argc, char **argv)
{
    return argc > 1 ? replay(scenarios, argc, argv) : cases_run(NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The background's thread: it does what no call waits for. */
#include <errno.h>
#include <sys/eventfd.h>

#include "base/os.h"
#include "libdodo/drive.h"
#include "libdodo/gate.h"
#include "libdodo/program_file.h"
#include "libdodo/runtime_private.h"

static void *background_main(void *arg)
{
    Runtime *rt = arg;
    Link *link = rt->background;
    eventfd_t count;
    for (;;) {
        gate_enter();
        uint64_t deadline = link_turn(link);
        gate_leave();
        if (rt->stop)
            return NULL;
        link_wait(link, rt->background_fd, deadline);
        (void)eventfd_read(rt->background_fd, &count);
    }
}

int runtime_background_make(Runtime *rt)
{
    rt->background = link_new(rt->client, &rt->settings, &rt->self, 1, true);
    if (!rt->background)
        return -ENOMEM;
    file_worker_init(&rt->background->worker, rt->background_fd);
    client_receive_granted(rt->client, rt->background->batches.transport->receive_bytes);
    return 0;
}

/* Not before it is needed: system calls on descriptors are cheaper in a process of one thread. */
static int background_start(Runtime *rt)
{
    int result = os_thread_start(&rt->thread, background_main, rt);
    rt->serving = result == 0;
    if (result == 0)
        rt->part = program_part(PROGRAM_LIBRARY);
    return result;
}

int runtime_serve(Runtime *rt)
{
    int result = 0;
    if (rt->serving)
        return 0;
    (void)pthread_mutex_lock(&runtime_start_lock);
    if (!rt->serving && !rt->ended)
        result = background_start(rt);
    (void)pthread_mutex_unlock(&runtime_start_lock);
    if (result < 0)
        reason_set("no thread for the library itself");
    return result;
}

void runtime_background_stop(Runtime *rt)
{
    rt->stop = true;
    (void)eventfd_write(rt->background_fd, 1);
}

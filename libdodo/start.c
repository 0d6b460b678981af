/* SPDX-License-Identifier: MIT */
/* Where calls on a whole region begin. One of a striped region is made of others. */
#include <errno.h>

#include "libdodo/calls.h"
#include "libdodo/channel.h"
#include "libdodo/client.h"
#include "libdodo/region.h"
#include "libdodo/retain.h"
#include "libdodo/stripe.h"

void call_open_start(Call *call, Channel *ch, const FileGiven *given, uint64_t len, uint64_t offset,
                     unsigned flags, uint64_t now_ns)
{
    FileGiven judged = *given;
    (void)now_ns;
    call_init(call, ch, NULL);
    retain_judge(ch->client, &judged, flags);
    if (stripe_wanted(ch->client, flags, len)) {
        stripe_open_start(call, &judged, len, offset, flags);
        return;
    }
    call_attach(call);
    call_open_begin(call, &judged, len, offset, flags);
}

void call_close_start(Call *call, Channel *ch, int rd, uint64_t now_ns)
{
    Client *c = ch->client;
    (void)now_ns;
    call_init(call, ch, NULL);
    client_lock(c);
    Region *r = client_user_region(c, rd);
    if (r)
        r->closing = true;
    client_unlock(c);
    if (!r) {
        call_finish(call, -1, EINVAL, "no such region");
        return;
    }
    if (region_units(r) > 1) {
        stripe_close_start(call, r);
        return;
    }
    call_attach(call);
    call_close_begin(call, r);
}

/* SPDX-License-Identifier: MIT */
/* A channel: the calls of one socket, and the background's own. Not for shells. */
#ifndef DODO_LIBDODO_CHANNEL_H
#define DODO_LIBDODO_CHANNEL_H

#include "base/listen_clock.h"
#include "base/time.h"
#include "libdodo/calls.h"
#include "libdodo/debt.h"
#include "libdodo/path_probe.h"
#include "proto/rules.h"

enum {
    PIECES_EXTRA = 15, /* states of a channel for pieces, besides one a call */
};

/* Per session of a channel. */
typedef struct ChannelPeer {
    PathEstimate path;
    PathProbe probe;
    Debt debt;
    uint16_t read_segment, write_segment;
} ChannelPeer;

enum { STATES_MAX = CHANNEL_CALLS_MAX + PIECES_EXTRA + BACKGROUND_CALLS };

struct Channel {
    Client *client;
    Endpoint *endpoint;
    ChannelSink sink;
    bool background;
    Call *calls, *calls_last; /* the oldest first: so credit goes round */
    Wake wake;                /* the earliest of theirs, or earlier */
    uint32_t losses;          /* Client.losses when they were last looked at */
    bool news;                /* for channel_take_news() */
    CreditShare together;     /* that their transfers have */
    ListenClock clock;        /* of its requests, transfers and sessions' waits */
    uint64_t next_transfer;   /* names of writes and fills: none is used again on this channel */
    unsigned extra;           /* pieces, but for one of each call */
    bool again;               /* a call's pieces have changed: it goes on in this very step */
    uint64_t turns;           /* calls so far, but for pieces */
    /* background */
    Call own[BACKGROUND_CALLS];
    bool own_busy[BACKGROUND_CALLS];
    uint64_t alive_at_ns;
    struct {
        Session *session; /* with a manager's address that is looked at; NULL: none is */
        unsigned at;      /* its place in the list */
        bool over;        /* it has answered */
    } scout;              /* of the background */
    bool want_list;
    uint32_t lists;
    uint8_t lane_bits;
    unsigned states_count;
    uint64_t states_free[(STATES_MAX + 63) / 64]; /* bit i: the i-th is */
    CallState states[]; /* an ask's lane is the index of the call's state */
};

/* ---- the channel ---- */
/* The channel's listening clock. Calls begin and are stepped in monotonic time; what they have
 * under way on the network goes by this. Silence counts only while the listener itself ran. */
static inline uint64_t channel_clock(Channel *ch, uint64_t now_ns)
{
    return RULE(OWN_SILENCE) ? listen_clock_at(&ch->clock, now_ns) : now_ns;
}
static inline bool wake_has_come(const Wake *w, uint64_t clock_ns)
{
    return w->at_next || clock_ns >= w->due_ns;
}
/* Something happened to the call: step it. */
static inline void call_stir(Call *call)
{
    call->wake.at_next = true;
    call->channel->wake.at_next = true;
}
/* Something that may concern any call on the channel. */
static inline void channel_stir(Channel *ch)
{
    for (Call *call = ch->calls; call; call = call->next)
        call_stir(call);
}

/* ---- background.c ---- */
void background_step(Channel *ch, uint64_t now_ns);
/* A session is up. */
void background_up(Channel *ch, const Session *s, uint64_t now_ns);
uint64_t background_deadline(Channel *ch);

#endif

/* SPDX-License-Identifier: MIT */
/* What a data thread of the idle memory daemon decides, without its socket, its mailbox and its
 * clock: whose READ is answered when, what the owner's cap allows, when the good-byes are said. The
 * thread and the simulation run the same. Pure: time and messages come in, effects go out through
 * the sink of the data core. */
#ifndef DODO_IMD_SERVE_H
#define DODO_IMD_SERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "imd/control.h"
#include "imd/data.h"
#include "imd/pace.h"
#include "imd/read_queue.h"

typedef struct ImdServeConfig {
    ImdDataConfig data;
    uint64_t leave_deadline_ns; /* from IMD_LEAVE to the good-byes at most */
    Pace *pace;                 /* of all threads; kept; NULL: no cap ever */
} ImdServeConfig;

typedef struct ImdServe {
    ImdServeConfig config;
    ImdDataSink sink;
    ImdData *data;
    ReadQueue *reads;     /* came, but not answered yet */
    uint64_t reads_bytes; /* that they ask for */
    uint64_t now_ns;      /* of what is going on */
    bool leaving;         /* the good-byes are not said yet, ... */
    uint64_t leave_at_ns; /* ... and will be then at the latest */
} ImdServe;

/* 0, or -ENOMEM. What @sink->message is given is charged already. */
int serve_init(ImdServe *s, const ImdServeConfig *config, const Env *env, const ImdDataSink *sink);
/* Also of a zeroed one. */
void serve_deinit(ImdServe *s);

/* A message of a session that is up. READs wait for serve_answer(); all else is done immediately, a
 * WRITE even before the READs that came before it: the network could have brought them in that
 * order. */
void serve_message(ImdServe *s, void *session, uint8_t type, const uint8_t *payload, size_t len,
                   uint64_t now_ns);
void serve_closed(ImdServe *s, void *session);
/* Another share of the cap, as in ImdDataConfig. */
void serve_pace_bytes(ImdServe *s, uint32_t pace_bytes);

/* An order of the control thread: 0, or -ENOMEM of an IMD_ADD. IMD_LEAVE is over when
 * serve_parts() says so; IMD_PURGE is none of ours. */
int serve_obey(ImdServe *s, const ImdCommand *command, uint64_t now_ns);

/* Answers READs, but not more than a little, so that who comes meanwhile gets a turn. */
void serve_answer(ImdServe *s, uint64_t now_ns);
/* READs wait; they may be answered now. */
static inline bool serve_waits(const ImdServe *s)
{
    return s->reads->count > 0;
}
bool serve_ready(const ImdServe *s, uint64_t now_ns);
/* When there is something to do, if nothing comes before; TIME_NEVER: there is not. */
uint64_t serve_deadline(const ImdServe *s, uint64_t now_ns);
/* True, once: no write is under way any more, or the time is over, so every client is to hear
 * that this imd goes. Until it ends, it goes on to answer LEAVING. */
bool serve_parts(ImdServe *s, uint64_t now_ns);

#endif

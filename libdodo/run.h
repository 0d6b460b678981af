/* SPDX-License-Identifier: MIT */
/* Requests and transfers over a session, which may have to be set up first. Not for shells. */
#ifndef DODO_LIBDODO_RUN_H
#define DODO_LIBDODO_RUN_H

#include "libdodo/core.h"

/* What a call is doing on the network. */
enum RunKind { RUN_NONE, RUN_REQUEST, RUN_READ, RUN_WRITE };
enum RunResult {
    RUN_RUNNING,
    RUN_DONE,         /* complete, or answered */
    RUN_REFUSED,      /* with status */
    RUN_TIMED_OUT,    /* nobody there */
    RUN_HOST_CHANGED, /* another epoch, or no imd at all, answers there */
};

/* What goes on between the channel and one peer: a request, a read or a write. */
typedef struct CallRun {
    uint8_t kind;         /* enum RunKind */
    bool begun;           /* the machine was started */
    bool renewed;         /* the session was made for this run, after one of another epoch */
    uint32_t progress;    /* of the transfer when it last made some, */
    uint64_t progress_ns; /* and when that was, on the listening clock; so are all here */
    bool asking;          /* it counts in its host's Debt, */
    uint16_t counted;     /* with so many finished chunks */
    Addr peer;
    Session *session;
    uint64_t give_up_ns; /* while the session is not up; 0: to be set. Of a request: another manager
                            is asked then; TIME_NEVER: there is none */
    uint8_t pings;       /* that the manager has not answered */
    uint8_t passed;      /* managers in a row that stand by; */
    bool rests;          /* all of them do: the request waits a while */
    uint16_t status;     /* of RUN_REFUSED */
    uint32_t losses;     /* Client.losses when the region was last known to have its memory */
    /* what the machine is started with once the session is up */
    RegionAddress address;
    uint8_t write_kind;
    uint64_t offset; /* in the region */
    size_t len;
    uint8_t *buf;
    uint64_t number, transfer;
} CallRun;

/* The id was taken under the lock; the caller settles it. */
void run_request(Call *call, uint64_t id, uint16_t op, const uint8_t *body, size_t len,
                 const RequestTimes *times, uint64_t now_ns);
void run_read(Call *call, const Addr *host, const RegionAddress *address, uint64_t offset,
              uint8_t *buf, size_t len, uint64_t now_ns);
void run_write(Call *call, const Addr *host, const RegionAddress *address, enum WriteKind kind,
               uint64_t offset, const uint8_t *data, size_t len, uint64_t number, uint64_t now_ns);
/* Sends what is due; returns the state. */
enum RunResult run_step(Call *call, uint64_t now_ns);
/* Between run.c and run_request.c. */
void run_prepare(Call *call, enum RunKind kind, const Addr *peer, uint64_t clock_ns);
Session *run_session(Call *call, uint64_t now_ns); /* up, or NULL */
void run_send(Channel *ch, Session *s, uint8_t type, const uint8_t *payload, size_t len);
enum RunResult run_request_step(Call *call, uint64_t now_ns);
/* The manager was heard, or begins to be asked in this session. */
void run_request_heard(struct CallState *st, uint64_t clock_ns);
bool run_is_held(const Call *call);      /* by want of credit: others' progress lets it go on */
uint64_t run_deadline(const Call *call); /* on the listening clock */
bool run_is_brief(const Call *call);     /* one chunk of data at most */
/* A write of which all has been sent: it is the host's turn. */
bool run_is_sent(const Call *call);
/* There is more to send, or data comes. */
bool run_is_busy(const Call *call);
void run_session_up(Call *call, Session *session, uint64_t now_ns);
/* No call is on it afterwards. */
void runs_session_closed(Channel *ch, Session *session);
/* The same, and the session is forgotten: a new one is begun when somebody wants it. */
void channel_forget(Channel *ch, Session *s);
void run_data(Call *call, Session *session, const WireData *data, uint64_t now_ns);
/* Any other message. */
void run_message(Call *call, Session *session, uint8_t type, const uint8_t *payload, size_t len,
                 uint64_t now_ns);
void run_end(Call *call);

#endif

/* SPDX-License-Identifier: MIT */
/* What the control thread of the idle memory daemon decides around its core (control.h), without
 * its socket, its mailbox and its clock: how the manager is found and kept, what rmd is to hear,
 * when this imd hurries, when it leaves and when it has left. The thread and the simulation run the
 * same. Pure: time and messages come in, effects go out through the sink. */
#ifndef DODO_IMD_MEMBER_H
#define DODO_IMD_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "imd/control.h"
#include "imd/owner.h"
#include "proto/complaint.h"
#include "proto/contact.h"

/* What people should know. */
enum MemberNews {
    MEMBER_JOINED,
    MEMBER_DISMISSED,    /* the manager wants a JOIN again */
    MEMBER_LOST,         /* ... or has been silent for too long */
    MEMBER_UNHEARD,      /* the manager has not taken us for a while */
    MEMBER_NO_MANAGER,   /* who answers at its address is something else */
    MEMBER_NONE_ACTIVE,  /* all managers that answer stand by, for a while */
    MEMBER_SAVES,        /* the owner is back: what was used last moves to other hosts */
    MEMBER_LEAVES,       /* as asked; from here on: why we leave */
    MEMBER_SAVED,        /* that is done, or its time is over */
    MEMBER_OWNER_GONE,   /* rmd has hung up: we leave */
    MEMBER_OWNER_SILENT, /* rmd hangs: we leave */
    MEMBER_NEWS_MAX
};

/* None of it may call back. */
typedef struct ImdMemberSink {
    void (*message)(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len);
    /* To a data thread, or an IMD_PURGE. */
    void (*command)(void *ctx, const ImdCommand *command);
    /* No data thread reads or writes any more: all memory goes back at once. */
    void (*give_all_back)(void *ctx);
    /* All threads work for the owner, who waits for memory, or for nobody in particular again. */
    void (*hurry)(void *ctx, bool on, uint64_t now_ns);
    /* From now on no more than that a second goes over the network. */
    void (*slow)(void *ctx, uint64_t rate_bytes);
    /* To rmd, which does not always listen: false. */
    bool (*used)(void *ctx, uint64_t used_bytes, uint64_t limit_bytes);
    void (*news)(void *ctx, enum MemberNews news);
    void *ctx;
} ImdMemberSink;

typedef struct ImdMemberConfig {
    ImdControlConfig control;
    Addr manager;
    bool owned;                 /* rmd is there */
    uint64_t owner_silence_ns;  /* of rmd's, once it beats, that ends us */
    uint64_t leave_deadline_ns; /* from the wish to leave to the end at most */
} ImdMemberConfig;

typedef struct ImdMember {
    ImdMemberConfig config;
    ImdMemberSink sink;
    Endpoint *endpoint; /* borrowed */
    ImdControl *control;
    Contact manager;
    Owner owner;
    bool joined; /* as last reported */
    Complaint complaint;
    bool hurrying;
    bool saving;
    uint64_t save_until_ns;
    bool leaving;
    unsigned threads_left; /* have said good-bye */
    uint64_t leave_at_ns;
} ImdMember;

/* What the data threads may take of the time to leave; the rest is for informing the manager. */
static inline uint64_t member_threads_deadline(uint64_t leave_deadline_ns)
{
    return leave_deadline_ns / 4 * 3;
}

/* @endpoint is the control socket's. 0, or -ENOMEM. */
int member_init(ImdMember *m, const ImdMemberConfig *config, const Env *env, Endpoint *endpoint,
                const ImdMemberSink *sink, uint64_t now_ns);
void member_deinit(ImdMember *m); /* also of a zeroed one */

/* Where the manager may be, if it is not at the one address of @config; what its names stand for.
 */
void member_move(ImdMember *m, const Places *places);
void member_found(ImdMember *m, const Addr *found, unsigned count);

/* What came on the control socket, but for PINGs; a session that is up; one that has ended. */
void member_message(ImdMember *m, const Session *s, uint8_t type, const uint8_t *payload,
                    size_t len, uint64_t now_ns);
void member_up(ImdMember *m, const Session *s, uint64_t now_ns);
void member_closed(ImdMember *m, const Session *s);
/* A command is over: 0 or -ENOMEM of an IMD_ADD. An IMD_LEAVE is, when its thread has said
 * good-bye. */
void member_done(ImdMember *m, const ImdCommand *command, int result, uint64_t now_ns);
/* The owner is back, and so much is to be saved: in all that time no more than some times as much
 * goes over his network, reads of programs included. */
static inline uint64_t member_save_rate(const OwnerSave *s)
{
    enum { TIMES = 4, RATE_MIN = 8 << 20 }; /* programs give up a host that is too slow */
    const double rate = (double)s->bytes * TIMES * 1e9 / (double)(s->within_ns + 1);
    return rate < RATE_MIN ? RATE_MIN : rate < 1e15 ? (uint64_t)rate : (uint64_t)1e15;
}
/* A message of rmd's. OWNER_RELOAD: @m's owner.reload says what it has read. OWNER_ASKS: rmd is to
 * be answered. */
enum OwnerEvent member_heard(ImdMember *m, const char *text, size_t len, uint64_t now_ns);
/* rmd hung up. */
void member_owner_gone(ImdMember *m, uint64_t now_ns);
void member_leave(ImdMember *m, uint64_t now_ns);
/* What the data threads served since the start, all together. */
void member_served(ImdMember *m, const Served *served);

uint64_t member_deadline(const ImdMember *m);
/* What rmd has sent must have come in before: its silence is counted. */
void member_expire(ImdMember *m, uint64_t now_ns);
/* Left, and everybody knows, or the time for it is over. */
bool member_finished(const ImdMember *m, uint64_t now_ns);

#endif

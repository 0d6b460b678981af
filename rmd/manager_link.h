/* SPDX-License-Identifier: MIT */
/* What rmd reports to cmd: the state of its host, at each change and each beat. Of several that are
 * not yet answered only the newest counts. Pure: rmd and the simulation run the same. */
#ifndef DODO_RMD_MANAGER_LINK_H
#define DODO_RMD_MANAGER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/complaint.h"
#include "proto/contact.h"
#include "proto/request.h"
#include "proto/silence.h"
#include "rmd/monitor.h"

/* What people should know. */
enum LinkNews {
    LINK_ANSWERS,     /* the manager does, again */
    LINK_REFUSES,     /* ... the report */
    LINK_LOST,        /* it did, and does not any more */
    LINK_UNHEARD,     /* it has not answered for a while */
    LINK_NO_MANAGER,  /* who answers at its address is something else */
    LINK_NONE_ACTIVE, /* all managers that answer stand by, for a while */
    LINK_NEWS_MAX
};

typedef struct ManagerLinkSink {
    void (*message)(void *ctx, Session *s, uint8_t type, const uint8_t *payload, size_t len);
    void (*news)(void *ctx, enum LinkNews news);
    void *ctx;
} ManagerLinkSink;

typedef struct ManagerLink {
    Endpoint *endpoint; /* borrowed */
    ManagerLinkSink sink;
    Contact contact; /* with the manager */
    uint64_t beat_ns;
    Numbers ids;
    Request request; /* the newest; id 0: none yet */
    bool heard;      /* cmd answers; as last logged */
    Complaint complaint;
    Silence silence; /* of cmd */
    uint64_t tell_ns;
} ManagerLink;

void manager_link_init(ManagerLink *l, Endpoint *endpoint, const ManagerLinkSink *sink,
                       const Addr *manager, uint64_t beat_ns, uint64_t now_ns);
/* Where the manager may be, if it is not at the one address; what its names stand for. */
void manager_link_move(ManagerLink *l, const Places *places);
void manager_link_found(ManagerLink *l, const Addr *found, unsigned count);
/* Reports the state, if it has changed or is to be said again. True: it did. */
bool manager_link_report(ManagerLink *l, const MonitorStatus *status, bool changed,
                         uint64_t now_ns);
/* Instead of the last report. */
void manager_link_tell(ManagerLink *l, const OpHost *host, uint64_t now_ns);
/* It is time to say it again. */
bool manager_link_due(const ManagerLink *l, uint64_t now_ns);
/* The newest has been answered, or there is nobody who would. */
bool manager_link_settled(const ManagerLink *l);
/* Of any session: replies of the manager's count. */
void manager_link_message(ManagerLink *l, const Session *s, uint8_t type, const uint8_t *payload,
                          size_t len, uint64_t now_ns);
void manager_link_up(ManagerLink *l, const Session *s, uint64_t now_ns);
void manager_link_closed(ManagerLink *l, const Session *s);
uint64_t manager_link_deadline(const ManagerLink *l);
void manager_link_expire(ManagerLink *l, uint64_t now_ns);

#endif

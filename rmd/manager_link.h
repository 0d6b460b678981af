/* SPDX-License-Identifier: MIT */
/* What rmd reports to cmd: the state of its host, at each change and each beat. Of several that are
 * not yet answered only the newest counts. */
#ifndef DODO_RMD_MANAGER_LINK_H
#define DODO_RMD_MANAGER_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/port.h"
#include "proto/contact.h"
#include "proto/request.h"
#include "proto/silence.h"

typedef struct ManagerLink {
    Port *port;      /* borrowed */
    Contact contact; /* with the manager */
    uint64_t beat_ns;
    RequestIds ids;
    Request request; /* the newest; id 0: none yet */
    bool heard;      /* cmd answers; as last logged */
    Silence silence; /* of cmd */
    uint64_t tell_ns, complain_ns;
} ManagerLink;

void manager_link_init(ManagerLink *l, Port *port, const Addr *manager, uint64_t beat_ns,
                       uint64_t now_ns);
/* Instead of the last report. */
void manager_link_tell(ManagerLink *l, const OpHost *host, uint64_t now_ns);
/* It is time to say it again. */
bool manager_link_due(const ManagerLink *l, uint64_t now_ns);
/* The newest has been answered, or there is nobody who would. */
bool manager_link_settled(const ManagerLink *l);
void manager_link_input(ManagerLink *l, const uint8_t *payload, size_t len, uint64_t now_ns);
void manager_link_up(ManagerLink *l, Session *s, uint64_t now_ns);
void manager_link_closed(ManagerLink *l, const Session *s);
uint64_t manager_link_deadline(const ManagerLink *l);
void manager_link_expire(ManagerLink *l, uint64_t now_ns);

#endif

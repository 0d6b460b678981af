/* SPDX-License-Identifier: MIT */
/* The central manager's core (the paper's 4.3): the idle-workstation directory (IWD), the region
 * directory (RD), placement, keep-alives, reclaim, reconciliation. Pure. All of its state is soft:
 * it is rebuilt from the lists of imds and the claims of clients. */
#ifndef DODO_CMD_CORE_H
#define DODO_CMD_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "proto/endpoint.h"
#include "proto/wire.h"

typedef struct Manager Manager;

/* What came to pass, for the operator; see EventEntry. */
typedef struct ManagerEvent {
    uint64_t number;
    uint64_t at_ns;
    uint8_t kind; /* enum EventKind */
    Addr address;
    uint64_t id, regions;
    Reason reason; /* never "" */
} ManagerEvent;

typedef struct ManagerSink {
    /* REQUEST or REPLY to the peer of a session. No call back into the core. */
    void (*message)(void *ctx, Session *session, uint8_t type, const uint8_t *payload, size_t len);
    void *ctx;
    void (*event)(void *ctx, const ManagerEvent *event); /* NULL: nobody wants to know */
} ManagerSink;

typedef struct ManagerConfig {
    uint64_t client_dead_ns; /* silence after which a client's regions are reclaimed */
    uint64_t host_dead_ns;   /* silence after which an imd is not chosen; twice that: it and its
                                regions go */
    uint64_t grace_ns;       /* after its own start: nothing unclaimed is freed before */
    /* To imds. An OPEN is answered within twice the deadline, a CLOSE within one. */
    uint64_t request_first_retry_ns, request_retry_max_ns, request_deadline_ns;
    uint64_t distrust_ns; /* a host that a client reported is not chosen for so long */
    unsigned hosts_max, clients_max, regions_max, opens_max; /* opens_max: under way at once */
    uint64_t client_bytes, client_regions; /* that a client may have open; 0: no limit */
    bool weighted;                         /* placement: hosts with more room and less traffic */
    uint64_t number;                       /* what it is at first: as in WireHello.epoch */
} ManagerConfig;

Manager *manager_new(const ManagerConfig *config, const Env *env, const ManagerSink *sink,
                     const Id128 *instance, uint64_t now_ns);
Manager *manager_free(Manager *m);

/* A REQUEST or REPLY of an established session (session->peer_id and peer_role are proven when
 * sealed). The manager keeps @session in its host entries until manager_session_closed(). */
void manager_input(Manager *m, Session *session, uint8_t type, const uint8_t *payload, size_t len,
                   uint64_t now_ns);
/* Other times of silence and distrust, from now on. */
void manager_patience(Manager *m, uint64_t client_dead_ns, uint64_t host_dead_ns,
                      uint64_t distrust_ns);
/* Of what clients open from now on; 0: no limit. */
void manager_quota(Manager *m, uint64_t client_bytes, uint64_t client_regions);
/* From now on it is @number, as in WireHello.epoch: the active manager, under that lease, or it
 * stands by. All that it knew is forgotten but for its events, all sessions of @endpoint end, and
 * their peers hear of it if it was active. Its sink is used, and closed() of @endpoint. */
void manager_duty(Manager *m, Endpoint *endpoint, uint64_t number, uint64_t now_ns);
/* It ends, or stands by: those with a session ask another manager at once, or this one as
 * soon as it has started again, and not only when it finds out. Its sink is used. */
void manager_say_goodbye(Manager *m, Endpoint *endpoint);
uint64_t manager_number(const Manager *m);
void manager_session_closed(Manager *m, Session *session);
/* Somebody at @from, who is none of the cluster, sent what was refused; @why: in plain words. */
void manager_stranger(Manager *m, const Addr *from, const char *why, uint64_t now_ns);
uint64_t manager_deadline(const Manager *m);
/* Call it at least at the deadline. If a call comes more than a second after that, the manager
 * itself did not run: no silence counts meanwhile. */
void manager_expire(Manager *m, uint64_t now_ns);

typedef struct ManagerStats {
    uint64_t hosts, clients, regions;
    uint64_t opens, opens_reused, opens_failed, closes, reclaimed_clients, reclaimed_regions,
        lost_hosts, reported_hosts, reconciled, retries_next_host, opens_refused;
} ManagerStats;
void manager_stats(const Manager *m, ManagerStats *ret);
size_t manager_bytes(const Manager *m); /* allocated, for all that it holds */
bool manager_check(const Manager *m);   /* invariants, for tests */
/* The directory has this imd, and counts on it. For tests. */
bool manager_has_host(const Manager *m, uint64_t epoch);
/* What the rmd at @address has reported last, but for its reason. False: nothing. For tests. */
bool manager_owner(const Manager *m, const Addr *address, OpHost *ret);

#endif

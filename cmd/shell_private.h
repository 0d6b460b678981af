/* SPDX-License-Identifier: MIT */
/* What the files of the shell share: shell.c, the loop; network.c and lease_watch.c, what comes in;
 * pages.c; reload.c; setup.c, its start and end. */
#ifndef DODO_CMD_SHELL_PRIVATE_H
#define DODO_CMD_SHELL_PRIVATE_H

#include "cmd/core.h"
#include "cmd/journal.h"
#include "cmd/lease.h"
#include "cmd/shell.h"
#include "daemon/address_watch.h"
#include "daemon/loop.h"
#include "usocket/port.h"

struct Cmd {
    CmdOptions *options; /* borrowed; a reload changes them */
    Loop *loop;
    AddressWatch address; /* where it serves */
    Port port;
    Manager *manager;
    Lease lease;
    LeaseCommand *command; /* borrowed */
    bool lease_vain;       /* it has ended without a number */
    Journal journal;
    MetricsHttp *metrics; /* NULL: none */
    bool failed;
};

/* shell.c */
extern const LoopOps cmd_loop_ops;
void cmd_log_event(void *ctx, const ManagerEvent *e);
void cmd_log_cluster(Cmd *cmd, uint64_t now_ns); /* now and then */
void cmd_end(void *ctx);

/* network.c */
int cmd_network_open(Cmd *cmd, const Id128 *instance, char *error); /* 0, -errno */
int cmd_network_watch(Cmd *cmd);                                    /* 0, -ENOMEM */
void cmd_message(void *ctx, Session *session, uint8_t type, const uint8_t *payload, size_t len);

/* lease_watch.c */
int cmd_lease_watch(Cmd *cmd); /* 0, -ENOMEM */
/* Before anything that has come by the network: nothing is done under a lease that is over. */
void cmd_take_lease(Cmd *cmd);
void cmd_expire_lease(Cmd *cmd, uint64_t now_ns);
uint64_t cmd_lease_due(const Cmd *cmd);
void cmd_end_lease(Cmd *cmd);

/* pages.c */
int cmd_open_pages(Cmd *cmd, char *error); /* 0, -errno */

/* reload.c */
void cmd_on_reload(void *ctx);

#endif

/* SPDX-License-Identifier: MIT */
/* Whether this manager is the active one: it is while a command, which runs beside it, holds a lock
 * somewhere and has printed the number of its lease. Pure: the command's output and end come in,
 * what the command is to do goes out. */
#ifndef DODO_CMD_LEASE_H
#define DODO_CMD_LEASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/time.h"
#include "proto/wire.h"

enum { LEASE_LINE_MAX = 64 };
/* After its end the command is started again so soon; if it never got the lease, the wait doubles
 * up to the second. */
#define LEASE_WAIT_NS (1 * NS_PER_S)
#define LEASE_WAIT_MAX_NS (30 * NS_PER_S)

enum LeaseState {
    LEASE_NONE,      /* there is no command: always active */
    LEASE_OFF,       /* the command does not run */
    LEASE_ASKED,     /* it runs, and has not got the lease */
    LEASE_HELD,      /* it has got it */
    LEASE_NO_NUMBER, /* it has printed something else: its end is waited for */
};

typedef struct Lease {
    uint8_t state;     /* enum LeaseState */
    uint64_t number;   /* of the lease that is held, or was last; 0: none was, or of late */
    uint64_t over_ns;  /* when the last one was over */
    uint64_t start_ns; /* LEASE_OFF: when the command is started */
    uint64_t wait_ns;
    size_t len;
    char line[LEASE_LINE_MAX];
} Lease;

enum LeaseNews {
    LEASE_NOTHING,
    LEASE_GAINED,   /* active from now on */
    LEASE_LOST,     /* not any more */
    LEASE_VAIN,     /* the command has printed no line: it had no lease */
    LEASE_NONSENSE, /* no number, or one that has not grown: the command is to be ended */
};

void lease_init(Lease *l, bool wanted, uint64_t now_ns);
/* True once: the command is to be started. */
bool lease_start(Lease *l, uint64_t now_ns);
/* What the command has printed: a first line with a number. What follows means nothing. */
enum LeaseNews lease_output(Lease *l, const char *text, size_t len);
/* The command has ended, or closed its output. */
enum LeaseNews lease_ended(Lease *l, uint64_t now_ns);
uint64_t lease_deadline(const Lease *l);
/* As in WireHello.epoch: MANAGER_UNLEASED, MANAGER_STANDBY, or the number of the lease. */
uint64_t lease_epoch(const Lease *l);

#endif

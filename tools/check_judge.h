/* SPDX-License-Identifier: MIT */
/* What dodo check says of what it has seen. Pure: facts in, lines out. */
#ifndef DODO_TOOLS_CHECK_JUDGE_H
#define DODO_TOOLS_CHECK_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/conf/cluster_key.h"
#include "proto/wire.h"

enum { CHECK_ERROR_MAX = 512, CHECK_TEXT_MAX = 1024 };

/* An empty error: there was none. */
typedef struct CheckKey {
    const char *path; /* NULL: none is set */
    bool insecure;
    char error[CHECK_ERROR_MAX]; /* what to do */
    unsigned mode;               /* 0640 */
    char owner[128];             /* "root:dodo" */
    unsigned count;
    uint32_t prints[CLUSTER_KEYS_MAX]; /* public: nothing can be learnt of a key from it */
} CheckKey;

typedef struct CheckManager {
    Addr address;                /* ADDR_NONE: none is set, or its name has none: see @error */
    bool asked;                  /* there was what it takes */
    char error[CHECK_ERROR_MAX]; /* it does not answer, or not as a manager */
    uint64_t hello_ns, uptime_ms;
    bool sealed;
    bool standby; /* no manager that answers is active: this one stands by */
} CheckManager;

/* A host as the manager lists it, unless it is leaving and has nothing. */
typedef struct CheckHost {
    Addr address; /* of its imd; of its rmd while it is busy */
    uint8_t state;
    bool answers; /* here, with our key */
    uint8_t role; /* if so: who it is */
} CheckHost;

typedef struct CheckLimits {
    uint64_t pool_bytes;        /* of an imd that is set up here; 0: none is */
    uint64_t memlock_bytes;     /* that this user may lock; UINT64_MAX: any */
    uint64_t receive_bytes;     /* the most that a socket asks for */
    const char *receive_group;  /* whose that is */
    bool receive_set;           /* in the file; else it is the default */
    uint64_t receive_max_bytes; /* net.core.rmem_max; UINT64_MAX: not known */
} CheckLimits;

typedef struct CheckFacts {
    const char *config; /* the file; it need not be there */
    bool config_found;
    char config_error[CHECK_ERROR_MAX]; /* "FILE:LINE: what to do" */
    char config_doubt[CHECK_ERROR_MAX]; /* the same; it is one only with other programs' defaults */
    CheckKey key;
    CheckManager manager;
    const CheckHost *hosts;
    size_t hosts_count;
    CheckLimits limits;
} CheckFacts;

enum CheckState {
    CHECK_OK,
    CHECK_NOTE,    /* it works, but not as well as it could */
    CHECK_UNKNOWN, /* it could not be looked at, for the reason of another line */
    CHECK_FAULT,
    CHECK_STATE_MAX
};
const char *check_state_text(enum CheckState state);

/* @what: one word; both texts are borrowed until it returns. */
typedef void CheckLineFn(void *ctx, const char *what, enum CheckState state, const char *text);
/* Where the lines go, and how many were faults. */
typedef struct CheckLines {
    CheckLineFn *fn;
    void *ctx;
    const char *what; /* of the lines to come */
    unsigned faults;
} CheckLines;
void check_say(CheckLines *l, enum CheckState state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What is judged, in this order. */
enum CheckPart {
    CHECK_CONFIG = 1,
    CHECK_KEY = 2,
    CHECK_MANAGER = 4,
    CHECK_HOSTS = 8,
    CHECK_MEMLOCK = 16,
    CHECK_BUFFERS = 32,
    CHECK_ALL = 63,
};
/* The same of some parts alone. */
unsigned check_judge_parts(const CheckFacts *f, unsigned parts, CheckLineFn *fn, void *ctx);
/* Calls @fn for each line, in order. How many are faults. */
unsigned check_judge(const CheckFacts *f, CheckLineFn *fn, void *ctx);

#endif

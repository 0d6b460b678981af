/* SPDX-License-Identifier: MIT */
/* A host's rmd without its process, socket and files: the monitor, and when the manager and imd
 * hear of what it says, when memory is read, when rmd may end. Pure: rmd and the simulation run the
 * same.
 *
 * What happens to the host goes to the monitor at once; then comes node_step(). */
#ifndef DODO_RMD_NODE_H
#define DODO_RMD_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "rmd/manager_link.h"
#include "rmd/monitor.h"

#define NODE_BEAT_NS NS_PER_S  /* a longer silence than a few of these is our end for imd */
#define NODE_LEAVE_NS NS_PER_S /* after imd has gone, for telling the manager */

typedef struct NodeConfig {
    MonitorConfig monitor;
    bool full; /* the manager hears the owner's times as they are; else in steps of an hour */
    ManagerLink *link; /* borrowed; NULL: there is no manager */
} NodeConfig;

/* As MonitorSink has them, but for these. None calls back into the node. */
typedef struct NodeSink {
    void (*judge)(void *ctx, const Facts *facts, enum Verdict *recruit, enum Verdict *reclaim);
    int (*start)(void *ctx, uint64_t pool_bytes, uint64_t limit_bytes); /* < 0: it could not */
    void (*limit)(void *ctx, uint64_t limit_bytes);
    bool (*save)(void *ctx, uint64_t bytes, uint64_t within_ns);
    void (*terminate)(void *ctx);
    void (*kill)(void *ctx);
    void (*beat)(void *ctx); /* imd is to hear that we are there */
    /* How the host's memory is, and what of it imd holds. False: that is not known. */
    bool (*memory)(void *ctx, MemoryState *ret, uint64_t *ret_held_bytes, uint64_t now_ns);
    /* There is something new to say; @other: another state. */
    void (*status)(void *ctx, const MonitorStatus *status, bool other);
    void *ctx;
} NodeSink;

typedef struct Node {
    NodeConfig config;
    NodeSink sink;
    Monitor *monitor;
    bool changed, not_started, leaving;
    enum MonitorState state; /* as last said */
    uint64_t beat_ns;        /* the next; TIME_NEVER: no imd runs */
    uint64_t leave_ns;       /* at the latest */
} Node;

/* 0, or -ENOMEM. @n stays where it is. */
int node_init(Node *n, const NodeConfig *config, const NodeSink *sink, uint64_t now_ns);
void node_deinit(Node *n); /* of zeros, too */

/* The host was looked at. */
void node_look(Node *n, const Look *look, uint64_t now_ns);
/* imd is gone and waited for. */
void node_ended(Node *n, const char *how, uint64_t now_ns);
void node_leave(Node *n, uint64_t now_ns);

/* After anything that happened, and at the deadline. */
void node_step(Node *n, uint64_t now_ns);
uint64_t node_deadline(const Node *n);
/* rmd leaves, imd is gone, and the manager knows it or has had its time. */
bool node_finished(const Node *n, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: MIT */
/* What the library takes from its environment and the config file. */
#ifndef DODO_LIBDODO_SETTINGS_H
#define DODO_LIBDODO_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/places.h"
#include "proto/conf/conf.h"
#include "proto/endpoint.h"

enum { SETTINGS_ERROR_MAX = 512 };

typedef struct Settings {
    Places managers; /* none: none was named */
    uint8_t family;  /* of the sockets: that of the manager's first address, once it is known */
    char key[4096];
    bool insecure;
    bool raw;           /* raw frames where there are any, */
    char interface[16]; /* of that interface */
    uint32_t cluster;
    uint64_t hello_retry_ns;
    uint64_t alive_ns, refraction_ns, transfer_deadline_ns, reopen_ns;
    uint64_t request_retry_ns, request_retry_max_ns, request_deadline_ns;
    uint64_t poll_ns, poll_share;
    bool verify; /* what hosts return */
    bool mirror; /* all regions */
    bool share;  /* those that several processes read */
    uint64_t regions_max, fill_queue_bytes, stripe_bytes, receive_bytes;
    int64_t filesystems[CONF_TYPES_MAX]; /* f_type of more with honest stamps */
    unsigned filesystems_count;
    ClusterKey keys[CLUSTER_KEYS_MAX];
    unsigned keys_count;
} Settings;

/* Defaults, then the file, then the environment. 0, or -errno with @error saying what to do. */
int settings_load(Settings *s, char error[SETTINGS_ERROR_MAX]);

#endif

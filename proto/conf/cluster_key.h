/* SPDX-License-Identifier: MIT */
/* A cluster key file: 64 hexadecimal digits a line, one or two lines, "#" comment lines; readable
 * by owner and perhaps group, never by others. */
#ifndef DODO_PROTO_CONF_CLUSTER_KEY_H
#define DODO_PROTO_CONF_CLUSTER_KEY_H

#include <stddef.h>
#include <stdint.h>

enum { CLUSTER_KEY_SIZE = 32, CLUSTER_KEYS_MAX = 2 };

typedef struct ClusterKey {
    uint8_t bytes[CLUSTER_KEY_SIZE];
} ClusterKey;

/* The key as a line of such a file. */
enum { CLUSTER_KEY_LINE = 2 * CLUSTER_KEY_SIZE + 1 }; /* without a NUL */
void cluster_key_line(const ClusterKey *k, char ret[CLUSTER_KEY_LINE]);
/* 0; -errno of open/read; -EACCES: others can use it; -EFBIG; -EINVAL. @error says what to do; on
 * failure the keys are untouched. */
int cluster_key_read(const char *path, ClusterKey ret_keys[CLUSTER_KEYS_MAX], unsigned *ret_count,
                     char *error, size_t error_cap);
/* The same for a text in memory that came from @name: 0 or -EINVAL. Pure. */
int cluster_key_parse(const char *name, const char *text, size_t len,
                      ClusterKey ret_keys[CLUSTER_KEYS_MAX], unsigned *ret_count, char *error,
                      size_t error_cap);

#endif

/* SPDX-License-Identifier: MIT */
/* How far the drain of a host is, in words and in JSON: what dodo drain and dodo status have in
 * common. Pure: answers in, text out. */
#ifndef DODO_TOOLS_DRAIN_WORDS_H
#define DODO_TOOLS_DRAIN_WORDS_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/wire.h"

/* The bytes to be copied, and the rate at which they fall. */
typedef struct DrainSpeed {
    uint64_t to_copy_bytes;
    uint64_t bytes_per_second, seconds_left; /* 0: not known */
} DrainSpeed;

/* Of what the manager lists. */
uint64_t drain_left_there(const OpDrainReply *r);
/* Only what both the manager and the host say, which is heard. */
bool drain_is_done(const OpDrainReply *r);
/* "3 regions", "1 region": appends the number and the word for it. */
void drain_say_count(GString *out, uint64_t n, const char *one, const char *many);
void drain_say_size(GString *out, uint64_t bytes);
/* Appends what is left and how fast it goes: a part of a line. */
void drain_say_left(const OpDrainReply *r, const DrainSpeed *s, GString *out);
/* Appends members of an object of JSON, from "listed" on, each with a comma before it. */
void drain_say_members(const OpDrainReply *r, const DrainSpeed *s, GString *out);

/* Of one host, as dodo status shows it: a line without its end; an object of JSON. */
void drain_status_say(const DrainStatus *d, GString *out);
void drain_status_say_json(const DrainStatus *d, GString *out);

/* Which of the hosts that the manager lists is this one: *ret, if there is one such address. An imd
 * that lends is it rather than one that has just ended. How many there are. */
unsigned drain_pick_here(const HostStatus *hosts, size_t count,
                         bool (*is_here)(const Addr *a, const void *ctx), const void *ctx,
                         Addr *ret);

#endif

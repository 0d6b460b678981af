/* SPDX-License-Identifier: MIT */
/* What the time stamps of files say about when somebody last touched one of them. Pure.
 *
 * The clock of the stamps may jump, and a stamp may lie in the future. So a stamp itself is
 * believed only at the first look, and never beyond the start of the host. After that, any change
 * of a stamp, or of which files there are, is activity after the look before, whatever the stamp
 * says (its clock moves in steps, of 4 ms, or of a quarter of a second on a virtual machine that is
 * held up). Time is counted by the clock that does not jump. That clock stands still while the host
 * sleeps: the idle time may be too short then, never too long. */
#ifndef DODO_RMD_STAMPS_H
#define DODO_RMD_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Stamps {
    bool started;
    uint64_t signature; /* of all files and stamps at the last look */
    uint64_t look_ns;   /* the last look */
    uint64_t active_ns; /* the last activity */
    /* The look under way: */
    uint64_t now_ns, awake_ns;
    uint64_t next_signature;
    uint64_t youngest_ns; /* age of the youngest stamp */
} Stamps;                 /* all zero: never looked */

/* A look begins. @now_ns: the clock of the stamps; @awake_ns: since the host's start. */
void stamps_begin(Stamps *s, uint64_t now_ns, uint64_t awake_ns);
void stamps_add(Stamps *s, const char *name, uint64_t stamp_ns);
/* The look ends: how long ago the last activity was. */
uint64_t stamps_end(Stamps *s);

#endif

/* SPDX-License-Identifier: MIT */
/* What imd needs beside its pool: tables, buffers, program. rmd leaves it in the limits of control
 * groups, and imd refuses a pool that does not. */
#ifndef DODO_PROTO_CONF_IMD_ROOM_H
#define DODO_PROTO_CONF_IMD_ROOM_H

enum {
    IMD_ROOM_DIVISOR = 16,     /* such a part of a limit that others have set, */
    IMD_ROOM_BYTES = 512 << 20 /* ... and so much in a group that rmd makes: never more than this */
};

#endif

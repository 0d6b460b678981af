/* SPDX-License-Identifier: MIT */
/* The secret of this user by which the library names files to the manager (DODO_RETAIN). Another
 * user cannot read it, and so can neither ask for a retained region of this one nor leave one for
 * it. It is in the file `secret` of the state directory. Any thread. */
#ifndef DODO_LIBDODO_SECRET_H
#define DODO_LIBDODO_SECRET_H

#include <stddef.h>
#include <stdint.h>

enum { SECRET_BYTES = 32 };

/* Reads the secret, and makes it if it is missing: all processes of a user get the same one. It is
 * read each time, so it is always that of the present effective user. -errno: it cannot be used;
 * @why is then a line for the log that says what to do. */
int secret_get(uint8_t ret[SECRET_BYTES], char *why, size_t cap);

#endif

/* SPDX-License-Identifier: MIT */
/* A message of the wire, not sealed, as people read it. Left out is what differs in each run. */
#ifndef DODO_TESTS_WIRE_TEXT_H
#define DODO_TESTS_WIRE_TEXT_H

#include <stddef.h>
#include <stdint.h>

enum { WIRE_TEXT_MAX = 160 };
/* Returns @buf, of WIRE_TEXT_MAX. */
const char *wire_text(const uint8_t *datagram, size_t len, char *buf);

#endif

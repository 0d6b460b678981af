/* SPDX-License-Identifier: MIT */
/* Which bytes of a message say something: mask_NAME() writes a message of those lengths with 0xff
 * for each of its fields' bytes, and 0 for those that are reserved. From proto/messages.def. */
#ifndef DODO_TESTS_LIB_WIRE_MASKS_H
#define DODO_TESTS_LIB_WIRE_MASKS_H

#include "proto/wire_fields.h"

static inline void mask_ones(Writer *w, size_t n)
{
    memset(w->at, 0xff, n);
    w->at += n;
}

#define NUMBER(kind, type)                                   \
    static inline void mask_##kind(Writer *w, const type *v) \
    {                                                        \
        (void)v;                                             \
        mask_ones(w, kind##_SIZE);                           \
    }
NUMBER(u8, uint8_t)
NUMBER(u16, uint16_t)
NUMBER(u32, uint32_t)
NUMBER(u64, uint64_t)
NUMBER(code, uint16_t)
NUMBER(host_addr, Addr)
#undef NUMBER

static inline void mask_reason(Writer *w, const Reason *reason)
{
    mask_ones(w, 1 + strnlen(reason->text, REASON_MAX));
}

#define BEGIN(name, type)                                    \
    static inline void mask_##name(Writer *w, const type *m) \
    {                                                        \
        (void)m;
#define F(kind, field) mask_##kind(w, &m->field);
#define BELOW(field, end) mask_ones(w, 1);
#define FLAGS(field, known) mask_ones(w, 4);
#define RESERVED(n) write_zeros(w, n);
#define BYTES(n, field) mask_ones(w, n);
#define COUNT(field, max) mask_ones(w, 4);
#define MANY(kind, field, count, max)       \
    for (uint32_t i = 0; i < m->count; i++) \
        mask_##kind(w, &m->field[i]);
#define MAY_END
#define THEN(name)
#define END(name, condition) }
#include "proto/messages.def"

#endif

/* SPDX-License-Identifier: MIT */
/* How the messages and parts of a list are written and read: of proto/messages.def, or of MESSAGES,
 * by which a test has those of a later build. Private to proto/wire.c and what checks it. */
#ifndef DODO_PROTO_WIRE_LISTS_H
#define DODO_PROTO_WIRE_LISTS_H

#include <assert.h>

#include "proto/wire_fields.h"

#ifndef MESSAGES
#define MESSAGES "proto/messages.def"
#endif

/* out_NAME(): a message or part in its turn. */
#define BEGIN(name, type)                                   \
    static inline void out_##name(Writer *w, const type *m) \
    {
#define F(kind, field) out_##kind(w, &m->field);
#define BELOW(field, end) write_u8(w, m->field);
#define FLAGS(field, known) write_u32(w, m->field);
#define RESERVED(n) write_zeros(w, n);
#define BYTES(n, field)                                        \
    _Static_assert(sizeof m->field == (n), #field " has " #n); \
    write_bytes(w, m->field, n);
#define COUNT(field, max)      \
    assert(m->field <= (max)); \
    write_u32(w, m->field);
#define MANY(kind, field, count, max)       \
    for (uint32_t i = 0; i < m->count; i++) \
        out_##kind(w, &m->field[i]);
#define MAY_END
#define THEN(name)
#define END(name, condition) }
#include MESSAGES

/* in_NAME(): trusts nothing. */
#define BEGIN(name, type)                            \
    static inline void in_##name(Reader *r, type *m) \
    {
#define F(kind, field) in_##kind(r, &m->field);
#define BELOW(field, end)  \
    m->field = read_u8(r); \
    reader_demand(r, m->field < (end));
#define FLAGS(field, known) \
    m->field = read_u32(r); \
    reader_demand(r, (m->field & ~(uint32_t)(known)) == 0);
#define RESERVED(n) read_reserved(r, n);
#define BYTES(n, field) read_bytes(r, m->field, n);
#define COUNT(field, max) m->field = read_count(r, max);
#define MANY(kind, field, count, max)       \
    for (uint32_t i = 0; i < m->count; i++) \
        in_##kind(r, &m->field[i]);
#define MAY_END reader_may_end(r);
#define THEN(name) name(m);
#define END(name, condition)       \
    reader_demand(r, (condition)); \
    }
#include MESSAGES

#endif

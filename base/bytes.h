/* SPDX-License-Identifier: MIT */
/* Little-endian integers at any alignment: the only way wire bytes are read or written. */
#ifndef DODO_BASE_BYTES_H
#define DODO_BASE_BYTES_H

#include <stdint.h>
#include <string.h>
#include <endian.h>

static inline void put_u8(uint8_t *p, uint8_t v)
{
    *p = v;
}
static inline void put_u16(uint8_t *p, uint16_t v)
{
    v = htole16(v);
    memcpy(p, &v, sizeof v);
}
static inline void put_u32(uint8_t *p, uint32_t v)
{
    v = htole32(v);
    memcpy(p, &v, sizeof v);
}
static inline void put_u64(uint8_t *p, uint64_t v)
{
    v = htole64(v);
    memcpy(p, &v, sizeof v);
}
static inline uint8_t get_u8(const uint8_t *p)
{
    return *p;
}
static inline uint16_t get_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return le16toh(v);
}
static inline uint32_t get_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return le32toh(v);
}
static inline uint64_t get_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return le64toh(v);
}

#endif

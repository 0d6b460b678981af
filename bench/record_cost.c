/* SPDX-License-Identifier: MIT */
/* record-cost: what one message of a chunk's data costs as self-contained datagrams, and what it
 * would cost as one record under one digest or one AEAD tag. Prints a line of JSON; microseconds a
 * chunk, the median of rounds that are taken in turn. No network: only what differs. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "bench/common.h"
#include "proto/seal.h"
#include "proto/wire.h"
#include "usocket/cipher.h"

enum {
    CHUNK = WIRE_CHUNK_MAX,
    DATAGRAM = 1472, /* at MTU 1500 */
    PLAIN = DATAGRAM - WIRE_HEADER_SIZE - WIRE_DATA_HEADER_SIZE,
    SEALED = PLAIN - WIRE_SEAL_OVERHEAD,
    ROUNDS = 41,
    REPEAT = 40,
};

static uint8_t data[CHUNK], copy[CHUNK], tags[WIRE_SEGMENTS_MAX][SEAL_TAG_SIZE];
static uint8_t headers[WIRE_SEGMENTS_MAX][WIRE_HEADER_SIZE + WIRE_DATA_HEADER_SIZE];
static SealKey sealing, opening;
static uint64_t counter;
static volatile uint64_t sink; /* so that nothing is optimized away */

static bool has_crc(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("sse4.2");
#else
    return false;
#endif
}

#ifdef __x86_64__
/* CRC-32C in three lanes, as fast as one core can without carry-less multiplication; joining the
 * lanes is left out, in favour of the record. */
__attribute__((target("sse4.2"))) static void crc(void)
{
    uint64_t lane[3] = {0};
    const size_t third = CHUNK / 24 * 8;
    for (size_t i = 0; i < third; i += 8)
        for (unsigned l = 0; l < 3; l++) {
            uint64_t word;
            memcpy(&word, data + l * third + i, 8);
            lane[l] = __builtin_ia32_crc32di(lane[l], word);
        }
    sink = lane[0] ^ lane[1] ^ lane[2];
}
#else
static void crc(void)
{
}
#endif

static void headers_make(void)
{
    for (uint16_t i = 0; i < (CHUNK + PLAIN - 1) / PLAIN; i++) {
        WireHeader h = {.version = WIRE_VERSION, .type = WIRE_DATA, .cluster = 7, .tag = 99};
        WireData d = {.ask = counter, .index = i, .filled = 0x3FFF};
        wire_header_encode(&h, headers[i]);
        (void)wire_data_encode_header(&d, headers[i] + WIRE_HEADER_SIZE);
    }
    counter++;
}

static void headers_look(void)
{
    WireHeader h;
    WireData d;
    uint64_t sum = 0;
    uint8_t last[WIRE_DATA_HEADER_SIZE + PLAIN];
    for (unsigned i = 0; i < (CHUNK + PLAIN - 1) / PLAIN; i++) {
        memcpy(last, headers[i] + WIRE_HEADER_SIZE, WIRE_DATA_HEADER_SIZE);
        sum += (uint64_t)wire_header_decode(headers[i], sizeof headers[i], &h) + h.tag;
        sum += (uint64_t)wire_data_decode(last, sizeof last, &d) + d.index;
    }
    sink = sum;
}

static void copy_all(void)
{
    memcpy(copy, data, sizeof copy);
    sink = copy[counter++ % CHUNK];
}

static void cut(size_t piece, bool seal)
{
    const uint8_t aad[16] = {1};
    unsigned n = 0;
    for (size_t at = 0; at < CHUNK; at += piece, n++) {
        size_t len = CHUNK - at < piece ? CHUNK - at : piece;
        bool good =
            seal ? seal_seal(&sealing, n + 1, aad, sizeof aad, data + at, len, copy + at, tags[n])
                 : seal_open(&opening, n + 1, aad, sizeof aad, copy + at, len, tags[n]);
        if (!good) {
            (void)fprintf(stderr, "record-cost: a piece of %zu bytes did not open\n", len);
            exit(EXIT_FAILURE);
        }
    }
}

static void seal_datagrams(void)
{
    cut(SEALED, true);
}

static void seal_record(void)
{
    cut(CHUNK, true);
}

/* Opening works in place, so each has to be sealed again; that time is taken off. */
static void open_datagrams(void)
{
    cut(SEALED, true);
    cut(SEALED, false);
}

static void open_record(void)
{
    cut(CHUNK, true);
    cut(CHUNK, false);
}

typedef struct Case {
    const char *name;
    void (*run)(void);
    double us[ROUNDS];
} Case;

static Case cases[] = {
    {.name = "copy", .run = copy_all},
    {.name = "headers_make", .run = headers_make},
    {.name = "headers_look", .run = headers_look},
    {.name = "crc32c", .run = crc},
    {.name = "seal_datagrams", .run = seal_datagrams},
    {.name = "seal_record", .run = seal_record},
    {.name = "seal_open_datagrams", .run = open_datagrams},
    {.name = "seal_open_record", .run = open_record},
};
enum { CASES = sizeof cases / sizeof cases[0] };

int main(void)
{
    SealSuite suite;
    uint8_t key[SEAL_KEY_SIZE] = {1, 2, 3};
    bool ready = seal_suite_init(&suite) == 0;
    suite.faster = cipher_fastest();
    if (!ready || seal_key_set(&sealing, &suite, key, true) < 0 ||
        seal_key_set(&opening, &suite, key, false) < 0) {
        (void)fprintf(stderr, "record-cost: no memory, or no AES-256-GCM\n");
        return EXIT_FAILURE;
    }
    os_random(NULL, data, sizeof data);
    for (unsigned round = 0; round < ROUNDS; round++)
        for (unsigned i = 0; i < CASES; i++) {
            uint64_t start = os_now_ns();
            for (unsigned n = 0; n < REPEAT; n++)
                cases[i].run();
            cases[i].us[round] = (double)(os_now_ns() - start) / REPEAT / 1e3;
        }
    (void)printf("{\"chunk\": %d, \"datagrams\": %d, \"datagrams_sealed\": %d", CHUNK,
                 (CHUNK + PLAIN - 1) / PLAIN, (CHUNK + SEALED - 1) / SEALED);
    for (unsigned i = 0; i < CASES; i++) {
        if (cases[i].run == crc && !has_crc())
            continue;
        (void)printf(", \"%s_us\": %.2f", cases[i].name, bench_median(cases[i].us, ROUNDS));
    }
    (void)printf("}\n");
    seal_key_deinit(&sealing);
    seal_key_deinit(&opening);
    seal_suite_deinit(&suite);
    return EXIT_SUCCESS;
}

/* SPDX-License-Identifier: MIT */
/* Known answers for what seal.c asks of the crypto library, that it wipes and does not allocate,
 * and the edges of the replay window. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>

#include "base/cleanup.h"
#include "proto/seal.h"
#include "tests/lib/case.h"
#include "tests/lib/hex.h"

/* ---- what the crypto library does with memory ----------------------------------------------- */

static unsigned allocations; /* since the test last looked */
static const uint8_t *secret;
static size_t secret_len;
static unsigned secrets_left; /* freed blocks that still held @secret */

static void *count_malloc(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return malloc(n);
}

static void *count_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    allocations++;
    return realloc(p, n);
}

static void watch_free(void *p, const char *file, int line)
{
    (void)file, (void)line;
    if (p && secret && memmem(p, malloc_usable_size(p), secret, secret_len))
        secrets_left++;
    free(p);
}

static int suite_setup(void **state)
{
    static SealSuite suite;
    *state = &suite;
    return seal_suite_init(&suite);
}

static int suite_teardown(void **state)
{
    seal_suite_deinit(*state);
    return 0;
}

/* ---- known answers -------------------------------------------------------------------------- */

TEST(seal_derive__rfc5869)
{
    static const struct {
        const char *secret, *salt, *info, *okm;
    } cases[] = {
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "000102030405060708090a0b0c",
         "f0f1f2f3f4f5f6f7f8f9",
         "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"},
        {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b"
         "2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f",
         "606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b"
         "8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeaf",
         "b0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadb"
         "dcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
         "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c6"
         "5e590e09da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87"},
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b", "", "",
         "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"},
    };
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        uint8_t ikm[128], salt[128], info[128], okm[128], out[128];
        size_t ikm_len = hex_bytes(cases[i].secret, ikm, sizeof ikm);
        size_t salt_len = hex_bytes(cases[i].salt, salt, sizeof salt);
        size_t info_len = hex_bytes(cases[i].info, info, sizeof info);
        size_t len = hex_bytes(cases[i].okm, okm, sizeof okm);
        assert_int_equal(
            seal_derive(*state, ikm, ikm_len, salt, salt_len, info, info_len, out, len), 0);
        assert_memory_equal(out, okm, len);
    }
}

TEST(seal_mac__rfc4231)
{
    /* HMAC pads short keys with zeros, so these may be written with 32 bytes. */
    static const struct {
        const char *key, *data, *mac;
    } cases[] = {
        {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b000000000000000000000000", "4869205468657265",
         "b0344c61d8db38535ca8afceaf0bf12b"},
        {"4a65666500000000000000000000000000000000000000000000000000000000",
         "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
         "5bdcc146bf60754e6a042426089575c7"},
    };
    /* Twice: a context that was used before must give the same. */
    for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
        uint8_t key[SEAL_KEY_SIZE], data[64], mac[SEAL_MAC_SIZE], out[SEAL_MAC_SIZE];
        assert_int_equal(hex_bytes(cases[i / 2].key, key, sizeof key), sizeof key);
        size_t len = hex_bytes(cases[i / 2].data, data, sizeof data);
        assert_int_equal(hex_bytes(cases[i / 2].mac, mac, sizeof mac), sizeof mac);
        assert_int_equal(seal_mac(*state, key, data, len, out), 0);
        assert_memory_equal(out, mac, sizeof mac);
    }
}

static const struct {
    const char *key, *aad, *plain, *cipher, *tag;
    uint64_t counter;
} gcm_cases[] = {
    /* Test cases 13 and 14 of McGrew and Viega's submission of GCM to NIST. */
    {"0000000000000000000000000000000000000000000000000000000000000000", "", "", "",
     "530f8afbc74536b9a963b4f1c4cb738b", 0},
    {"0000000000000000000000000000000000000000000000000000000000000000", "",
     "00000000000000000000000000000000", "cea7403d4d606b6e074ec5d3baf39d18",
     "d0d1c8a799996bf0265b98b5d48ab919", 0},
    /* With header and counter: by an implementation of SP 800-38D written apart from this one,
     * and checked with test case 16 of the same. */
    {"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "d0d1d2d3d4d5d6d7d8d9dadbdcdddedf", "776861742074686520686f737420686f6c6473",
     "1d3608565da22ce3094620bc88571376a0e413", "a652d4be03f66bd32337447255d477a0",
     0x0123456789abcdef},
};

TEST(seal_seal__known_answers)
{
    for (size_t i = 0; i < ARRAY_SIZE(gcm_cases); i++) {
        uint8_t key[SEAL_KEY_SIZE], aad[32], plain[64], cipher[64], tag[16], out[64], out_tag[16];
        SealKey seal = {0}, open = {0};
        assert_int_equal(hex_bytes(gcm_cases[i].key, key, sizeof key), sizeof key);
        size_t aad_len = hex_bytes(gcm_cases[i].aad, aad, sizeof aad);
        size_t len = hex_bytes(gcm_cases[i].plain, plain, sizeof plain);
        assert_int_equal(hex_bytes(gcm_cases[i].cipher, cipher, sizeof cipher), len);
        assert_int_equal(hex_bytes(gcm_cases[i].tag, tag, sizeof tag), sizeof tag);
        uint64_t counter = gcm_cases[i].counter;

        assert_int_equal(seal_key_set(&seal, *state, key, true), 0);
        assert_int_equal(seal_key_set(&open, *state, key, false), 0);
        assert_true(seal_seal(&seal, counter, aad, aad_len, plain, len, out, out_tag));
        assert_memory_equal(out_tag, tag, sizeof tag);
        if (len)
            assert_memory_equal(out, cipher, len);
        assert_true(seal_open(&open, counter, aad, aad_len, out, len, out_tag));
        if (len)
            assert_memory_equal(out, plain, len);
        seal_key_deinit(&seal);
        seal_key_deinit(&open);
    }
}

TEST(seal_seal__in_place)
{
    uint8_t key[SEAL_KEY_SIZE] = {9}, plain[333], apart[333], placed[333], t1[16], t2[16];
    SealKey seal = {0};
    memset(plain, 0x5a, sizeof plain);
    memcpy(placed, plain, sizeof plain);
    assert_int_equal(seal_key_set(&seal, *state, key, true), 0);
    assert_true(seal_seal(&seal, 3, NULL, 0, plain, sizeof plain, apart, t1));
    assert_true(seal_seal(&seal, 3, NULL, 0, placed, sizeof placed, placed, t2));
    assert_memory_equal(apart, placed, sizeof apart);
    assert_memory_equal(t1, t2, sizeof t1);
    seal_key_deinit(&seal);
}

/* ---- forgery -------------------------------------------------------------------------------- */

TEST(seal_open__forged)
{
    uint8_t key[SEAL_KEY_SIZE] = {1}, aad[16] = {2}, plain[20] = {3}, sealed[20], tag[16];
    SealKey seal = {0}, open = {0};
    assert_int_equal(seal_key_set(&seal, *state, key, true), 0);
    assert_int_equal(seal_key_set(&open, *state, key, false), 0);
    assert_true(seal_seal(&seal, 7, aad, sizeof aad, plain, sizeof plain, sealed, tag));

    /* Every bit of header, data and tag, and of the counter. */
    for (size_t bit = 0; bit < 8 * (16 + 20 + 16 + 8); bit++) {
        uint8_t a[16], d[20], t[16];
        uint64_t counter = 7;
        memcpy(a, aad, sizeof a);
        memcpy(d, sealed, sizeof d);
        memcpy(t, tag, sizeof t);
        size_t at = bit / 8;
        uint8_t flip = (uint8_t)(1 << bit % 8);
        if (at < 16)
            a[at] ^= flip;
        else if (at < 36)
            d[at - 16] ^= flip;
        else if (at < 52)
            t[at - 36] ^= flip;
        else
            counter ^= (uint64_t)1 << (bit - 52 * 8);
        assert_false(seal_open(&open, counter, a, sizeof a, d, sizeof d, t));
    }
    /* A failure leaves nothing behind: neither here nor in the thread's list of errors, which is
     * the program's. */
    assert_int_equal(ERR_peek_error(), 0);
    assert_true(seal_open(&open, 7, aad, sizeof aad, sealed, sizeof sealed, tag));
    assert_memory_equal(sealed, plain, sizeof plain);
    seal_key_deinit(&seal);
    seal_key_deinit(&open);
}

TEST(seal_open__without_a_key)
{
    uint8_t data[16] = {0}, tag[16] = {0};
    SealKey none = {0};
    assert_false(seal_open(&none, 1, data, sizeof data, data, sizeof data, tag));
    assert_false(seal_seal(&none, 1, data, sizeof data, data, sizeof data, data, tag));
    seal_key_deinit(&none);
}

TEST(seal_key_set__again)
{
    uint8_t first[SEAL_KEY_SIZE] = {1}, second[SEAL_KEY_SIZE] = {2}, data[8] = {0}, tag[16];
    SealKey seal = {0}, open = {0};
    assert_int_equal(seal_key_set(&seal, *state, first, true), 0);
    assert_int_equal(seal_key_set(&open, *state, first, false), 0);
    assert_int_equal(seal_key_set(&open, *state, second, false), 0);
    assert_true(seal_seal(&seal, 1, NULL, 0, data, sizeof data, data, tag));
    assert_false(seal_open(&open, 1, NULL, 0, data, sizeof data, tag));
    assert_int_equal(seal_key_set(&seal, *state, second, true), 0);
    memset(data, 0, sizeof data);
    assert_true(seal_seal(&seal, 1, NULL, 0, data, sizeof data, data, tag));
    assert_true(seal_open(&open, 1, NULL, 0, data, sizeof data, tag));
    seal_key_deinit(&seal);
    seal_key_deinit(&open);
}

TEST(seal_equal__every_byte)
{
    uint8_t a[16] = {0}, b[16] = {0};
    assert_true(seal_equal(a, b, sizeof a));
    for (size_t i = 0; i < sizeof a; i++) {
        b[i] = 0x80;
        assert_false(seal_equal(a, b, sizeof a));
        b[i] = 0;
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

TEST(seal_seal__allocates_nothing)
{
    uint8_t key[SEAL_KEY_SIZE] = {4}, aad[16] = {0}, data[1400] = {0}, tag[16];
    SealKey seal = {0}, open = {0};
    allocations = 0;
    assert_int_equal(seal_key_set(&seal, *state, key, true), 0);
    assert_int_equal(seal_key_set(&open, *state, key, false), 0);
    assert_true(allocations > 0); /* the counting works */
    allocations = 0;
    for (uint64_t i = 1; i < 100; i++) {
        assert_true(seal_seal(&seal, i, aad, sizeof aad, data, sizeof data, data, tag));
        assert_true(seal_open(&open, i, aad, sizeof aad, data, sizeof data, tag));
    }
    assert_int_equal(allocations, 0);
    seal_key_deinit(&seal);
    seal_key_deinit(&open);
}

TEST(seal__wipes_its_keys)
{
    static const uint8_t key[SEAL_KEY_SIZE] = "0123456789abcdefghijklmnopqrstu";
    uint8_t out[32], mac[16];
    SealSuite suite;
    SealKey seal = {0}, open = {0};

    secret = key;
    secret_len = sizeof key;
    uint8_t *leak = CRYPTO_malloc(sizeof key, __FILE__, __LINE__);
    memcpy(leak, key, sizeof key);
    CRYPTO_free(leak, __FILE__, __LINE__);
    assert_int_equal(secrets_left, 1); /* the watching works */

    secrets_left = 0;
    assert_int_equal(seal_suite_init(&suite), 0);
    assert_int_equal(
        seal_derive(&suite, key, sizeof key, NULL, 0, (const uint8_t *)"x", 1, out, 32), 0);
    assert_int_equal(seal_mac(&suite, key, out, sizeof out, mac), 0);
    assert_int_equal(seal_key_set(&seal, &suite, key, true), 0);
    assert_int_equal(seal_key_set(&open, &suite, key, false), 0);
    seal_key_deinit(&seal);
    seal_key_deinit(&open);
    seal_suite_deinit(&suite);
    seal_suite_deinit(&suite); /* fine twice */
    assert_int_equal(secrets_left, 0);
    secret = NULL;

    static const uint8_t zero[32];
    seal_wipe(out, sizeof out);
    assert_memory_equal(out, zero, sizeof out);
}

/* ---- replay window -------------------------------------------------------------------------- */

TEST(replay__edges)
{
    ReplayWindow w = {0};
    assert_false(replay_is_fresh(&w, 0));
    assert_true(replay_is_fresh(&w, 1));
    assert_true(replay_is_fresh(&w, UINT64_MAX));
    replay_mark(&w, 10000);
    assert_false(replay_is_fresh(&w, 10000));
    assert_true(replay_is_fresh(&w, 10001));
    assert_true(replay_is_fresh(&w, 10000 - (SEAL_WINDOW - 1)));
    assert_false(replay_is_fresh(&w, 10000 - SEAL_WINDOW));
    replay_mark(&w, 10000 - (SEAL_WINDOW - 1));
    assert_false(replay_is_fresh(&w, 10000 - (SEAL_WINDOW - 1)));
    assert_int_equal(w.highest, 10000);
    replay_mark(&w, UINT64_MAX);
    assert_false(replay_is_fresh(&w, UINT64_MAX));
    assert_false(replay_is_fresh(&w, 10001));
    assert_true(replay_is_fresh(&w, UINT64_MAX - 1));
}

/* Against a table of all counters, with steps forth and back of all sizes. */
TEST(replay__agrees_with_a_table)
{
    enum { COUNTERS = 200000 };
    uint8_t *seen = calloc(1, COUNTERS);
    uint64_t highest = 0, random = 1;
    ReplayWindow w = {0};
    assert_non_null(seen);
    for (unsigned i = 0; i < 400000; i++) {
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t r = random >> 33, counter = highest;
        switch (r % 8) {
        case 0:
            counter += r / 8 % 3;
            break;
        case 1:
            counter += i % 1000 == 0 ? r / 8 % 5000 : 1;
            break;
        default:
            counter -= counter < 4200 ? counter : r / 8 % 4200;
            break;
        }
        if (counter == 0 || counter >= COUNTERS)
            continue;
        bool fresh = counter > highest || (highest - counter < SEAL_WINDOW && !seen[counter]);
        assert_int_equal(replay_is_fresh(&w, counter), fresh);
        if (!fresh)
            continue;
        replay_mark(&w, counter);
        seen[counter] = 1;
        highest = counter > highest ? counter : highest;
        assert_int_equal(w.highest, highest);
    }
    assert_true(highest > 10 * SEAL_WINDOW); /* it went far enough to wrap */
    free(seen);
}

int main(void)
{
    /* Before the crypto library allocates anything. */
    if (!CRYPTO_set_mem_functions(count_malloc, count_realloc, watch_free))
        return 1;
    return cases_run(suite_setup, suite_teardown);
}

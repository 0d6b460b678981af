/* SPDX-License-Identifier: MIT */
/* The faster AES-256-GCM, if there is one here, beside OpenSSL's: the same bytes and tags, and no
 * forgery is taken. */
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "base/random.h"
#include "proto/wire.h"
#include "tests/lib/case.h"
#include "usocket/cipher.h"

enum { LENGTH_MAX = 9000, ROUNDS = 4000 };

typedef struct Both {
    SealSuite suite, faster;
    SealKey theirs, ours;
} Both;

static Both both;
static Random dice = {.state = 39};

static void random_fill(uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)random_below(&dice, 256);
}

static void keys_set(bool sealing)
{
    uint8_t key[SEAL_KEY_SIZE];
    random_fill(key, sizeof key);
    assert_int_equal(seal_key_set(&both.theirs, &both.suite, key, sealing), 0);
    assert_int_equal(seal_key_set(&both.ours, &both.faster, key, sealing), 0);
}

static int both_make(void **state)
{
    (void)state;
    if (seal_suite_init(&both.suite) != 0)
        return -1;
    both.faster = both.suite;
    both.faster.faster = cipher_fastest();
    return 0;
}

static int both_end(void **state)
{
    (void)state;
    seal_key_deinit(&both.theirs);
    seal_key_deinit(&both.ours);
    seal_suite_deinit(&both.suite);
    return 0;
}

/* Each length once, then random ones. */
TEST_WITH(cipher__seals_what_openssl_seals, both_make, both_end)
{
    static uint8_t plain[LENGTH_MAX], theirs[LENGTH_MAX], ours[LENGTH_MAX];
    uint8_t aad[64], tags[2][SEAL_TAG_SIZE];
    for (size_t i = 0; i < LENGTH_MAX + ROUNDS; i++) {
        size_t len = i <= LENGTH_MAX ? i : random_below(&dice, LENGTH_MAX + 1);
        size_t aad_len = i % 2 ? WIRE_HEADER_SIZE : random_below(&dice, sizeof aad + 1);
        uint64_t counter = random_below(&dice, UINT64_MAX);
        if (i % 100 == 0) {
            keys_set(true);
            random_fill(plain, sizeof plain);
        }
        random_fill(aad, sizeof aad);
        memcpy(ours, plain, len); /* in place, and apart */
        assert_true(seal_seal(&both.theirs, counter, aad, aad_len, plain, len, theirs, tags[0]));
        assert_true(
            seal_seal(&both.ours, counter, aad, aad_len, i % 3 ? ours : plain, len, ours, tags[1]));
        assert_memory_equal(tags[0], tags[1], SEAL_TAG_SIZE);
        if (len > 0)
            assert_memory_equal(theirs, ours, len);
        assert_true(seal_open(&both.ours, counter, aad, aad_len, theirs, len, tags[0]));
        if (len > 0)
            assert_memory_equal(theirs, plain, len);
    }
}

/* One bit of what is sealed, of the header, of the tag, or of the counter is another one. */
TEST_WITH(cipher__no_forgery_is_taken, both_make, both_end)
{
    uint8_t sealed[200], copy[sizeof sealed], aad[WIRE_HEADER_SIZE], tag[SEAL_TAG_SIZE];
    const size_t bits = 8 * (sizeof sealed + sizeof aad + sizeof tag + sizeof(uint64_t));
    keys_set(true);
    random_fill(aad, sizeof aad);
    random_fill(copy, sizeof copy);
    assert_true(seal_seal(&both.ours, 7, aad, sizeof aad, copy, sizeof copy, sealed, tag));
    for (size_t bit = 0; bit < bits; bit++) {
        uint64_t counter = 7;
        size_t at = bit / 8;
        const uint8_t flip = (uint8_t)(1 << bit % 8);
        memcpy(copy, sealed, sizeof copy);
        uint8_t *byte = at < sizeof sealed                   ? &copy[at]
                        : (at -= sizeof sealed) < sizeof aad ? &aad[at]
                        : (at -= sizeof aad) < sizeof tag    ? &tag[at]
                                                             : NULL;
        if (byte)
            *byte ^= flip;
        else
            counter ^= (uint64_t)1 << (bit - 8 * (sizeof sealed + sizeof aad + sizeof tag));
        assert_false(seal_open(&both.ours, counter, aad, sizeof aad, copy, sizeof copy, tag));
        if (byte)
            *byte ^= flip;
    }
    memcpy(copy, sealed, sizeof copy);
    assert_true(seal_open(&both.ours, 7, aad, sizeof aad, copy, sizeof copy, tag));
}

/* Another key takes the place of the first one; both, and none, are wiped without complaint. */
TEST_WITH(cipher__another_key, both_make, both_end)
{
    uint8_t data[100] = {1}, tags[2][SEAL_TAG_SIZE];
    keys_set(true);
    assert_true(seal_seal(&both.ours, 1, NULL, 0, data, sizeof data, data, tags[0]));
    keys_set(true);
    assert_false(seal_open(&both.ours, 1, NULL, 0, data, sizeof data, tags[0]));
    seal_key_deinit(&both.ours);
    seal_key_deinit(&both.ours);
    assert_null(both.ours.expanded);
    assert_false(seal_seal(&both.ours, 1, NULL, 0, data, sizeof data, data, tags[0]));
}

int main(void)
{
    const bool there = cipher_fastest();
    const char *reason = "libIPSec_MB is not installed, or of no use for this processor";
    case_if(there, cipher__seals_what_openssl_seals, reason);
    case_if(there, cipher__no_forgery_is_taken, reason);
    case_if(there, cipher__another_key, reason);
    return cases_run(NULL, NULL);
}

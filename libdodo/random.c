/* SPDX-License-Identifier: MIT */
#include "libdodo/random.h"

#include <openssl/evp.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"

enum { BLOCK = 32 };

/* What is hashed for the next block; the count alone makes each another one. */
static struct {
    uint8_t seed[BLOCK];
    uint64_t count;
} state;
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

int random_start(void)
{
    (void)pthread_mutex_lock(&state_lock);
    int result = os_random_try(state.seed, sizeof state.seed);
    (void)pthread_mutex_unlock(&state_lock);
    return result;
}

/* With no memory for the digest, what is made is unique, but can be guessed: salts need no more. */
static void next_block(uint8_t out[BLOCK])
{
    unsigned int n = BLOCK;
    state.count++;
    if (EVP_Digest(&state, sizeof state, out, &n, EVP_sha256(), NULL) == 1)
        return;
    memset(out, 0, BLOCK);
    memcpy(out, &state.count, sizeof state.count);
}

void random_bytes(void *ctx, void *buf, size_t len)
{
    uint8_t block[BLOCK], *out = buf;
    (void)ctx;
    if (os_random_try(buf, len) == 0)
        return;
    (void)pthread_mutex_lock(&state_lock);
    for (size_t at = 0, n; at < len; at += n) {
        n = len - at < BLOCK ? len - at : BLOCK;
        next_block(block);
        memcpy(out + at, block, n);
    }
    (void)pthread_mutex_unlock(&state_lock);
    explicit_bzero(block, sizeof block);
}

void random_forget(void)
{
    (void)pthread_mutex_init(&state_lock, NULL);
    explicit_bzero(&state, sizeof state);
}

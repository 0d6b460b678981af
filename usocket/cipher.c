/* SPDX-License-Identifier: MIT */
/* OpenSSL 3.0 spends 200 ns on each datagram before it seals the first byte, and does not use the
 * vector AES of newer processors. Intel's library for IPsec does both better: sealing 1,440 bytes
 * takes a third of the time. It is loaded rather than linked, as most programs start, and end,
 * without having sealed anything. */
#include "usocket/cipher.h"

#ifdef HAVE_IPSEC_MB

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include <intel-ipsec-mb.h>

static struct {
    aes_gcm_pre_t expand;
    aes_gcm_enc_dec_t seal, open;
    bool usable;
} loaded;

static void cipher_expand(const uint8_t key[SEAL_KEY_SIZE], void *ret_expanded)
{
    loaded.expand(key, ret_expanded);
}

static void cipher_seal(const void *expanded, const uint8_t nonce[SEAL_NONCE_SIZE],
                        const uint8_t *aad, size_t aad_len, const uint8_t *in, size_t len,
                        uint8_t *out, uint8_t ret_tag[SEAL_TAG_SIZE])
{
    struct gcm_context_data context;
    loaded.seal(expanded, &context, out, in, len, nonce, aad, aad_len, ret_tag, SEAL_TAG_SIZE);
}

static void cipher_open(const void *expanded, const uint8_t nonce[SEAL_NONCE_SIZE],
                        const uint8_t *aad, size_t aad_len, const uint8_t *in, size_t len,
                        uint8_t *out, uint8_t ret_tag[SEAL_TAG_SIZE])
{
    struct gcm_context_data context;
    loaded.open(expanded, &context, out, in, len, nonce, aad, aad_len, ret_tag, SEAL_TAG_SIZE);
}

static const SealCipher cipher = {
    .name = "libIPSec_MB",
    .expanded_size = (sizeof(struct gcm_key_data) + SEAL_EXPANDED_ALIGN - 1) / SEAL_EXPANDED_ALIGN *
                     SEAL_EXPANDED_ALIGN,
    .expand = cipher_expand,
    .seal = cipher_seal,
    .open = cipher_open,
};

/* ---- is it right? ---------------------------------------------------------------------------- */

enum { TRY_LENGTHS = 14, TRY_MAX = 1 << (TRY_LENGTHS - 1) }; /* 0, 1, 3, 7 ... 8191 bytes */

static bool seals_same(SealKey *theirs, SealKey *ours, size_t len)
{
    static const uint8_t aad[16] = {1, 2, 3};
    static uint8_t in[TRY_MAX], out[2][TRY_MAX]; /* once a process; a stack may be small */
    uint8_t tag[2][SEAL_TAG_SIZE];
    for (size_t i = 0; i < len; i++)
        in[i] = (uint8_t)(i * 7 + len);
    return seal_seal(theirs, len, aad, sizeof aad, in, len, out[0], tag[0]) &&
           seal_seal(ours, len, aad, sizeof aad, in, len, out[1], tag[1]) &&
           memcmp(out[0], out[1], len) == 0 && memcmp(tag[0], tag[1], sizeof tag[0]) == 0 &&
           seal_open(ours, len, aad, sizeof aad, out[1], len, tag[0]) &&
           memcmp(out[1], in, len) == 0;
}

static bool is_right(void)
{
    static const uint8_t key[SEAL_KEY_SIZE] = {9, 8, 7};
    SealSuite suite, faster;
    SealKey theirs = {0}, ours = {0};
    if (seal_suite_init(&suite) < 0)
        return false;
    faster = suite;
    faster.faster = &cipher;
    bool right = seal_key_set(&theirs, &suite, key, true) == 0 &&
                 seal_key_set(&ours, &faster, key, true) == 0;
    for (unsigned i = 0; right && i < TRY_LENGTHS; i++)
        right = seals_same(&theirs, &ours, ((size_t)1 << i) - 1);
    seal_key_deinit(&theirs);
    seal_key_deinit(&ours);
    seal_suite_deinit(&suite);
    return right;
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Its manager picks the functions for this processor, and is not needed afterwards. Without AES
 * instructions it computes in C: then OpenSSL is better. */
static bool functions_take(void *library)
{
    unsigned (*version)(void);
    IMB_MGR *(*make)(uint64_t);
    void (*start)(IMB_MGR *, IMB_ARCH *);
    void (*end)(IMB_MGR *);
    *(void **)&version = dlsym(library, "imb_get_version");
    *(void **)&make = dlsym(library, "alloc_mb_mgr");
    *(void **)&start = dlsym(library, "init_mb_mgr_auto");
    *(void **)&end = dlsym(library, "free_mb_mgr");
    if (!version || !make || !start || !end || version() < IMB_VERSION_NUM)
        return false;
    IMB_ARCH arch = IMB_ARCH_NONE;
    IMB_MGR *m = make(0);
    if (!m)
        return false;
    start(m, &arch);
    loaded.expand = m->gcm256_pre;
    loaded.seal = m->gcm256_enc;
    loaded.open = m->gcm256_dec;
    end(m);
    return arch >= IMB_ARCH_AVX && loaded.expand && loaded.seal && loaded.open;
}

/* What is usable stays loaded: sessions use its code. */
static void load(void)
{
    void *library = dlopen("libIPSec_MB.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    loaded.usable = functions_take(library) && is_right();
    if (!loaded.usable)
        (void)dlclose(library);
}

const SealCipher *cipher_fastest(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, load);
    return loaded.usable ? &cipher : NULL;
}

#else

const SealCipher *cipher_fastest(void)
{
    return NULL;
}

#endif

/* SPDX-License-Identifier: MIT */
#include "proto/seal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "base/bytes.h"

enum { DIGEST_SIZE = 32 };

/* OpenSSL takes strings that it only reads through pointers to non-const. */
static OSSL_PARAM sha256_param(void)
{
    static char name[] = "SHA256";
    return OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, name, 0);
}

int seal_suite_init(SealSuite *suite)
{
    *suite = (SealSuite){0};
    suite->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);

    /* The contexts keep references of their own. */
    EVP_MAC *mac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
    suite->mac = mac ? EVP_MAC_CTX_new(mac) : NULL;
    suite->kdf = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    EVP_MAC_free(mac);
    EVP_KDF_free(kdf);

    OSSL_PARAM params[] = {sha256_param(), OSSL_PARAM_construct_end()};
    if (suite->cipher && suite->mac && suite->kdf && EVP_MAC_CTX_set_params(suite->mac, params))
        return 0;
    seal_suite_deinit(suite);
    return -ENOMEM;
}

void seal_suite_deinit(SealSuite *suite)
{
    EVP_CIPHER_free(suite->cipher);
    EVP_MAC_CTX_free(suite->mac);
    EVP_KDF_CTX_free(suite->kdf);
    *suite = (SealSuite){0};
}

int seal_derive(SealSuite *suite, const uint8_t *secret, size_t secret_len, const uint8_t *salt,
                size_t salt_len, const uint8_t *info, size_t info_len, uint8_t *out, size_t len)
{
    OSSL_PARAM params[5], *p = params;
    *p++ = sha256_param();
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)secret, secret_len);
    if (salt_len > 0)
        *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_len);
    if (info_len > 0)
        *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)info, info_len);
    *p = OSSL_PARAM_construct_end();

    int ok = EVP_KDF_derive(suite->kdf, out, len, params);
    EVP_KDF_CTX_reset(suite->kdf); /* wipes its copy of the secret */
    if (ok > 0)
        return 0;
    seal_wipe(out, len);
    return -ENOMEM;
}

int seal_mac(SealSuite *suite, const uint8_t key[SEAL_KEY_SIZE], const uint8_t *data, size_t len,
             uint8_t ret_mac[SEAL_MAC_SIZE])
{
    uint8_t digest[DIGEST_SIZE];
    size_t digest_len;
    if (!EVP_MAC_init(suite->mac, key, SEAL_KEY_SIZE, NULL) ||
        !EVP_MAC_update(suite->mac, data, len) ||
        !EVP_MAC_final(suite->mac, digest, &digest_len, sizeof digest) ||
        digest_len != sizeof digest)
        return -ENOMEM;
    memcpy(ret_mac, digest, SEAL_MAC_SIZE);
    return 0;
}

bool seal_equal(const uint8_t *a, const uint8_t *b, size_t len)
{
    return CRYPTO_memcmp(a, b, len) == 0;
}

void seal_wipe(void *p, size_t len)
{
    OPENSSL_cleanse(p, len);
}

/* ---- one direction of a session ------------------------------------------------------------- */

static int faster_key_set(SealKey *k, const SealCipher *faster, const uint8_t *key)
{
    if (!k->expanded)
        k->expanded = aligned_alloc(SEAL_EXPANDED_ALIGN, faster->expanded_size);
    if (!k->expanded)
        return -ENOMEM;
    k->faster = faster;
    faster->expand(key, k->expanded);
    return 0;
}

int seal_key_set(SealKey *k, const SealSuite *suite, const uint8_t key[SEAL_KEY_SIZE], bool sealing)
{
    if (suite->faster)
        return faster_key_set(k, suite->faster, key);
    if (!k->ctx)
        k->ctx = EVP_CIPHER_CTX_new();
    if (!k->ctx || !EVP_CipherInit_ex(k->ctx, suite->cipher, NULL, key, NULL, sealing))
        return -ENOMEM;
    return 0;
}

void seal_key_deinit(SealKey *k)
{
    EVP_CIPHER_CTX_free(k->ctx); /* wipes the key schedule */
    if (k->expanded)
        seal_wipe(k->expanded, k->faster->expanded_size);
    free(k->expanded);
    *k = (SealKey){0};
}

/* 96 bits: zeros and the counter. A key serves one direction of one session, so no nonce needs
 * anything more. */
static void nonce_make(uint64_t counter, uint8_t nonce[SEAL_NONCE_SIZE])
{
    memset(nonce, 0, SEAL_NONCE_SIZE - 8);
    put_u64(nonce + SEAL_NONCE_SIZE - 8, counter);
}

bool seal_seal(SealKey *k, uint64_t counter, const uint8_t *aad, size_t aad_len, const uint8_t *in,
               size_t len, uint8_t *out, uint8_t ret_tag[SEAL_TAG_SIZE])
{
    uint8_t nonce[SEAL_NONCE_SIZE];
    int n;
    nonce_make(counter, nonce);
    if (k->faster) {
        k->faster->seal(k->expanded, nonce, aad, aad_len, in, len, out, ret_tag);
        return true;
    }
    if (!k->ctx || len > INT_MAX || aad_len > INT_MAX)
        return false;
    return EVP_EncryptInit_ex(k->ctx, NULL, NULL, NULL, nonce) > 0 &&
           EVP_EncryptUpdate(k->ctx, NULL, &n, aad, (int)aad_len) > 0 &&
           (len == 0 || EVP_EncryptUpdate(k->ctx, out, &n, in, (int)len) > 0) &&
           EVP_EncryptFinal_ex(k->ctx, out + len, &n) > 0 &&
           EVP_CIPHER_CTX_ctrl(k->ctx, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG_SIZE, ret_tag) > 0;
}

bool seal_open(SealKey *k, uint64_t counter, const uint8_t *aad, size_t aad_len, uint8_t *data,
               size_t len, const uint8_t tag[SEAL_TAG_SIZE])
{
    uint8_t nonce[SEAL_NONCE_SIZE], made[SEAL_TAG_SIZE];
    int n;
    nonce_make(counter, nonce);
    if (k->faster) {
        k->faster->open(k->expanded, nonce, aad, aad_len, data, len, data, made);
        return seal_equal(made, tag, sizeof made);
    }
    if (!k->ctx || len > INT_MAX || aad_len > INT_MAX)
        return false;
    return EVP_DecryptInit_ex(k->ctx, NULL, NULL, NULL, nonce) > 0 &&
           EVP_CIPHER_CTX_ctrl(k->ctx, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG_SIZE, (void *)tag) > 0 &&
           EVP_DecryptUpdate(k->ctx, NULL, &n, aad, (int)aad_len) > 0 &&
           (len == 0 || EVP_DecryptUpdate(k->ctx, data, &n, data, (int)len) > 0) &&
           EVP_DecryptFinal_ex(k->ctx, data + len, &n) > 0;
}

/* ---- replay window -------------------------------------------------------------------------- */

bool replay_is_fresh(const ReplayWindow *w, uint64_t counter)
{
    if (counter == 0)
        return false;
    if (counter > w->highest)
        return true;
    if (w->highest - counter >= SEAL_WINDOW)
        return false;
    return !(w->seen[counter % SEAL_WINDOW / 64] >> (counter % 64) & 1);
}

void replay_mark(ReplayWindow *w, uint64_t counter)
{
    if (counter > w->highest && counter - w->highest >= SEAL_WINDOW) {
        memset(w->seen, 0, sizeof w->seen);
        w->highest = counter;
    }
    /* Each counter that was jumped over is cleared once: constant on the whole. */
    while (w->highest < counter) {
        w->highest++;
        w->seen[w->highest % SEAL_WINDOW / 64] &= ~((uint64_t)1 << (w->highest % 64));
    }
    w->seen[counter % SEAL_WINDOW / 64] |= (uint64_t)1 << (counter % 64);
}

/* SPDX-License-Identifier: MIT */
/* What sealing needs of cryptography, and nothing more of it: HKDF-SHA256, HMAC-SHA256 cut to 16
 * bytes, AES-256-GCM with the key set once, and the replay window. Through OpenSSL's EVP, but for
 * AES-256-GCM where the shell has found a faster one. Knows nothing of sessions. Pure.
 *
 * Every key in use is derived, so that no key ever has two uses. From a cluster key, with HKDF:
 *   no salt, info "dodo 1 hello"       the key of the MAC in HELLO and HELLO_ACK
 *   no salt, info "dodo 1 key id"      the first 4 bytes, little-endian: the key's public number
 *   both salts (initiator's first),
 *     info "dodo 1 initiator"          seals what the initiator sends
 *     info "dodo 1 responder"          seals what the responder sends */
#ifndef DODO_PROTO_SEAL_H
#define DODO_PROTO_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SEAL_KEY_SIZE = 32,
    SEAL_NONCE_SIZE = 12,
    SEAL_TAG_SIZE = 16,
    SEAL_MAC_SIZE = 16,
    SEAL_EXPANDED_ALIGN = 64,
    SEAL_WINDOW = 4096,
};

/* AES-256-GCM of another library. It keeps nothing but what @expand makes of a key, in
 * @expanded_size bytes (a multiple of SEAL_EXPANDED_ALIGN, and so aligned). @in == @out is fine.
 * What @open makes of the data is a tag: the caller compares it. */
typedef struct SealCipher {
    const char *name; /* of the library */
    size_t expanded_size;
    void (*expand)(const uint8_t key[SEAL_KEY_SIZE], void *ret_expanded);
    void (*seal)(const void *expanded, const uint8_t nonce[SEAL_NONCE_SIZE], const uint8_t *aad,
                 size_t aad_len, const uint8_t *in, size_t len, uint8_t *out,
                 uint8_t ret_tag[SEAL_TAG_SIZE]);
    void (*open)(const void *expanded, const uint8_t nonce[SEAL_NONCE_SIZE], const uint8_t *aad,
                 size_t aad_len, const uint8_t *in, size_t len, uint8_t *out,
                 uint8_t ret_tag[SEAL_TAG_SIZE]);
} SealCipher;

struct evp_cipher_st;
struct evp_cipher_ctx_st;
struct evp_mac_ctx_st;
struct evp_kdf_ctx_st;

/* The algorithms, looked up once. */
typedef struct SealSuite {
    struct evp_cipher_st *cipher;
    struct evp_mac_ctx_st *mac;
    struct evp_kdf_ctx_st *kdf;
    const SealCipher *faster; /* for keys that are set from now on; NULL, as at first: OpenSSL's */
} SealSuite;
/* 0; -ENOMEM: no memory, or a crypto library without these algorithms. */
int seal_suite_init(SealSuite *suite);
/* Fine on a zeroed or half-built one. */
void seal_suite_deinit(SealSuite *suite);

/* 0 or -ENOMEM, then @out is wiped. */
int seal_derive(SealSuite *suite, const uint8_t *secret, size_t secret_len, const uint8_t *salt,
                size_t salt_len, const uint8_t *info, size_t info_len, uint8_t *out, size_t len);
/* 0 or -ENOMEM. */
int seal_mac(SealSuite *suite, const uint8_t key[SEAL_KEY_SIZE], const uint8_t *data, size_t len,
             uint8_t ret_mac[SEAL_MAC_SIZE]);
/* In a time that reveals nothing of where they differ. */
bool seal_equal(const uint8_t *a, const uint8_t *b, size_t len);
void seal_wipe(void *p, size_t len);

/* One direction of a session: a cipher context that has its key already, so that a datagram costs
 * only its nonce. Zeroed: none yet. */
typedef struct SealKey {
    struct evp_cipher_ctx_st *ctx;
    const SealCipher *faster; /* then there is @expanded, and no @ctx */
    void *expanded;
} SealKey;
/* May be called again to change the key, with the same suite. @sealing: for seal_seal(), else for
 * seal_open(). 0 or -ENOMEM. The caller wipes @key. */
int seal_key_set(SealKey *k, const SealSuite *suite, const uint8_t key[SEAL_KEY_SIZE],
                 bool sealing);
/* Wipes and frees; fine on a zeroed one. */
void seal_key_deinit(SealKey *k);

/* @counter must never be used twice with a key. @out has room for @len; @in == @out is fine.
 * The lengths fit an int. False: the crypto library failed, nothing may be sent. */
bool seal_seal(SealKey *k, uint64_t counter, const uint8_t *aad, size_t aad_len, const uint8_t *in,
               size_t len, uint8_t *out, uint8_t ret_tag[SEAL_TAG_SIZE]);
/* Opens @data in place. False: forged, and @data is then rubbish. */
bool seal_open(SealKey *k, uint64_t counter, const uint8_t *aad, size_t aad_len, uint8_t *data,
               size_t len, const uint8_t tag[SEAL_TAG_SIZE]);

/* Which counters came already: the highest and the 4095 before it; 0 never comes. Zeroed: none. */
typedef struct ReplayWindow {
    uint64_t highest;
    uint64_t seen[SEAL_WINDOW / 64]; /* bit counter % SEAL_WINDOW */
} ReplayWindow;
/* False: seen already, or too old to know. */
bool replay_is_fresh(const ReplayWindow *w, uint64_t counter);
/* Only once the datagram has been proven authentic, and fresh. */
void replay_mark(ReplayWindow *w, uint64_t counter);

#endif

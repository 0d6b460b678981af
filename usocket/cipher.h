/* SPDX-License-Identifier: MIT */
/* The fastest AES-256-GCM that this machine has, for the endpoints of what moves many bytes. */
#ifndef DODO_USOCKET_CIPHER_H
#define DODO_USOCKET_CIPHER_H

#include "proto/seal.h"

/* Loads libIPSec_MB with the first call, which takes about a millisecond, and opens files: daemons
 * call it before they give that up. NULL: OpenSSL's is to be used, as that library is not
 * installed, or older than the one that this was built with, or has nothing for this processor, or
 * does not seal what OpenSSL seals. Thread-safe. */
const SealCipher *cipher_fastest(void);

#endif

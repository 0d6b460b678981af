/* SPDX-License-Identifier: MIT */
/* The fastest AES-256-GCM that this machine has, for the endpoints of what moves many bytes. */
#ifndef DODO_USOCKET_CIPHER_H
#define DODO_USOCKET_CIPHER_H

#include "proto/seal.h"

/* The first call loads libIPSec_MB. That takes about a millisecond and opens files, so a daemon
 * makes it before it gives up opening files. NULL: OpenSSL's is to be used. The library is not
 * installed, is older than the one that this was built with, has nothing for this processor, or
 * does not seal what OpenSSL seals. Thread-safe. */
const SealCipher *cipher_fastest(void);

#endif

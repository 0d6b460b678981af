/* SPDX-License-Identifier: MIT */
/* blocksum() once more, compiled for processors that have AVX2. */
#define blocksum blocksum_avx2
#include "base/blocksum.c"

/* SPDX-License-Identifier: MIT */
#include "base/blocksum.h"

#ifdef DODO_BLOCKSUM_AVX2
BlockSumFn blocksum_avx2;

BlockSumFn *blocksum_fastest(void)
{
    return __builtin_cpu_supports("avx2") ? blocksum_avx2 : blocksum;
}
#else
BlockSumFn *blocksum_fastest(void)
{
    return blocksum;
}
#endif

/* SPDX-License-Identifier: MIT */
/* ELF files that anybody made: what they import is known, or that they do not say. */
#include <string.h>

#include "adapters/run/imports.h"
#include "tests/fuzz/fuzz.h"

typedef struct Image {
    const uint8_t *data;
    size_t size;
} Image;

static bool get_part(void *ctx, uint64_t at, void *buf, size_t len)
{
    const Image *image = ctx;
    if (at > image->size || len > image->size - at)
        return false;
    memcpy(buf, image->data + at, len);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Image image = {data, size};
    const unsigned all = IMPORTS_READ | IMPORTS_STDIO | IMPORTS_MAPPING | IMPORTS_KERNEL;
    unsigned ways = ~0u;
    (void)imports_of(get_part, &image, &ways);
    FUZZ_CHECK((ways & ~all) == 0);
    return 0;
}

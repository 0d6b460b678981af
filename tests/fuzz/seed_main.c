/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_wire's corpus: the golden bytes, a file each. Run once whenever a golden
 * line was added: seed-wire tests/fuzz/corpus/wire */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/hex.h"
#include "tests/lib/wire_golden.h"

static int write_seed(const char *dir, const WireGolden *g)
{
    static uint8_t bytes[WIRE_PAYLOAD_MAX];
    char path[4096];
    size_t len = hex_bytes(g->hex, bytes, sizeof bytes);

    (void)snprintf(path, sizeof path, "%s/%s-%s", dir, g->codec, g->name);
    for (char *p = path + strlen(dir); *p; p++)
        if (*p == ' ')
            *p = '-';
    FILE *f = fopen(path, "wbe");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: %s DIR\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < WIRE_GOLDENS_COUNT; i++)
        if (write_seed(argv[1], &wire_goldens[i]) != 0)
            return 1;
    return 0;
}

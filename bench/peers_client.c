/* SPDX-License-Identifier: MIT */
/* Measures a peer, or the bare network: see scripts/bench-peers. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/peers_client.h"
#include "bench/peers_udp.h"

static const char usage[] =
    "Usage: peers-client read|write|load memcached|redis|nbd|tcp|udp ADDR:PORT[,...] "
    "[NAME=VALUE...]\n"
    "       peers-client shape\n"
    "Measures reads or writes, or writes all values once, at a server. Prints a line of JSON;\n"
    "shape: how much data a datagram of raw UDP (and Dodo) carries.\n"
    "\n"
    "  name=TEXT     who is measured, for the line\n"
    "  size=SIZE     of a read or write (8K)\n"
    "  area=SIZE     of all values (64M), base=SIZE: where they start (0)\n"
    "  threads=N     with a connection each; more than one address: thread by thread (1)\n"
    "  time=TIME     at least (150ms); ops=N: at least (20); warm=N: before, a thread (100)\n"
    "  file=FILE     what is written is written there too\n"
    "  servers=PID,...  their CPU time is printed\n"
    "udp only:\n"
    "  mtu=N         of the path (1500)\n"
    "  poll=TIME     poll before blocking (0); server-poll=TIME: the server, too\n"
    "  sealed=1      AES-256-GCM, a tag a datagram\n";

static const PeerOps *find(const char *word)
{
    const struct {
        const char *word;
        const PeerOps *ops;
    } all[] = {{"memcached", &peer_memcached},
               {"redis", &peer_redis},
               {"nbd", peer_nbd},
               {"tcp", &peer_tcp},
               {"udp", &peer_udp}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(word, all[i].word) == 0)
            return all[i].ops;
    return NULL;
}

static int print_shape(void)
{
    const RawCut cut = {(uint16_t)peer_defaults.mtu, false, RAW_READ_HEADER};
    printf("{\"mtu\": %u, \"data\": %u}\n", cut.mtu, raw_step(&cut));
    return 0;
}

int main(int argc, char **argv)
{
    PeerOptions o = peer_defaults;
    PeerResult r = {.ops = 0};
    if (argc == 2 && strcmp(argv[1], "shape") == 0)
        return print_shape();
    const PeerOps *ops = argc > 3 ? find(argv[2]) : NULL;
    if (!ops || !peer_options(&o, argc - 4, argv + 4)) {
        fputs(usage, stderr);
        return 2;
    }
    o.at = argv[3];
    o.write = strcmp(argv[1], "write") == 0;
    o.load = strcmp(argv[1], "load") == 0;
    if (!o.write && !o.load && strcmp(argv[1], "read") != 0) {
        fputs(usage, stderr);
        return 2;
    }
    int result = o.load ? peer_load(&o, ops) : peer_measure(&o, ops, &r);
    if (result < 0) {
        fprintf(stderr, "peers-client %s %s: %s\n", argv[1], argv[2], strerror(-result));
        return 1;
    }
    if (!o.load)
        peer_print(&o, &r, "");
    return r.wrong_bytes > 0;
}

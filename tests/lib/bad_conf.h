/* SPDX-License-Identifier: MIT */
/* Config files with a mistake, and the error that each reader must report: daemons, tools and
 * libraries the same. */
#ifndef DODO_TESTS_LIB_BAD_CONF_H
#define DODO_TESTS_LIB_BAD_CONF_H

typedef struct BadConf {
    const char *text;
    const char *says; /* after the name of the file */
} BadConf;

#define EXPECTED_GROUP                                                             \
    ": expected [dodo], [daemon], [client], [manage], [imd], [rmd] or [cmd]; see " \
    "dodo.conf(5)"

static const BadConf bad_confs[] = {
    {"# a comment\n[clinet]\nalive = 5s\n", ":2: unknown group [clinet]" EXPECTED_GROUP},
    {"[clinet]\n", ":1: unknown group [clinet]" EXPECTED_GROUP},
    {"[dodo]\nmanagre = 10.0.0.1\n", ":2: unknown key \"managre\" in [dodo]; see dodo.conf(5)"},
    {"[daemon]\nusr = x\n", ":2: unknown key \"usr\" in [daemon]; see dodo.conf(5)"},
    {"[client]\nalife = 5s\n", ":2: unknown key \"alife\" in [client]; see dodo.conf(5)"},
    {"[manage]\ncolour = blue\n", ":2: unknown key \"colour\" in [manage]; see dodo.conf(5)"},
    {"[imd]\npol = 64M\n", ":2: unknown key \"pol\" in [imd]; see dodo.conf(5)"},
    {"[rmd]\npol = 64M\n", ":2: unknown key \"pol\" in [rmd]; see dodo.conf(5)"},
    {"[cmd]\ngrave = 1min\n", ":2: unknown key \"grave\" in [cmd]; see dodo.conf(5)"},
    {"[dodo]\nmanager = 10.0.0.256\n",
     ":2: manager: expected a name or an address such as manager.example:7700, 10.0.0.1:7700 or "
     "[fd00::1]:7700, or up to 8 with commas between them"},
    {"[imd]\nlisten = 10.0.0.256\n",
     ":2: listen: expected an address such as 10.0.0.1:7701 or [fd00::1]:7701, or an interface "
     "such as eth0"},
    {"[imd]\nmetrics = localhost\n",
     ":2: metrics: expected a numeric address such as 10.0.0.1:7711 or [fd00::1]:7711"},
    {"[dodo]\nlog_level = loud\n", ":2: log_level: expected error, warn, info or debug"},
    {"[client]\nverify = maybe\n", ":2: verify: expected yes or no"},
    {"[client]\n\nregions_max = 0\n", ":3: regions_max: expected a number, 1 to 1048576"},
    {"[client]\nrefraction = soon\n",
     ":2: refraction: expected a time such as 500ms, 30s or 5min, 1us to 24h"},
    {"[client]\nhonest_filesystems = ext4\n",
     ":2: honest_filesystems: expected numbers of file systems in hexadecimal, as stat -f -c %t "
     "prints them, with commas between them, at most 16"},
    {"[manage]\ncache_size = none\n",
     ":2: cache_size: expected a size such as 64M or 1.5G, 0 B to 1 EiB"},
    {"[imd]\nthreads = 65\n", ":2: threads: expected a number, 1 to 64"},
    {"[imd]\nrate_bytes = 1K\n",
     ":2: rate_bytes: expected 0, or a size such as 64M or 1.5G, 256 KiB to 1 TiB"},
    {"[rmd]\npool = much\n",
     ":2: pool: expected auto, or a size such as 64M or 1.5G, 64 KiB to 256 TiB"},
    {"[rmd]\nload_below = few\n", ":2: load_below: expected a number such as 0.5, 0 to 100000"},
    {"[rmd]\nexplain = all\n", ":2: explain: expected coarse, full or off"},
    {"[cmd]\ndistrust = 3parsec\n",
     ":2: distrust: expected a time such as 500ms, 30s or 5min, 0s to 24h"},
    /* a key that is given twice, of which one value would have to win */
    {"[client]\nverify = yes\n# a comment\nverify = no\n",
     ":4: [client] verify is given twice, first at line 2: remove one of them"},
    {"[imd]\npool = 1G\n[rmd]\npool = 2G\n[imd]\nlisten = 10.0.0.1\npool = 1G\n",
     ":7: [imd] pool is given twice, first at line 2: remove one of them"},
    /* keys that contradict each other */
    {"[dodo]\nkey = /etc/dodo/key\ninsecure = yes\n",
     ":3: [dodo] key and insecure = yes contradict each other: remove one of them"},
    {"[dodo]\nmanager = 10.0.0.1\n[imd]\nlisten = [fd00::2]\n",
     ":4: [dodo] manager and [imd] listen must both be IPv4 or both IPv6 addresses"},
    {"[client]\nrequest_retry = 6s\n",
     ":2: [client] request_retry = 6s must be less than [client] request_deadline = 5s (its "
     "default); otherwise a request that is lost is never repeated"},
    {"[client]\nrequest_retry = 3s\n",
     ":2: [client] request_retry = 3s must be at most [client] request_retry_max = 2s (its "
     "default); otherwise the time between requests starts beyond its limit"},
    {"[cmd]\nrequest_deadline = 50ms\n",
     ":2: [cmd] request_retry = 50ms (its default) must be less than [cmd] request_deadline = "
     "50ms; otherwise a request that is lost is never repeated"},
    {"[imd]\nbeat = 10s\n",
     ":2: [imd] beat = 10s must be at most half of [imd] manager_dead = 15s (its default); "
     "otherwise one keep-alive that is lost counts as silence"},
    {"[cmd]\nclient_dead = 3s\n[client]\nalive = 2s\n",
     ":4: [client] alive = 2s must be at most half of [cmd] client_dead = 3s; otherwise one "
     "keep-alive that is lost counts as silence"},
    {"[client]\nrequest_deadline = 1s\n[cmd]\nrequest_deadline = 1s\n",
     ":4: [cmd] request_deadline = 1s must be less than [client] request_deadline = 1s; otherwise "
     "a program gives the manager up before it has asked a second host"},
    {"[cmd]\ngrace = 1s\n[client]\nalive = 1s\n",
     ":4: [client] alive = 1s must be less than [cmd] grace = 1s; otherwise a manager that starts "
     "again frees regions before their programs claim them"},
    {"[manage]\ncache_size = 4M\nreadahead = 5M\n",
     ":3: [manage] readahead = 5 MiB must be at most [manage] cache_size = 4 MiB; otherwise the "
     "cache has no room for what is read ahead"},
    {"[manage]\nreadahead = 65M\n",
     ":2: [manage] readahead = 65 MiB must be at most [manage] cache_size = 64 MiB (its default); "
     "otherwise the cache has no room for what is read ahead"},
    {"[cmd]\nlisten = 10.0.0.1:7701\n[imd]\nlisten = 10.0.0.1\n",
     ":4: [cmd] listen and [imd] listen are the same address and port: give one of them another "
     "port"},
    {"[cmd]\nlisten = 10.0.0.1:7702\n[rmd]\nlisten = 10.0.0.1\n",
     ":4: [cmd] listen and [rmd] listen are the same address and port: give one of them another "
     "port"},
    {"[imd]\ndata_port = 65530\nthreads = 7\n",
     ":3: [imd] data_port: the ports of all threads must be below 65536"},
    {"[imd]\nlisten = 10.0.0.1:7710\ndata_port = 7708\nthreads = 4\n",
     ":3: [imd] data_port: the port of [imd] listen is among those of the data threads: choose "
     "another"},
    {"[imd]\nlisten = eth0:7720\n",
     ":2: [imd] data_port: the port of [imd] listen is among those of the data threads: choose "
     "another"},
    {"[cmd]\nlisten = eth0:7701\n[imd]\nlisten = eth0\n",
     ":4: [cmd] listen and [imd] listen are the same address and port: give one of them another "
     "port"},
    {"[rmd]\nlisten = 10.0.0.1:7701\n",
     ":2: [rmd] imd_port is the port of [rmd] listen too: give one of them another"},
    {"[rmd]\ncpu_percent = 50\n",
     ":2: [rmd] cpu_percent needs a control group: set cgroup too, or remove it"},
    {"[cmd]\nhosts_max = 10\nsessions_max = 9\n",
     ":3: [cmd] hosts_max = 10 must be at most [cmd] sessions_max = 9; otherwise hosts push each "
     "other out"},
};
enum { BAD_CONFS = sizeof bad_confs / sizeof bad_confs[0] };

#endif

/* SPDX-License-Identifier: MIT */
/* The table of all keys: group, key, variable, type, range, default, and who takes it. */
#include "base/cleanup.h"
#include "base/time.h"
#include "proto/conf/conf.h"
#include "proto/conf/defaults.h"

#define DAY (24 * 3600 * NS_PER_S)
#define DAEMONS (CONF_CMD | CONF_IMD | CONF_RMD)
#define ALL (DAEMONS | CONF_CLIENT | CONF_TOOL)
#define KIB (1ull << 10)
#define GIB (1ull << 30)
#define TIB (1ull << 40)

#define TEXT(most) CONFIG_TEXT, .max = (most)
#define FILE_NAME CONFIG_TEXT, .max = 4095, .file = true
#define BOOL(def) CONFIG_BOOL, .preset = true, .count = (def)
#define ADDRESS(port) CONFIG_ADDR, .min = (port)
#define LISTEN(port) CONFIG_LISTEN, .min = (port)
#define PLACES(port) CONFIG_PLACES, .min = (port)
#define TIME(low, high, def) \
    CONFIG_TIME, .min = (low), .max = (high), .preset = true, .count = (def)
#define SIZE(low, high, def) \
    CONFIG_SIZE, .min = (low), .max = (high), .preset = true, .count = (def)
#define COUNT(low, high, def) \
    CONFIG_COUNT, .min = (low), .max = (high), .preset = true, .count = (def)

/* clang-format off */
const ConfKey conf_keys[] = {
#define KEY(key, variable, who, ...) \
    {.group = "dodo", .name = (key), .env = (variable), .readers = (who), .kind = __VA_ARGS__}
    KEY("manager", "DODO_MANAGER", ALL | CONF_MANAGE, PLACES(DEFAULT_CMD_PORT)),
    KEY("key", "DODO_KEY", ALL, FILE_NAME),
    KEY("cluster", "DODO_CLUSTER", ALL, TEXT(0), .preset = true, .text = DEFAULT_CLUSTER),
    KEY("insecure", "DODO_INSECURE", ALL, BOOL(false)),
    KEY("transport", "DODO_TRANSPORT", CONF_IMD | CONF_CLIENT, CONFIG_CHOICE, .words = "udp|raw", .preset = true,
        .text = "udp"),
    KEY("interface", "DODO_INTERFACE", CONF_IMD | CONF_CLIENT, TEXT(15)),
    KEY("log_level", "DODO_LOG", ALL, CONFIG_LEVEL, .preset = true, .text = "info"),
    KEY("hello_retry", NULL, ALL, TIME(NS_PER_MS, 3600 * NS_PER_S, DEFAULT_HELLO_RETRY_NS)),
#undef KEY

#define KEY(key, ...) {.group = "daemon", .name = (key), .readers = DAEMONS, .kind = __VA_ARGS__}
    KEY("user", TEXT(0)),
#undef KEY

#define KEY(key, variable, ...) \
    {.group = "client", .name = (key), .env = (variable), .readers = CONF_CLIENT, .kind = __VA_ARGS__}
    KEY("alive", NULL, TIME(NS_PER_US, DAY, DEFAULT_ALIVE_NS)),
    KEY("refraction", NULL, TIME(NS_PER_US, DAY, DEFAULT_REFRACTION_NS)),
    KEY("transfer_deadline", NULL, TIME(NS_PER_US, DAY, DEFAULT_TRANSFER_DEADLINE_NS)),
    KEY("reopen", NULL, TIME(NS_PER_US, DAY, DEFAULT_REOPEN_NS)),
    KEY("request_retry", NULL, TIME(NS_PER_US, DAY, DEFAULT_CLIENT_REQUEST_RETRY_NS)),
    KEY("request_retry_max", NULL, TIME(NS_PER_US, DAY, DEFAULT_CLIENT_REQUEST_RETRY_MAX_NS)),
    KEY("request_deadline", NULL, TIME(NS_PER_US, DAY, DEFAULT_CLIENT_REQUEST_DEADLINE_NS)),
    KEY("regions_max", NULL, COUNT(1, 1 << 20, DEFAULT_CLIENT_REGIONS_MAX)),
    KEY("stripe", NULL, SIZE(1, 1ull << 48, DEFAULT_CLIENT_STRIPE_BYTES)),
    KEY("mirror", "DODO_MIRROR", BOOL(false)),
    KEY("poll", "DODO_POLL", TIME(0, NS_PER_S, DEFAULT_CLIENT_POLL_NS)),
    KEY("poll_share", "DODO_POLL_SHARE", COUNT(1, 100 * 1024, DEFAULT_POLL_SHARE)),
    KEY("verify", "DODO_VERIFY", BOOL(true)),
    KEY("share", "DODO_SHARE", BOOL(true)),
    KEY("fill_queue", NULL, SIZE(0, TIB, DEFAULT_CLIENT_FILL_QUEUE_BYTES)),
    KEY("receive_buffer", NULL, SIZE(64 * KIB, GIB, DEFAULT_CLIENT_RECEIVE_BYTES)),
    KEY("honest_filesystems", NULL, CONFIG_TYPES),
#undef KEY

#define KEY(key, variable, ...) \
    {.group = "manage", .name = (key), .env = (variable), .readers = CONF_MANAGE, .kind = __VA_ARGS__}
    KEY("cache_size", "DODO_CACHE_SIZE", SIZE(0, 1ull << 60, DEFAULT_MANAGE_CACHE_BYTES)),
    KEY("readahead", "DODO_READAHEAD", CONFIG_SIZE, .max = 1ull << 60, .text = "8M"),
#undef KEY

#define KEY(key, ...) {.group = "imd", .name = (key), .readers = CONF_IMD, .kind = __VA_ARGS__}
    KEY("listen", LISTEN(DEFAULT_IMD_PORT)),
    KEY("pool", CONFIG_SIZE, .min = 64 * KIB, .max = 1ull << 48),
    KEY("populate", BOOL(false)),
    KEY("threads", CONFIG_COUNT, .min = 1, .max = 64, .text = "4"),
    KEY("nice", COUNT(0, 19, 19)),
    KEY("data_port", CONFIG_COUNT, .max = 65535, .text = "7720"),
    KEY("beat", TIME(NS_PER_MS, DAY, DEFAULT_BEAT_NS)),
    KEY("manager_dead", TIME(NS_PER_MS, DAY, DEFAULT_MANAGER_DEAD_NS)),
    KEY("retained_age", TIME(0, 36500 * DAY, DEFAULT_RETAINED_AGE_NS)),
    KEY("owner_silence", TIME(2 * NS_PER_S, DAY, DEFAULT_OWNER_SILENCE_NS)),
    KEY("leave_deadline", TIME(NS_PER_MS, DAY, DEFAULT_LEAVE_DEADLINE_NS)),
    KEY("regions_max", COUNT(1, 1 << 24, DEFAULT_IMD_REGIONS_MAX)),
    {.group = "imd",
     .name = "poll",
     .env = "DODO_IMD_POLL",
     .readers = CONF_IMD | CONF_RMD, /* rmd knows whether the host is dedicated */
     .kind = TIME(0, NS_PER_S, UINT64_MAX),
     .words = "auto",
     .text = "auto"},
    KEY("poll_share", COUNT(1, 100 * 1024, DEFAULT_POLL_SHARE)),
    KEY("writes_max", COUNT(1, 1 << 20, DEFAULT_IMD_WRITES_MAX)),
    KEY("write_age", TIME(0, DAY, DEFAULT_IMD_WRITE_AGE_NS)),
    KEY("fills_max", COUNT(1, 1 << 20, DEFAULT_IMD_FILLS_MAX)),
    KEY("sessions_max", COUNT(1, 1 << 20, DEFAULT_IMD_SESSIONS_MAX)),
    KEY("receive_buffer", SIZE(64 * KIB, GIB, DEFAULT_IMD_RECEIVE_BYTES)),
    KEY("send_buffer", SIZE(64 * KIB, GIB, DEFAULT_IMD_SEND_BYTES)),
    KEY("metrics", ADDRESS(DEFAULT_IMD_METRICS_PORT)),
    KEY("metrics_token_file", FILE_NAME),
#undef KEY

/* rmd sends them again whenever it reads its files again. */
#define KEY(key, ...)                                                                              \
    {.group = "imd", .name = (key), .readers = CONF_IMD | CONF_RMD, .kind = __VA_ARGS__}
    /* At this rate a chunk takes a quarter of a second. */
    KEY("rate_bytes", SIZE(256 * KIB, TIB, DEFAULT_IMD_RATE_BYTES), .zero = true),
    KEY("rate_packets", COUNT(100, 1 << 30, DEFAULT_IMD_RATE_PACKETS), .zero = true),
#undef KEY

#define KEY(key, ...) {.group = "rmd", .name = (key), .readers = CONF_RMD, .kind = __VA_ARGS__}
    KEY("listen", LISTEN(DEFAULT_RMD_PORT)),
    KEY("pool", SIZE(64 * KIB, 1ull << 48, UINT64_MAX), .words = "auto", .text = "auto"),
    KEY("idle_after", TIME(NS_PER_MS, DAY, DEFAULT_IDLE_AFTER_NS)),
    KEY("load_below", CONFIG_NUMBER, .max = 100000, .preset = true, .number = DEFAULT_LOAD_BELOW),
    KEY("poll", TIME(10 * NS_PER_MS, 60 * NS_PER_S, DEFAULT_POLL_NS)),
    KEY("dedicated", BOOL(false)),
    KEY("recruit_when", TEXT(0)),
    KEY("reclaim_when", TEXT(0)),
    KEY("console", CONFIG_LIST),
    KEY("utmp", TEXT(0)),
    KEY("input", TEXT(0)),
    KEY("bus", TEXT(0)),
    KEY("session_bus", TEXT(0)),
    KEY("display", TEXT(0)),
    KEY("explain", CONFIG_CHOICE, .words = "coarse|full|off", .preset = true, .text = "coarse"),
    KEY("screen_savers", CONFIG_LIST),
    KEY("leave_deadline", TIME(NS_PER_MS, 60 * NS_PER_S, DEFAULT_RMD_LEAVE_DEADLINE_NS)),
    KEY("save", SIZE(0, TIB, DEFAULT_SAVE_BYTES)),
    KEY("save_within", TIME(NS_PER_MS, 60 * NS_PER_S, DEFAULT_SAVE_WITHIN_NS)),
    KEY("beat", TIME(NS_PER_MS, DAY, DEFAULT_RMD_BEAT_NS)),
    KEY("imd", TEXT(0)),
    KEY("imd_port", COUNT(0, 65535, DEFAULT_RMD_IMD_PORT)),
    KEY("rate_bytes", CONFIG_SIZE, .min = 256 * KIB, .max = TIB),
    KEY("rate_packets", CONFIG_COUNT, .min = 100, .max = 1 << 30),
    KEY("idle_priority", BOOL(true)),
    KEY("cgroup", TEXT(0)),
    KEY("cpu_percent", CONFIG_COUNT, .min = 1, .max = 100000),
    KEY("metrics", ADDRESS(DEFAULT_RMD_METRICS_PORT)),
    KEY("metrics_token_file", FILE_NAME),
    KEY("owner_file", FILE_NAME),
#undef KEY
    {.group = "rmd", .name = "owner_socket", .readers = CONF_RMD | CONF_TOOL, .kind = TEXT(107)},

#define KEY(key, ...) {.group = "cmd", .name = (key), .readers = CONF_CMD, .kind = __VA_ARGS__}
    KEY("listen", LISTEN(DEFAULT_CMD_PORT)),
    KEY("lease", TEXT(4095)),
    KEY("client_dead", TIME(NS_PER_MS, DAY, DEFAULT_CLIENT_DEAD_NS)),
    KEY("host_dead", TIME(NS_PER_MS, DAY, DEFAULT_HOST_DEAD_NS)),
    KEY("distrust", TIME(0, DAY, DEFAULT_DISTRUST_NS)),
    KEY("placement", CONFIG_CHOICE, .words = "random|weighted", .preset = true, .text = "random"),
    KEY("grace", TIME(NS_PER_MS, DAY, DEFAULT_GRACE_NS)),
    KEY("request_retry", TIME(NS_PER_MS, DAY, DEFAULT_CMD_REQUEST_RETRY_NS)),
    KEY("request_retry_max", TIME(NS_PER_MS, DAY, DEFAULT_CMD_REQUEST_RETRY_MAX_NS)),
    KEY("request_deadline", TIME(NS_PER_MS, DAY, DEFAULT_CMD_REQUEST_DEADLINE_NS)),
    KEY("hosts_max", COUNT(1, 1 << 20, DEFAULT_CMD_HOSTS_MAX)),
    KEY("client_bytes", SIZE(0, 1ull << 60, 0)),
    KEY("client_regions", COUNT(0, 1 << 28, 0)),
    KEY("clients_max", COUNT(1, 1 << 20, DEFAULT_CMD_CLIENTS_MAX)),
    KEY("regions_max", COUNT(1, 1 << 28, DEFAULT_CMD_REGIONS_MAX)),
    KEY("opens_max", COUNT(1, 1 << 20, DEFAULT_CMD_OPENS_MAX)),
    KEY("sessions_max", COUNT(1, 1 << 22, DEFAULT_CMD_SESSIONS_MAX)),
    KEY("receive_buffer", SIZE(64 * KIB, GIB, DEFAULT_CMD_RECEIVE_BYTES)),
    KEY("metrics", ADDRESS(DEFAULT_CMD_METRICS_PORT)),
    KEY("metrics_token_file", FILE_NAME),
#undef KEY
};
/* clang-format on */

const size_t conf_keys_count = ARRAY_SIZE(conf_keys);
_Static_assert(ARRAY_SIZE(conf_keys) <= CONF_KEYS_MAX, "ConfReading has no room for all");

/* SPDX-License-Identifier: MIT */
/* Which keys of a configuration contradict each other. Each key alone has been checked before.
 *
 * A rule about keys of one group takes the default of a key that is not set: its reader uses that.
 * A rule across groups needs both keys to be set, for the other program may have another file, on
 * another host. With one of them it is a doubt. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/lines.h"
#include "base/printable.h"
#include "proto/conf/conf.h"
#include "proto/conf/defaults.h"

typedef struct KeyName {
    const char *group, *name;
} KeyName;

enum { PLACE_MAX = LINES_NAME_MAX + 16 }; /* "FILE:LINE" */

enum Relation { AT_MOST, LESS_THAN, AT_MOST_HALF };

/* @left stands in @relation to @right, or else @otherwise. */
typedef struct OrderRule {
    KeyName left, right;
    enum Relation relation;
    const char *otherwise;
    bool both; /* only where both are set; otherwise one of them is enough */
} OrderRule;

#define LOST_BEAT "one keep-alive that is lost counts as silence"
#define LOST_REQUEST "a request that is lost is never repeated"
static const OrderRule orders[] = {
    {{"client", "request_retry"}, {"client", "request_deadline"}, LESS_THAN, LOST_REQUEST, false},
    {{"cmd", "request_retry"}, {"cmd", "request_deadline"}, LESS_THAN, LOST_REQUEST, false},
    {{"client", "request_retry"},
     {"client", "request_retry_max"},
     AT_MOST,
     "the time between requests starts beyond its limit",
     false},
    {{"cmd", "request_retry"},
     {"cmd", "request_retry_max"},
     AT_MOST,
     "the time between requests starts beyond its limit",
     false},
    {{"imd", "beat"}, {"imd", "manager_dead"}, AT_MOST_HALF, LOST_BEAT, false},
    {{"manage", "readahead"},
     {"manage", "cache_size"},
     AT_MOST,
     "the cache has no room for what is read ahead",
     false},
    {{"imd", "leave_deadline"},
     {"rmd", "leave_deadline"},
     AT_MOST,
     "rmd kills an imd that still says good-bye to its clients",
     true},
    {{"client", "alive"}, {"cmd", "client_dead"}, AT_MOST_HALF, LOST_BEAT, true},
    {{"imd", "beat"}, {"cmd", "host_dead"}, AT_MOST_HALF, LOST_BEAT, true},
    {{"rmd", "beat"}, {"cmd", "host_dead"}, AT_MOST_HALF, LOST_BEAT, true},
    {{"cmd", "request_deadline"},
     {"client", "request_deadline"},
     LESS_THAN,
     "a program gives the manager up before it has asked a second host",
     true},
    {{"client", "alive"},
     {"cmd", "grace"},
     LESS_THAN,
     "a manager that starts again frees regions before their programs claim them",
     true},
    {{"imd", "beat"},
     {"cmd", "grace"},
     LESS_THAN,
     "a manager that starts again frees regions before their hosts report them",
     true},
    {{"cmd", "hosts_max"}, {"cmd", "sessions_max"}, AT_MOST, "hosts push each other out", true},
    {{"cmd", "clients_max"},
     {"cmd", "sessions_max"},
     AT_MOST,
     "programs push each other out",
     true},
};

static const ConfSeen *seen(const ConfReading *r, const char *group, const char *name)
{
    const ConfKey *k = conf_find(group, name);
    return &r->seen[k - conf_keys];
}

static bool is_set(const ConfSeen *s)
{
    return s->line || s->variable;
}

/* Which of them counts more, if any is set. */
static const ConfSeen *later(const ConfSeen *a, const ConfSeen *b)
{
    if (a->variable || b->variable)
        return a->variable ? a : b;
    if (!a->line || !b->line)
        return a->line ? a : b;
    if (a->file != b->file)
        return a->file > b->file ? a : b;
    return a->line > b->line ? a : b;
}

/* "FILE:LINE", or the variable. */
static const char *place(const ConfReading *r, const ConfSeen *at, char buf[PLACE_MAX])
{
    char name[LINES_NAME_MAX];
    if (at->variable)
        return at->variable;
    (void)snprintf(buf, PLACE_MAX, "%s:%u", printable_path(r->names[at->file], name, sizeof name),
                   at->line);
    return buf;
}

/* "FILE:LINE: " at the front of @error; its length. */
static size_t name_place(const ConfReading *r, const ConfSeen *at, char *error, size_t cap)
{
    char text[PLACE_MAX];
    const int n = snprintf(error, cap, "%s: ", place(r, at, text));
    return n < 0 ? 0 : (size_t)n < cap ? (size_t)n : cap - 1;
}

size_t conf_reading_place(const ConfReading *r, const char *group, const char *name, char *ret,
                          size_t cap)
{
    const ConfSeen *at = seen(r, group, name);
    return at->line ? name_place(r, at, ret, cap) : 0;
}

/* ---- orders ---------------------------------------------------------------------------------- */

static uint64_t count_of(const ConfKey *k, const ConfSeen *s)
{
    return is_set(s) ? s->value.count : k->count;
}

/* "[imd] beat = 20s", or with "(its default)". @where: its place behind it; NULL: none. */
static void show(const ConfKey *k, const ConfSeen *s, const char *where, char *buf, size_t cap)
{
    char value[32];
    const uint64_t v = count_of(k, s);
    if (k->kind == CONFIG_TIME)
        (void)format_time(v, value, sizeof value);
    else if (k->kind == CONFIG_SIZE)
        (void)format_size(v, value, sizeof value);
    else
        (void)snprintf(value, sizeof value, "%" PRIu64, v);
    if (!is_set(s))
        where = "its default";
    (void)snprintf(buf, cap, "[%s] %s = %s%s%s%s", k->group, k->name, value, where ? " (" : "",
                   where ? where : "", where ? ")" : "");
}

static bool holds(enum Relation relation, uint64_t left, uint64_t right)
{
    return relation == LESS_THAN ? left < right
           : relation == AT_MOST ? left <= right
                                 : left <= right / 2;
}

/* @presumed: a rule that wants both keys to be set, with the default of the one that is not. */
static int check_order(const ConfReading *r, const OrderRule *o, bool presumed, char *error,
                       size_t cap)
{
    static const char *const relations[] = {
        [AT_MOST] = "at most", [LESS_THAN] = "less than", [AT_MOST_HALF] = "at most half of"};
    char shown[2][PLACE_MAX + 96], where[PLACE_MAX];
    const ConfKey *lk = conf_find(o->left.group, o->left.name);
    const ConfKey *rk = conf_find(o->right.group, o->right.name);
    const ConfSeen *left = &r->seen[lk - conf_keys], *right = &r->seen[rk - conf_keys];
    const ConfSeen *last = later(left, right), *other = last == left ? right : left;
    const bool both = is_set(left) && is_set(right);
    if (!both && (o->both != presumed || !is_set(last) || !(is_set(left) || lk->preset)))
        return 0;
    if (holds(o->relation, count_of(lk, left), count_of(rk, right)))
        return 0;
    const char *of_other = last->variable && is_set(other) ? place(r, other, where) : NULL;
    show(lk, left, other == left ? of_other : NULL, shown[0], sizeof shown[0]);
    show(rk, right, other == right ? of_other : NULL, shown[1], sizeof shown[1]);
    const size_t at = name_place(r, last, error, cap);
    (void)snprintf(error + at, cap - at, "%s must be %s %s; otherwise %s", shown[0],
                   relations[o->relation], shown[1], o->otherwise);
    return -EINVAL;
}

/* ---- others ---------------------------------------------------------------------------------- */

static int contradict(const ConfReading *r, const ConfSeen *at, const char *text, char *error,
                      size_t cap)
{
    const size_t len = name_place(r, at, error, cap);
    (void)snprintf(error + len, cap - len, "%s", text);
    return -EINVAL;
}

static int check_insecure(const ConfReading *r, char *error, size_t cap)
{
    const ConfSeen *key = seen(r, "dodo", "key"), *insecure = seen(r, "dodo", "insecure");
    if (!key->line || !insecure->line || !insecure->value.flag)
        return 0;
    return contradict(r, later(key, insecure),
                      "[dodo] key and insecure = yes contradict each other: remove one of them",
                      error, cap);
}

static int check_families(const ConfReading *r, char *error, size_t cap)
{
    static const char *const groups[] = {"imd", "rmd"};
    const ConfSeen *manager = seen(r, "dodo", "manager");
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        const ConfSeen *listen = seen(r, groups[i], "listen");
        const uint8_t kind = listen->value.listen.addr.kind;
        if (!manager->line || !listen->line || manager->value.addr.kind == ADDR_NONE ||
            kind == ADDR_NONE || kind == manager->value.addr.kind)
            continue; /* names and interfaces may have either */
        const size_t at = name_place(r, later(manager, listen), error, cap);
        (void)snprintf(error + at, cap - at,
                       "[dodo] manager and [%s] listen must both be IPv4 or both IPv6 addresses",
                       groups[i]);
        return -EINVAL;
    }
    return 0;
}

static int check_same_address(const ConfReading *r, char *error, size_t cap)
{
    static const char *const groups[] = {"imd", "rmd"};
    const ConfSeen *manager = seen(r, "cmd", "listen");
    for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
        const ConfSeen *listen = seen(r, groups[i], "listen");
        if (!manager->line || !listen->line || manager->value.listen.addr.port == 0 ||
            !listen_equal(&manager->value.listen, &listen->value.listen))
            continue;
        const size_t at = name_place(r, later(manager, listen), error, cap);
        (void)snprintf(error + at, cap - at,
                       "[cmd] listen and [%s] listen are the same address and port: give one of "
                       "them another port",
                       groups[i]);
        return -EINVAL;
    }
    return 0;
}

static int check_data_ports(const ConfReading *r, char *error, size_t cap)
{
    const ConfSeen *first = seen(r, "imd", "data_port"), *threads = seen(r, "imd", "threads");
    const ConfSeen *listen = seen(r, "imd", "listen");
    const uint64_t start = first->line ? first->value.count : DEFAULT_DATA_PORT;
    const uint64_t end = start + (threads->line ? threads->value.count : 1);
    if (start == 0)
        return 0;
    if (end > 65536)
        return contradict(r, later(first, threads),
                          "[imd] data_port: the ports of all threads must be below 65536", error,
                          cap);
    if (listen->line && listen->value.listen.addr.port >= start &&
        listen->value.listen.addr.port < end)
        return contradict(r, later(first, listen),
                          "[imd] data_port: the port of [imd] listen is among those of the data "
                          "threads: choose another",
                          error, cap);
    return 0;
}

static int check_rmd(const ConfReading *r, char *error, size_t cap)
{
    const ConfSeen *listen = seen(r, "rmd", "listen"), *port = seen(r, "rmd", "imd_port");
    const ConfSeen *percent = seen(r, "rmd", "cpu_percent"), *cgroup = seen(r, "rmd", "cgroup");
    const ConfSeen *populate = seen(r, "imd", "populate");
    const uint64_t imd_port = port->line ? port->value.count : conf_find("rmd", "imd_port")->count;
    if (listen->line && imd_port && listen->value.listen.addr.port == imd_port)
        return contradict(r, later(listen, port),
                          "[rmd] imd_port is the port of [rmd] listen too: give one of them "
                          "another",
                          error, cap);
    if (percent->line && !cgroup->line)
        return contradict(r, percent,
                          "[rmd] cpu_percent needs a control group: set cgroup too, or remove it",
                          error, cap);
    if (r->reader == CONF_RMD && populate->line && populate->value.flag)
        return contradict(r, populate,
                          "[imd] populate is for hosts without an owner: remove it where rmd "
                          "lends the memory",
                          error, cap);
    return 0;
}

int conf_rules(const ConfReading *r, char *error, size_t cap)
{
    static int (*const others[])(const ConfReading *, char *, size_t) = {
        check_insecure, check_families, check_same_address, check_data_ports, check_rmd};
    int res = 0;
    for (size_t i = 0; res == 0 && i < ARRAY_SIZE(orders); i++)
        res = check_order(r, &orders[i], false, error, cap);
    for (size_t i = 0; res == 0 && i < ARRAY_SIZE(others); i++)
        res = others[i](r, error, cap);
    return res;
}

/* What imd and programs refuse when they start: any of these may come from a file or a variable. */
static int check_raw(const ConfReading *r, char *error, size_t cap)
{
    const ConfSeen *transport = seen(r, "dodo", "transport");
    const ConfSeen *insecure = seen(r, "dodo", "insecure");
    if (!is_set(transport) || transport->value.choice == 0) /* udp */
        return 0;
    if (!is_set(seen(r, "dodo", "interface")))
        return contradict(r, transport,
                          "[dodo] transport = raw needs an interface: set interface too", error,
                          cap);
    if (!is_set(seen(r, "dodo", "key")) && !(is_set(insecure) && insecure->value.flag))
        return contradict(r, transport,
                          "[dodo] transport = raw needs a cluster key, as no firewall sees raw "
                          "frames: set key too, or insecure = yes",
                          error, cap);
    return 0;
}

/* The other rules are of daemons, which have variables of their own, and of the key, which counts
 * whatever insecure says. */
int conf_variable_rules(const ConfReading *r, char *error, size_t cap)
{
    int res = 0;
    for (size_t i = 0; res == 0 && i < ARRAY_SIZE(orders); i++)
        if (seen(r, orders[i].left.group, orders[i].left.name)->variable ||
            seen(r, orders[i].right.group, orders[i].right.name)->variable)
            res = check_order(r, &orders[i], false, error, cap);
    return res != 0 ? res : check_raw(r, error, cap);
}

bool conf_doubt(const ConfReading *r, char *text, size_t cap)
{
    int res = 0;
    for (size_t i = 0; res == 0 && i < ARRAY_SIZE(orders); i++)
        res = check_order(r, &orders[i], true, text, cap);
    return res != 0;
}

/* SPDX-License-Identifier: MIT */
/* The simulation's command line: many seeds on several workers, one seed again, each rule broken
 * in turn. */
#include "tests/sim/world.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    JOBS_MAX = 64,
    FAILURES_SHOWN = 10,
    SEED_SECONDS_MAX = 120,
    DEMANDED = 1000,
    PROGRESS_EVERY = 1000,
    /* Seeds to notice a broken rule in; each is noticed within the first hundred or so. */
    RULE_SEEDS = 2000,
    OWN_SEEDS = 40,     /* ... a rule that has a scenario of its own, */
    MIRROR_SEEDS = 400, /* ... of hosts that are lost now and then */
};

typedef struct Options {
    uint64_t start, count, seconds, check_every;
    unsigned jobs;
    int scenario;
    bool one, trace, coverage, each_rule, twice, random, demand;
} Options;

/* What workers share with their parent. */
typedef struct Shared {
    _Atomic uint64_t next, done, failed, events, virtual_ms;
    uint64_t seed_of[JOBS_MAX]; /* running now, or the one it died of */
    uint64_t cover[JOBS_MAX][COVER_MAX];
    uint64_t scenario_seeds[SCENARIO_COUNT];
} Shared;

static double seconds_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void *shared_memory(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

/* ---- many seeds ----------------------------------------------------------------------------- */

static void print_failure(uint64_t seed, const Options *o, const SimResult *r)
{
    char more[64] = "";
    if (o->scenario >= 0)
        (void)snprintf(more, sizeof more, " --scenario %s", scenario_name((unsigned)o->scenario));
    (void)fprintf(stdout,
                  "FAILED seed %" PRIu64 " (%s) at %" PRIu64 ".%06" PRIu64
                  " s of virtual time: %s\n  again: sim --seed %" PRIu64 " --trace%s\n",
                  seed, scenario_name(r->scenario), (uint64_t)(r->violation_ns / NS_PER_S),
                  (uint64_t)(r->violation_ns % NS_PER_S / NS_PER_US), r->violation, seed, more);
    (void)fflush(stdout);
}

static void run_seed(Shared *s, unsigned worker, const Options *o, uint64_t seed)
{
    SimResult r, again;
    s->seed_of[worker] = seed;
    (void)alarm(SEED_SECONDS_MAX);
    world_run(seed, o->scenario, (unsigned)o->check_every, NULL, s->cover[worker], &r);
    if (!r.failed && o->twice) {
        uint64_t cover[COVER_MAX] = {0};
        world_run(seed, o->scenario, (unsigned)o->check_every, NULL, cover, &again);
        if (again.digest != r.digest || again.events != r.events) {
            r.failed = true;
            r.violation_ns = r.virtual_ns;
            (void)snprintf(r.violation, sizeof r.violation,
                           "run again it went another way (digests %016" PRIx64 ", %016" PRIx64 ")",
                           r.digest, again.digest);
        }
    }
    (void)alarm(0);
    if (r.failed && atomic_fetch_add(&s->failed, 1) < FAILURES_SHOWN)
        print_failure(seed, o, &r);
    uint64_t done = atomic_fetch_add(&s->done, 1) + 1;
    if (done % PROGRESS_EVERY == 0 && done < o->count) {
        (void)printf("%" PRIu64 " of %" PRIu64 " seeds\n", done, o->count);
        (void)fflush(stdout);
    }
    atomic_fetch_add(&s->events, r.events);
    atomic_fetch_add(&s->virtual_ms, r.virtual_ns / NS_PER_MS);
}

static void worker_run(Shared *s, unsigned worker, const Options *o, double until)
{
    for (;;) {
        uint64_t i = atomic_fetch_add(&s->next, 1);
        if (i >= o->count || (o->seconds && seconds_now() > until))
            break;
        run_seed(s, worker, o, o->start + i);
        if (atomic_load(&s->failed) >= FAILURES_SHOWN)
            break;
    }
    (void)fflush(stdout);
    _exit(0);
}

static uint64_t cover_sum(const Shared *s, unsigned what)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < JOBS_MAX; i++)
        sum += s->cover[i][what];
    return sum;
}

/* Returns how many of the demanded were not exercised often enough. */
static unsigned print_coverage(const Shared *s, const Options *o)
{
    static const struct {
        const char *text;
        bool demanded;
    } covers[] = {
#define X(name, wanted, words) {words, wanted},
        SIM_COVERS(X)
#undef X
    };
    unsigned rare = 0;
    for (unsigned i = 0; i < COVER_MAX; i++) {
        uint64_t n = cover_sum(s, i);
        bool few = covers[i].demanded && n < DEMANDED;
        rare += few;
        if (o->coverage)
            (void)printf("  %12" PRIu64 "  %s%s\n", n, covers[i].text,
                         few && o->demand ? "  <- too few" : "");
    }
    return o->demand ? rare : 0;
}

/* True when a worker died of a signal: its seed crashed a core, or never ended. */
static bool reap(Shared *s, const Options *o, pid_t pid, int status, const pid_t *pids)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return false;
    for (unsigned i = 0; i < o->jobs; i++)
        if (pids[i] == pid)
            (void)printf("FAILED seed %" PRIu64 ": the simulation died (%s)\n"
                         "  again: sim --seed %" PRIu64 " --trace\n",
                         s->seed_of[i],
                         WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "exit code",
                         s->seed_of[i]);
    atomic_fetch_add(&s->failed, 1);
    return true;
}

static int run_many(const Options *o)
{
    Shared *s = shared_memory(sizeof *s);
    pid_t pids[JOBS_MAX] = {0};
    double begin = seconds_now(), until = begin + (double)o->seconds;
    (void)printf("seeds %" PRIu64 "..%" PRIu64 ", %u jobs\n", o->start, o->start + o->count - 1,
                 o->jobs);
    (void)fflush(stdout);
    for (unsigned i = 0; i < o->jobs; i++) {
        pids[i] = fork();
        if (pids[i] < 0)
            abort();
        if (pids[i] == 0)
            worker_run(s, i, o, until);
    }
    int status;
    for (pid_t pid; (pid = wait(&status)) > 0;)
        (void)reap(s, o, pid, status, pids);
    double took = seconds_now() - begin;
    uint64_t done = atomic_load(&s->done), failed = atomic_load(&s->failed);
    unsigned rare = print_coverage(s, o);
    (void)printf("%" PRIu64 " seeds, %" PRIu64 " failed, in %.1f s: %.1f seeds/s, %.0f calls/s and "
                 "%.0f checked operations/s, %.1f million events, %.1f virtual hours\n",
                 done, failed, took, (double)done / took, (double)cover_sum(s, COVER_CALLS) / took,
                 (double)cover_sum(s, COVER_CHECKS) / took, (double)atomic_load(&s->events) / 1e6,
                 (double)atomic_load(&s->virtual_ms) / 3600e3);
    if (rare)
        (void)printf("FAILED: %u of the demanded were exercised less than %d times\n", rare,
                     DEMANDED);
    (void)munmap(s, sizeof *s);
    return failed || rare ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- one seed ------------------------------------------------------------------------------- */

static int run_one(const Options *o)
{
    SimResult r;
    uint64_t cover[COVER_MAX] = {0};
    world_run(o->start, o->scenario, (unsigned)o->check_every, o->trace ? stdout : NULL, cover, &r);
    if (r.failed)
        print_failure(o->start, o, &r);
    (void)printf("seed %" PRIu64 ": %s, digest %016" PRIx64 ", %" PRIu64 " events, %" PRIu64
                 " calls, %.1f s of virtual time\n",
                 o->start, r.failed ? "FAILED" : "clean", r.digest, r.events, cover[COVER_CALLS],
                 (double)r.virtual_ns / 1e9);
    return r.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- each rule ------------------------------------------------------------------------------ */

static const char *const rule_names[] = {
#define X(name, text) #name,
    DODO_RULES(X)
#undef X
};

/* Where a rule's absence shows soonest; any other: in the general mix. */
static const enum Scenario rule_scenarios[DODO_RULE_MAX] = {
    [DODO_RULE_LOCK] = SCENARIO_CONTENTION,
    [DODO_RULE_FILL_COUNTER] = SCENARIO_CONTENTION,
    [DODO_RULE_WRITES_SERIALIZED] = SCENARIO_CONTENTION,
    [DODO_RULE_READ_BESIDE_WRITE] = SCENARIO_CONTENTION,
    [DODO_RULE_WRITE_ONCE] = SCENARIO_CONTENTION,
    [DODO_RULE_WRITE_UNFILLS] = SCENARIO_CONTENTION,
    [DODO_RULE_PARTIAL_WRITE] = SCENARIO_CONTENTION,
    [DODO_RULE_ASK_ECHO] = SCENARIO_CONTENTION,
    [DODO_RULE_OFFER_OVERTAKEN] = SCENARIO_OFFERS,
    [DODO_RULE_FILL_COMPLETE] = SCENARIO_CONTENTION,
    [DODO_RULE_END_OF_FILE] = SCENARIO_END,
    [DODO_RULE_FILE_FAILURE] = SCENARIO_FILE,
    [DODO_RULE_POISON] = SCENARIO_FILE,
    [DODO_RULE_STAMP] = SCENARIO_RETAIN,
    [DODO_RULE_COARSE_STAMP] = SCENARIO_SECONDS,
    [DODO_RULE_NO_WRITER] = SCENARIO_WRITERS,
    [DODO_RULE_WITHDRAW] = SCENARIO_RETAIN,
    [DODO_RULE_RELEASE_UNWRITTEN] = SCENARIO_RETAIN,
    [DODO_RULE_GRACE] = SCENARIO_AMNESIA,
    [DODO_RULE_SETTLED] = SCENARIO_CALM,
    [DODO_RULE_LIST_SETTLED] = SCENARIO_STRIPES,
    [DODO_RULE_OWN_SILENCE] = SCENARIO_PAUSES,
    [DODO_RULE_HOST_DEATH] = SCENARIO_HOSTS,
    [DODO_RULE_SILENT_CREDIT] = SCENARIO_SILENT,
    [DODO_RULE_SLOW_HOST] = SCENARIO_TRICKLE,
    [DODO_RULE_FENCE] = SCENARIO_MANAGERS,
    [DODO_RULE_EXTENT_UNFILLED] = SCENARIO_PRESSURE,
    [DODO_RULE_EXTENT_FORGOTTEN] = SCENARIO_PRESSURE,
    [DODO_RULE_EXTENT_GOING] = SCENARIO_PRESSURE,
    [DODO_RULE_EXTENT_ROOM] = SCENARIO_PRESSURE,
    [DODO_RULE_MIRROR_APART] = SCENARIO_MIRRORS,
    [DODO_RULE_MIRROR_BOTH] = SCENARIO_COPIES,
    [DODO_RULE_MIRROR_TURN] = SCENARIO_MIRRORS,
    [DODO_RULE_MIRROR_LOOK] = SCENARIO_MIRRORS,
    [DODO_RULE_MIRROR_HEALS] = SCENARIO_MIRRORS,
    [DODO_RULE_HEAL_COUNTER] = SCENARIO_COPIES,
    [DODO_RULE_HEAL_CHECKED] = SCENARIO_MIRRORS,
    [DODO_RULE_GIVEN_UP] = SCENARIO_COPIES,
    [DODO_RULE_MOVE_WHOLE] = SCENARIO_DRAINS,
    [DODO_RULE_SAVE_ENDS] = SCENARIO_SAVES,
    [DODO_RULE_HEAL_FILLED] = SCENARIO_CARRIES,
};

/* Of rules whose loss few seeds show: where the search begins, a little before the first that shows
 * it today. What lies before that costs minutes of a run's time and says nothing. */
static const uint64_t rule_begins[DODO_RULE_MAX] = {
    [DODO_RULE_SETTLED] = 65,
    [DODO_RULE_STAMP] = 138,
    [DODO_RULE_RELEASE_UNWRITTEN] = 138,
    [DODO_RULE_GIVEN_UP] = 240,
    [DODO_RULE_SAVE_ENDS] = 120,
    [DODO_RULE_WITHDRAW] = 108,
    [DODO_RULE_MIRROR_LOOK] = 75,
    [DODO_RULE_LIST_SETTLED] = 29701768112391,
};

typedef struct RuleResult {
    bool found;
    int scenario_now;
    uint64_t seeds, seed_now;
    SimResult result;
} RuleResult;

/* As often as each seed's invariants are looked at, so that what the tests run would notice it.
 * What MOVE_WHOLE breaks is judged after single events alone. */
static unsigned rule_check_every(enum DodoRule rule, const Options *o)
{
    return rule == DODO_RULE_MOVE_WHOLE ? 1 : (unsigned)o->check_every;
}

static void break_rule(enum DodoRule rule, const Options *o, RuleResult *ret)
{
    const unsigned check_every = rule_check_every(rule, o);
    uint64_t cover[COVER_MAX] = {0};
    double until = seconds_now() + (double)o->seconds;
    const uint64_t start = max_u64(o->start, rule_begins[rule]);
    uint64_t count = o->count;
    if (rule_scenarios[rule] >= SCENARIO_CHOSEN)
        count = min_u64(count, rule_scenarios[rule] >= SCENARIO_MIRRORS ? MIRROR_SEEDS : OWN_SEEDS);
    dodo_broken_rules = (uint64_t)1 << rule;
    for (uint64_t i = 0; i < count && !ret->found; i++) {
        if (o->seconds && seconds_now() > until)
            break;
        /* one seed in four in another scenario */
        int scenario = i % 4 == 3 ? -1 : o->scenario >= 0 ? o->scenario : (int)rule_scenarios[rule];
        ret->seed_now = start + i;
        ret->scenario_now = scenario;
        ret->seeds++;
        (void)alarm(SEED_SECONDS_MAX);
        world_run(start + i, scenario, check_every, NULL, cover, &ret->result);
        if (!ret->result.failed)
            continue;
        /* It is the rule's absence that was noticed only if the seed is clean with it. */
        SimResult whole;
        dodo_broken_rules = 0;
        world_run(start + i, scenario, check_every, NULL, cover, &whole);
        dodo_broken_rules = (uint64_t)1 << rule;
        ret->found = !whole.failed;
    }
    _exit(0);
}

/* With all rules: a seed of which the simulation itself dies says nothing of a rule. */
static bool seed_is_clean(uint64_t seed, int scenario)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        uint64_t cover[COVER_MAX] = {0};
        SimResult whole;
        (void)alarm(SEED_SECONDS_MAX);
        world_run(seed, scenario, 1, NULL, cover, &whole);
        _exit(whole.failed);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool rule_print(enum DodoRule rule, const RuleResult *r, int status)
{
    const char *died = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : NULL;
    if (died && !seed_is_clean(r->seed_now, r->scenario_now)) {
        (void)printf("%-18s not judged: seed %" PRIu64 " is not clean with it, either (%s)\n",
                     rule_names[rule], r->seed_now, died);
        return false;
    }
    if (r->found)
        (void)printf("%-18s found by seed %" PRIu64 " (%s), the %" PRIu64 ". tried: %s\n",
                     rule_names[rule], r->seed_now, scenario_name(r->result.scenario), r->seeds,
                     r->result.violation);
    else if (died)
        (void)printf("%-18s found by seed %" PRIu64 ", the %" PRIu64
                     ". tried: the core died (%s)\n",
                     rule_names[rule], r->seed_now, r->seeds, died);
    else
        (void)printf("%-18s NOT FOUND in %" PRIu64 " seeds\n", rule_names[rule], r->seeds);
    (void)fflush(stdout);
    return r->found || died;
}

static int run_each_rule(const Options *o)
{
    RuleResult *results = shared_memory(DODO_RULE_MAX * sizeof *results);
    pid_t pids[DODO_RULE_MAX] = {0};
    unsigned running = 0, missed = 0, next = 0;
    int status;
    (void)fflush(stdout);
    while (next < DODO_RULE_MAX || running) {
        if (next < DODO_RULE_MAX && running < o->jobs) {
            pids[next] = fork();
            if (pids[next] < 0)
                abort();
            if (pids[next] == 0)
                break_rule((enum DodoRule)next, o, &results[next]);
            next++;
            running++;
            continue;
        }
        pid_t pid = wait(&status);
        running--;
        for (unsigned i = 0; i < next; i++)
            if (pids[i] == pid && !rule_print((enum DodoRule)i, &results[i], status))
                missed++;
    }
    (void)printf("%u rules broken in turn, %u not found\n", (unsigned)DODO_RULE_MAX, missed);
    (void)munmap(results, DODO_RULE_MAX * sizeof *results);
    return missed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* ---- command line --------------------------------------------------------------------------- */

static const char usage[] =
    "usage: sim [OPTIONS]\n"
    "  --seeds A..B       run these seeds (default 1..200)\n"
    "  --start S          first seed\n"
    "  --count N          number of seeds\n"
    "  --seed N           run one seed, alone\n"
    "  --trace            tell its story\n"
    "  --random           a first seed from the operating system (printed)\n"
    "  --scenario NAME    all seeds in this scenario\n"
    "  --break RULE       with this rule switched off\n"
    "  --each-rule        switch off each rule in turn; each must be noticed, by one of N seeds\n"
    "                     (default 2000)\n"
    "  --twice            run each seed twice: both must go the same way\n"
    "  --jobs N           workers (default: processors)\n"
    "  --seconds S        start no new seed after so long; --each-rule: for one rule\n"
    "  --check-every N    look at all invariants after every N events (default 16; --seed: 1)\n"
    "  --coverage         print what was exercised\n"
    "  --demand           and fail where something was exercised less than 1000 times\n"
    "environment: DODO_SIM_SCALE=PERCENT of the seeds (for slow builds)\n";

static int fail_usage(void)
{
    (void)fputs(usage, stderr);
    return 2;
}

static int find_name(const char *name, const char *const *names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return (int)i;
    return -1;
}

static bool take_seeds(Options *o, const char *text)
{
    uint64_t last;
    if (sscanf(text, "%" SCNu64 "..%" SCNu64, &o->start, &last) != 2 || last < o->start)
        return false;
    o->count = last - o->start + 1;
    return true;
}

static bool take_option(Options *o, int c, const char *value)
{
    const char *scenarios[SCENARIO_COUNT];
    int rule;
    switch (c) {
    case 'S':
        return take_seeds(o, value);
    case 's':
        o->start = strtoull(value, NULL, 10);
        return true;
    case 'n':
        o->count = strtoull(value, NULL, 10);
        return o->count > 0;
    case 'o':
        o->start = strtoull(value, NULL, 10);
        return o->one = true;
    case 't':
        return o->trace = true;
    case 'r':
        return o->random = true;
    case 'c':
        for (unsigned i = 0; i < SCENARIO_COUNT; i++)
            scenarios[i] = scenario_name(i);
        o->scenario = find_name(value, scenarios, SCENARIO_COUNT);
        return o->scenario >= 0;
    case 'b':
        rule = find_name(value, rule_names, DODO_RULE_MAX);
        dodo_broken_rules |= rule < 0 ? 0 : (uint64_t)1 << rule;
        return rule >= 0;
    case 'e':
        return o->each_rule = true;
    case '2':
        return o->twice = true;
    case 'j':
        o->jobs = (unsigned)strtoul(value, NULL, 10);
        return o->jobs >= 1 && o->jobs <= JOBS_MAX;
    case 'T':
        o->seconds = strtoull(value, NULL, 10);
        return true;
    case 'k':
        o->check_every = strtoull(value, NULL, 10);
        return o->check_every > 0;
    case 'C':
        return o->coverage = true;
    case 'd':
        return o->demand = o->coverage = true;
    default:
        return false;
    }
}

static const struct option long_options[] = {{"seeds", required_argument, NULL, 'S'},
                                             {"start", required_argument, NULL, 's'},
                                             {"count", required_argument, NULL, 'n'},
                                             {"seed", required_argument, NULL, 'o'},
                                             {"trace", no_argument, NULL, 't'},
                                             {"random", no_argument, NULL, 'r'},
                                             {"scenario", required_argument, NULL, 'c'},
                                             {"break", required_argument, NULL, 'b'},
                                             {"each-rule", no_argument, NULL, 'e'},
                                             {"twice", no_argument, NULL, '2'},
                                             {"jobs", required_argument, NULL, 'j'},
                                             {"seconds", required_argument, NULL, 'T'},
                                             {"coverage", no_argument, NULL, 'C'},
                                             {"check-every", required_argument, NULL, 'k'},
                                             {"demand", no_argument, NULL, 'd'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

int main(int argc, char **argv)
{
    Options o = {.start = 1, .count = 0, .scenario = -1};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    o.jobs = cpus < 1 ? 1 : cpus > JOBS_MAX ? JOBS_MAX : (unsigned)cpus;
    for (int c; (c = getopt_long(argc, argv, "h", long_options, NULL)) != -1;) {
        if (c == 'h') {
            (void)fputs(usage, stdout);
            return 0;
        }
        if (!take_option(&o, c, optarg))
            return fail_usage();
    }
    if (optind != argc)
        return fail_usage();
    if (o.random) {
        if (getentropy(&o.start, sizeof o.start) != 0)
            return fail_usage();
        o.start >>= 16;
    }
    if (!o.count)
        o.count = o.each_rule ? RULE_SEEDS : 200;
    const char *scale = getenv("DODO_SIM_SCALE");
    if (scale && !o.each_rule && !o.one)
        o.count = o.count * strtoull(scale, NULL, 10) / 100 + 1;
    if (!o.check_every)
        o.check_every = o.one ? 1 : 16;
    if (o.one)
        return run_one(&o);
    return o.each_rule ? run_each_rule(&o) : run_many(&o);
}

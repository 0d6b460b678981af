/* SPDX-License-Identifier: MIT */
/* Runs a fuzz target without libFuzzer: over every file of the corpus directories given, then over
 * a number of mutations of them that depend on nothing but the seed. So a build without clang, and
 * every CI run, still tries the decoders on bytes that nobody wrote.
 *
 *   replay-NAME [--mutations N] [--seed S] [--only I [--save FILE]] DIR...
 *
 * When a mutation brings the target down, its number is printed; --only runs just that one, --save
 * writes its bytes to a file (which then belongs into the corpus). */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/random.h"
#include "tests/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 17, STEPS_MAX = 8 };

typedef struct Input {
    char *path;
    uint8_t *bytes;
    size_t len;
} Input;

typedef struct Corpus {
    Input *inputs;
    size_t count;
} Corpus;

typedef struct Options {
    uint64_t mutations, seed, only;
    bool has_only;
    const char *save;
} Options;

/* What is being run, for the moment at which it crashes. */
static char running[512];

static void say_running(void)
{
    ssize_t n = write(STDERR_FILENO, running, strlen(running));
    (void)n;
}

static void on_signal(int number)
{
    say_running();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* The sanitizers end a process without a signal, but call this first. */
extern void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void watch_for_crashes(void)
{
    static const int signals[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(say_running);
    for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
        if (i == 0 || !__sanitizer_set_death_callback)
            (void)signal(signals[i], on_signal);
}

/* ---- corpus -------------------------------------------------------------------------------- */

static void die(const char *what, const char *path)
{
    (void)fprintf(stderr, "%s: %s: %s\n", path, what, strerror(errno));
    exit(1);
}

static void *allocate(void *p, size_t size)
{
    p = realloc(p, size ? size : 1);
    if (!p)
        die("no memory", "replay");
    return p;
}

static Input input_read(const char *path)
{
    Input in = {.path = strdup(path), .bytes = allocate(NULL, INPUT_MAX)};
    FILE *f = fopen(path, "rbe");
    if (!f || !in.path)
        die("cannot be read", path);
    in.len = fread(in.bytes, 1, INPUT_MAX, f);
    if (ferror(f) || fclose(f) != 0)
        die("cannot be read", path);
    in.bytes = allocate(in.bytes, in.len);
    return in;
}

static int is_file_name(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

/* In the order of names, so that a mutation's number means the same everywhere. */
static void corpus_add(Corpus *c, const char *dir)
{
    struct dirent **names;
    int count = scandir(dir, &names, is_file_name, alphasort);
    if (count < 0)
        die("cannot be read", dir);
    c->inputs = allocate(c->inputs, (c->count + (size_t)count) * sizeof *c->inputs);
    for (int i = 0; i < count; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]->d_name);
        c->inputs[c->count++] = input_read(path);
        free(names[i]);
    }
    free(names);
}

static void corpus_free(Corpus *c)
{
    for (size_t i = 0; i < c->count; i++) {
        free(c->inputs[i].path);
        free(c->inputs[i].bytes);
    }
    free(c->inputs);
}

/* ---- mutations ----------------------------------------------------------------------------- */

static size_t pick(Random *r, size_t n)
{
    return n ? (size_t)random_below(r, n) : 0;
}

typedef struct Buffer {
    uint8_t bytes[INPUT_MAX];
    size_t len;
} Buffer;

/* Makes room for, or takes out, @n bytes at @at. */
static void buffer_insert(Buffer *b, size_t at, const uint8_t *src, size_t n)
{
    if (n > INPUT_MAX - b->len)
        n = INPUT_MAX - b->len;
    memmove(b->bytes + at + n, b->bytes + at, b->len - at);
    memcpy(b->bytes + at, src, n);
    b->len += n;
}

static void buffer_delete(Buffer *b, size_t at, size_t n)
{
    if (n > b->len - at)
        n = b->len - at;
    memmove(b->bytes + at, b->bytes + at + n, b->len - at - n);
    b->len -= n;
}

/* A number at a limit, in 1, 2, 4 or 8 bytes. */
static void put_edge(Random *r, Buffer *b)
{
    static const uint64_t edges[] = {
        0,         1,          2,          3,          0x7f,       0x80,
        0xff,      0x100,      0x7fff,     0x8000,     0xfffe,     0xffff,
        0x10000,   0x7fffffff, 0x80000000, UINT32_MAX, UINT64_MAX, UINT64_MAX - 1,
        INT64_MAX, 57344};
    uint64_t edge = edges[pick(r, ARRAY_SIZE(edges))];
    size_t size = (size_t)1 << pick(r, 4);
    size_t at = pick(r, b->len);
    for (size_t i = 0; i < size && at + i < b->len; i++)
        b->bytes[at + i] = (uint8_t)(edge >> (8 * i));
}

/* A stretch of another input, put in or over. */
static void splice(Random *r, Buffer *b, const Corpus *c)
{
    const Input *other = &c->inputs[pick(r, c->count)];
    size_t from = pick(r, other->len);
    size_t n = pick(r, other->len - from + 1);
    size_t at = pick(r, b->len + 1);
    if (pick(r, 2))
        buffer_delete(b, at, n);
    buffer_insert(b, at, other->bytes + from, n);
}

static void mutate_once(Random *r, Buffer *b, const Corpus *c)
{
    uint8_t few[16];
    size_t at = pick(r, b->len);
    for (size_t i = 0; i < sizeof few; i++)
        few[i] = (uint8_t)random_next(r);
    switch (pick(r, 8)) {
    case 0:
    case 1:
        if (b->len)
            b->bytes[at] ^= (uint8_t)(1u << pick(r, 8));
        break;
    case 2:
        if (b->len)
            b->bytes[at] = few[0];
        break;
    case 3:
        put_edge(r, b);
        break;
    case 4:
        buffer_insert(b, pick(r, b->len + 1), few, 1 + pick(r, sizeof few));
        break;
    case 5:
        buffer_delete(b, at, 1 + pick(r, sizeof few));
        break;
    case 6:
        b->len = pick(r, b->len + 1);
        break;
    default:
        splice(r, b, c);
    }
}

/* Mutation @number: depends on it, the seed and the corpus only. */
static void mutate(const Corpus *c, uint64_t seed, uint64_t number, Buffer *ret)
{
    Random r = {mix64(seed) ^ mix64(number + 1)};
    const Input *in = &c->inputs[pick(&r, c->count)];
    memcpy(ret->bytes, in->bytes, in->len);
    ret->len = in->len;
    for (size_t steps = 1 + pick(&r, STEPS_MAX); steps > 0; steps--)
        mutate_once(&r, ret, c);
}

/* ---- running ------------------------------------------------------------------------------- */

/* In memory that ends with the input, for the sanitizer to see what is read beyond. */
static void run(const uint8_t *bytes, size_t len)
{
    uint8_t *copy = allocate(NULL, len);
    memcpy(copy, bytes, len);
    (void)LLVMFuzzerTestOneInput(copy, len);
    free(copy);
}

static void run_corpus(const Corpus *c)
{
    for (size_t i = 0; i < c->count; i++) {
        (void)snprintf(running, sizeof running, "\nreplay: this was %s\n", c->inputs[i].path);
        run(c->inputs[i].bytes, c->inputs[i].len);
    }
}

static void save(const Buffer *b, const char *path)
{
    FILE *f = fopen(path, "wbe");
    if (!f || fwrite(b->bytes, 1, b->len, f) != b->len || fclose(f) != 0)
        die("cannot be written", path);
}

static void run_mutation(const Corpus *c, const Options *o, uint64_t number)
{
    static Buffer b;
    mutate(c, o->seed, number, &b);
    (void)snprintf(
        running, sizeof running,
        "\nreplay: this was mutation %llu of seed %llu; again: --seed %llu --only %llu\n",
        (unsigned long long)number, (unsigned long long)o->seed, (unsigned long long)o->seed,
        (unsigned long long)number);
    if (o->save)
        save(&b, o->save);
    run(b.bytes, b.len);
}

static int usage(const char *name)
{
    (void)fprintf(stderr, "usage: %s [--mutations N] [--seed S] [--only I [--save FILE]] DIR...\n",
                  name);
    return 2;
}

static bool parse_number(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && errno == 0;
}

static bool parse_options(int argc, char **argv, Options *o)
{
    static const struct option options[] = {{"mutations", required_argument, NULL, 'm'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"only", required_argument, NULL, 'o'},
                                            {"save", required_argument, NULL, 'f'},
                                            {NULL, 0, NULL, 0}};
    bool good = true;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        if (c == 'm') {
            good &= parse_number(optarg, &o->mutations);
        } else if (c == 's') {
            good &= parse_number(optarg, &o->seed);
        } else if (c == 'o') {
            good &= parse_number(optarg, &o->only);
            o->has_only = true;
        } else if (c == 'f') {
            o->save = optarg;
        } else {
            good = false;
        }
    }
    return good && optind < argc && (!o->save || o->has_only);
}

int main(int argc, char **argv)
{
    Options o = {.mutations = 10000, .seed = 1};
    Corpus c = {0};

    if (!parse_options(argc, argv, &o))
        return usage(argv[0]);
    for (int i = optind; i < argc; i++)
        corpus_add(&c, argv[i]);
    if (c.count == 0) {
        (void)fprintf(stderr, "%s: the corpus is empty\n", argv[0]);
        return 1;
    }
    watch_for_crashes();
    if (o.has_only) {
        run_mutation(&c, &o, o.only);
    } else {
        run_corpus(&c);
        for (uint64_t i = 0; i < o.mutations; i++)
            run_mutation(&c, &o, i);
        printf("%zu inputs, %llu mutations\n", c.count, (unsigned long long)o.mutations);
    }
    corpus_free(&c);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* What a core is given instead of the operating system: randomness and a trace.
 * Shells give getrandom(2) and the log, the simulation gives a seeded generator and its story. */
#ifndef DODO_BASE_ENV_H
#define DODO_BASE_ENV_H

#include <stddef.h>
#include <stdint.h>

typedef struct Env {
    /* Fills @len bytes. Unpredictable in production (capabilities, tags, salts come from here). */
    void (*random)(void *ctx, void *buf, size_t len);
    /* One line of story, no newline; NULL: no trace. Borrowed until return. */
    void (*trace)(void *ctx, const char *text);
    void *ctx;
} Env;

static inline uint64_t env_random_u64(const Env *env)
{
    uint64_t v;
    env->random(env->ctx, &v, sizeof v);
    return v;
}
/* Uniform in [0, n), n > 0 (the bias of the modulo is below 2^-32 for n < 2^32). */
static inline uint64_t env_random_below(const Env *env, uint64_t n)
{
    return env_random_u64(env) % n;
}
/* A line for the trace, without a newline; nothing is formatted where nobody traces. */
void env_trace(const Env *env, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif

/* SPDX-License-Identifier: MIT */
/* Endpoints whose crypto library runs out of memory. */
#include <openssl/crypto.h>

#include "tests/lib/case.h"
#include "tests/lib/endpoint_pair.h"

static unsigned fail_after = UINT32_MAX; /* so many allocations of the crypto library succeed */
static unsigned allocations;

static bool allocation_fails(void)
{
    return allocations++ >= fail_after;
}

static void *scarce_malloc(size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return allocation_fails() ? NULL : malloc(n);
}

static void *scarce_realloc(void *p, size_t n, const char *file, int line)
{
    (void)file, (void)line;
    return allocation_fails() ? NULL : realloc(p, n);
}

static void scarce_free(void *p, const char *file, int line)
{
    (void)file, (void)line;
    free(p);
}

/* Memory runs out at every place in turn, and is there again later: no crash, nothing half-done
 * that would let a stranger in, and the session comes up after all. */
TEST(handshake__out_of_memory)
{
    unsigned failed = 0, spared = 0;
    for (unsigned n = 0; spared < 3; n++) {
        Pair p;
        pair_init(&p, 2);
        Session *s = endpoint_connect(p.a, &p.at_b, p.now_ns);
        allocations = 0;
        fail_after = n;
        Dgram hello = output(p.a, p.now_ns);
        Got got = {0};
        if (hello.len)
            got = give_b(&p, &hello);
        if (got.reply.len)
            got = give_a(&p, &got.reply);
        bool up = got.outcome == ENDPOINT_UP;
        spared += allocations <= n;
        fail_after = UINT32_MAX;
        assert_int_equal(s->up, up);
        failed += !up;
        for (unsigned i = 0; i < 5 && !s->up; i++) {
            p.now_ns = endpoint_deadline(p.a);
            hello = output(p.a, p.now_ns);
            got = give_b(&p, &hello);
            if (got.reply.len)
                (void)give_a(&p, &got.reply);
        }
        Dgram first = message(p.a, s, WIRE_PING, "first");
        got = give_b(&p, &first);
        assert_true(is_message(&got, WIRE_PING, "first"));
        pair_deinit(&p);
    }
    assert_true(failed > 5);
}

TEST(endpoint_new__out_of_memory)
{
    unsigned failed = 0;
    Pair p;
    pair_prepare(&p, 2);
    while (!p.a) {
        allocations = 0;
        fail_after = failed++;
        p.a = endpoint_new(&p.a_config, &p.env);
        fail_after = UINT32_MAX;
    }
    assert_true(failed > 5);
    pair_start_b(&p);
    assert_non_null(pair_up(&p, NULL));
    pair_deinit(&p);
}

int main(void)
{
    if (!CRYPTO_set_mem_functions(scarce_malloc, scarce_realloc, scarce_free))
        return 1;
    return cases_run(NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* The gate that a fork and the end of the process close: it is empty when all who went in have left
 * it, in the child of a fork, too. */
#include <pthread.h>
#include <semaphore.h>

#include "base/time.h"
#include "libdodo/gate.h"
#include "tests/lib/case.h"

/* Whether no thread is inside. The gate is open again afterwards. */
static bool is_empty(void)
{
    bool empty = gate_close(0);
    gate_open();
    return empty;
}

TEST(gate__counts_who_is_inside)
{
    assert_true(is_empty());
    gate_enter();
    assert_true(gate_inside());
    assert_false(is_empty());
    gate_leave();
    assert_false(gate_inside());
    assert_true(is_empty());
}

static sem_t is_inside, may_leave;

static void *inside_main(void *arg)
{
    gate_enter();
    (void)sem_post(&is_inside);
    (void)sem_wait(&may_leave);
    gate_leave();
    return arg;
}

static pthread_t inside_start(void)
{
    pthread_t thread;
    assert_int_equal(sem_init(&is_inside, 0, 0) | sem_init(&may_leave, 0, 0), 0);
    assert_int_equal(pthread_create(&thread, NULL, inside_main, NULL), 0);
    (void)sem_wait(&is_inside);
    return thread;
}

TEST(gate__counts_other_threads)
{
    pthread_t thread = inside_start();
    assert_false(gate_inside());
    assert_false(is_empty());
    (void)sem_post(&may_leave);
    assert_true(gate_close(TIME_NEVER));
    gate_open();
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A fork inside the gate, as in the log's hook: the child leaves the gate when its call ends. */
TEST(gate__a_child_is_inside_where_its_parent_was)
{
    gate_enter();
    gate_reset();
    assert_true(gate_inside());
    assert_false(is_empty());
    gate_leave();
    assert_true(is_empty());
}

TEST(gate__a_child_of_one_who_is_outside_is_outside)
{
    (void)gate_close(0);
    gate_reset();
    assert_false(gate_inside());
    assert_true(is_empty());
    gate_enter(); /* it is not closed */
    gate_leave();
}

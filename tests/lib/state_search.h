/* SPDX-License-Identifier: MIT */
/* All states of a model that can be reached from the first one by its steps. A state is a struct
 * without pointers, whose padding is 0: states are compared as bytes. */
#ifndef DODO_TESTS_LIB_STATE_SEARCH_H
#define DODO_TESTS_LIB_STATE_SEARCH_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/lib/case.h"

typedef struct StateSearch {
    size_t size; /* of a state */
    int fault;   /* what the model is to do wrong; 0: nothing */
    bool wrong;  /* a step has done what must not be: the search ends */
    GHashTable *seen;
    GQueue *todo;
} StateSearch;

/* A step leads to @state. */
static inline void state_push(StateSearch *s, const void *state)
{
    GBytes *bytes = g_bytes_new(state, s->size);
    if (g_hash_table_add(s->seen, g_bytes_ref(bytes)))
        g_queue_push_tail(s->todo, bytes);
    else
        g_bytes_unref(bytes);
}

/* Whether some order of steps does what must not be. @steps: pushes all that may follow a state. */
static inline bool state_search(const void *start, size_t size, int fault,
                                void (*steps)(StateSearch *s, const void *state))
{
    StateSearch s = {.size = size,
                     .fault = fault,
                     .seen = g_hash_table_new_full(g_bytes_hash, g_bytes_equal,
                                                   (GDestroyNotify)g_bytes_unref, NULL),
                     .todo = g_queue_new()};
    state_push(&s, start);
    for (GBytes *bytes; !s.wrong && (bytes = g_queue_pop_head(s.todo));) {
        steps(&s, g_bytes_get_data(bytes, NULL));
        g_bytes_unref(bytes);
    }
    print_message("# %u states\n", g_hash_table_size(s.seen));
    g_queue_free_full(s.todo, (GDestroyNotify)g_bytes_unref);
    g_hash_table_destroy(s.seen);
    return s.wrong;
}

#endif

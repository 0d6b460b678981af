/* SPDX-License-Identifier: MIT */
/* The memory that interleaved threads share: a heap that never gives memory out again and knows
 * what was freed, stores that are seen late, and what the compiler calls for each access. */
#include <stdlib.h>
#include <string.h>

#include "tests/lib/interleave_private.h"

enum {
    HEAP_BYTES = 8 << 20,
    GRAIN = 16, /* what is known of the heap is known of so many bytes together */
    LATE_MAX = 64,
    FREED_BYTE = 0xdd,
    FRESH_BYTE = 0xcd,
};

enum { NEVER, LIVE, FREED };

typedef struct LateStore {
    void *at;
    unsigned size;
    uint64_t value;
} LateStore;

typedef struct Range {
    const uint8_t *from;
    size_t len;
} Range;

typedef struct ThreadMemory {
    LateStore late[LATE_MAX];
    unsigned late_count;
    Range source, target; /* of a copy under way */
} ThreadMemory;

static uint8_t *heap, *grains; /* not static memory, which is put back for each schedule */
static size_t heap_top, heap_live;
static ThreadMemory threads[INTERLEAVE_THREADS];
static unsigned copies; /* under way */

void memory_reset(void)
{
    if (!heap) {
        heap = aligned_alloc(4096, HEAP_BYTES);
        grains = calloc(HEAP_BYTES / GRAIN, 1);
        if (!heap || !grains)
            abort();
    }
    memset(grains, NEVER, heap_top / GRAIN + 1);
    heap_top = heap_live = 0;
    copies = 0;
    for (int i = 0; i < INTERLEAVE_THREADS; i++) {
        threads[i].late_count = 0;
        threads[i].source = threads[i].target = (Range){0};
    }
}

/* ---- what may be touched --------------------------------------------------------------------- */

static bool in_heap(const void *at)
{
    return (uintptr_t)at - (uintptr_t)heap < HEAP_BYTES;
}

void memory_check(const void *at, size_t n, const char *what)
{
    if (!in_heap(at) || n == 0)
        return;
    size_t from = (size_t)((const uint8_t *)at - heap);
    for (size_t g = from / GRAIN; g <= (from + n - 1) / GRAIN; g++)
        if (g >= HEAP_BYTES / GRAIN || grains[g] == NEVER)
            interleave_fail("%s of memory that was never allocated", what);
        else if (grains[g] == FREED)
            interleave_fail("%s of memory that was freed", what);
}

static bool overlap(const Range *a, const uint8_t *from, size_t len)
{
    return from < a->from + a->len && a->from < from + len;
}

/* Somebody who copies from or into it must not find it changed. */
static void check_alone(const void *at, size_t n, bool writes)
{
    for (int i = 0; copies > 0 && i < INTERLEAVE_THREADS; i++) {
        if (i == explorer_self())
            continue;
        if (overlap(&threads[i].target, at, n) || (writes && overlap(&threads[i].source, at, n)))
            interleave_fail("memory is %s that thread %d copies %s", writes ? "written" : "read", i,
                            overlap(&threads[i].target, at, n) ? "into" : "from");
    }
}

static void touch(const void *at, size_t n, bool writes)
{
    memory_check(at, n, writes ? "a write" : "a read");
    if (in_heap(at))
        check_alone(at, n, writes);
}

/* ---- the heap -------------------------------------------------------------------------------- */

size_t interleave_heap_bytes(void)
{
    return heap_live;
}

/* Before the bytes is how many they are, and a grain that nobody may touch. */
void *interleave_aligned_alloc(size_t align, size_t n)
{
    size_t at = (heap_top + 2 * GRAIN + align - 1) / align * align;
    size_t bytes = (n + GRAIN - 1) / GRAIN * GRAIN;
    if (at + bytes + GRAIN > HEAP_BYTES)
        abort(); /* the scenario is too large */
    memcpy(heap + at - GRAIN, &bytes, sizeof bytes);
    memset(heap + at, FRESH_BYTE, bytes);
    memset(grains + at / GRAIN, LIVE, bytes / GRAIN);
    heap_top = at + bytes;
    heap_live += bytes;
    return heap + at;
}

void *interleave_malloc(size_t n)
{
    return interleave_aligned_alloc(GRAIN, n ? n : 1);
}

void *interleave_calloc(size_t n, size_t size)
{
    void *p = interleave_malloc(n * size);
    return memset(p, 0, n * size);
}

static size_t bytes_of(const void *p)
{
    size_t bytes;
    memcpy(&bytes, (const uint8_t *)p - GRAIN, sizeof bytes);
    return bytes;
}

void *interleave_realloc(void *p, size_t n)
{
    void *q = interleave_malloc(n);
    if (p)
        memcpy(q, p, bytes_of(p) < n ? bytes_of(p) : n);
    interleave_free(p);
    return q;
}

void interleave_free(void *p)
{
    if (!p)
        return;
    if (explorer_self() != NOBODY)
        memory_drain(explorer_self());
    memory_check(p, 1, "a free");
    size_t bytes = bytes_of(p);
    check_alone(p, bytes, true);
    memset(p, FREED_BYTE, bytes);
    memset(grains + (size_t)((uint8_t *)p - heap) / GRAIN, FREED, bytes / GRAIN);
    heap_live -= bytes;
}

/* ---- copies: not all at once ----------------------------------------------------------------- */

void *interleave_memcpy(void *to, const void *from, size_t n)
{
    int self = explorer_self();
    explorer_point("copies", from, __builtin_return_address(0));
    touch(from, n, false);
    touch(to, n, true);
    if (self != NOBODY) {
        threads[self].source = (Range){from, n};
        threads[self].target = (Range){to, n};
        copies++;
        explorer_point("goes on copying", from, __builtin_return_address(0));
        copies--;
        threads[self].source = threads[self].target = (Range){0};
    }
    memory_check(from, n, "a read");
    memory_check(to, n, "a write");
    return memcpy(to, from, n);
}

void *interleave_memset(void *to, int value, size_t n)
{
    touch(to, n, true);
    return memset(to, value, n);
}

/* ---- stores that are seen late --------------------------------------------------------------- */

bool memory_has_late(int thread)
{
    return threads[thread].late_count > 0;
}

static void put(void *at, unsigned size, uint64_t value)
{
    memory_check(at, size, "a store");
    memcpy(at, &value, size); /* the machines that this runs on have the low bytes first */
}

void memory_drain_one(int thread)
{
    ThreadMemory *m = &threads[thread];
    LateStore s = m->late[0];
    m->late_count--;
    memmove(m->late, m->late + 1, m->late_count * sizeof *m->late);
    put(s.at, s.size, s.value);
}

void memory_drain(int thread)
{
    while (memory_has_late(thread))
        memory_drain_one(thread);
}

/* What the thread itself sees there. */
static uint64_t get(const void *at, unsigned size)
{
    uint64_t value = 0;
    int self = explorer_self();
    memory_check(at, size, "a load");
    for (unsigned i = self == NOBODY ? 0 : threads[self].late_count; i > 0; i--)
        if (threads[self].late[i - 1].at == at)
            return threads[self].late[i - 1].value;
    memcpy(&value, at, size);
    return value;
}

static void store(void *at, unsigned size, uint64_t value, bool late)
{
    int self = explorer_self();
    if (self == NOBODY) {
        put(at, size, value);
        return;
    }
    if (late)
        plan.shared->late_ever = true;
    if (!late || plan.shared->lateness == STORES_NOW || threads[self].late_count == LATE_MAX)
        memory_drain(self);
    if (late && plan.shared->lateness != STORES_NOW)
        threads[self].late[threads[self].late_count++] = (LateStore){at, size, value};
    else
        put(at, size, value);
}

/* ---- atomic operations, as the compiler has them --------------------------------------------- */

static uint64_t atomic_get(const volatile void *at, unsigned size, const void *pc)
{
    explorer_point("loads", (const void *)at, pc);
    return get((const void *)at, size);
}

static void atomic_put(volatile void *at, unsigned size, uint64_t value, int order, const void *pc)
{
    bool strong = order == __ATOMIC_SEQ_CST && !(plan.breaks & BREAK_STORES);
    explorer_point("stores", (const void *)at, pc);
    memory_check((const void *)at, size, "a store");
    store((void *)at, size, value, !strong);
}

/* The value before; @value replaces it, if @expected is NULL or has it. */
static uint64_t atomic_exchange_at(volatile void *at, unsigned size, uint64_t value,
                                   const uint64_t *expected, const void *pc)
{
    explorer_point("exchanges", (const void *)at, pc);
    bool late = expected && plan.breaks & BREAK_EXCHANGE;
    if (!late && explorer_self() != NOBODY)
        memory_drain(explorer_self());
    uint64_t old = get((const void *)at, size);
    if (!expected || old == *expected)
        store((void *)at, size, value, late);
    return old;
}

typedef uint64_t Operation(uint64_t a, uint64_t b);

static uint64_t op_add(uint64_t a, uint64_t b)
{
    return a + b;
}
static uint64_t op_sub(uint64_t a, uint64_t b)
{
    return a - b;
}
static uint64_t op_and(uint64_t a, uint64_t b)
{
    return a & b;
}
static uint64_t op_or(uint64_t a, uint64_t b)
{
    return a | b;
}
static uint64_t op_xor(uint64_t a, uint64_t b)
{
    return a ^ b;
}
static uint64_t op_nand(uint64_t a, uint64_t b)
{
    return ~(a & b);
}

static uint64_t atomic_change(volatile void *at, unsigned size, Operation *op, uint64_t value,
                              const void *pc)
{
    explorer_point("changes", (const void *)at, pc);
    if (explorer_self() != NOBODY)
        memory_drain(explorer_self());
    uint64_t old = get((const void *)at, size);
    put((void *)at, size, op(old, value));
    return old;
}

#define PC __builtin_return_address(0)
#define FETCH(bits, T, name)                                              \
    T __tsan_atomic##bits##_fetch_##name(volatile T *at, T v, int order); \
    T __tsan_atomic##bits##_fetch_##name(volatile T *at, T v, int order)  \
    {                                                                     \
        (void)order;                                                      \
        return (T)atomic_change(at, sizeof(T), op_##name, v, PC);         \
    }
#define EXCHANGE(bits, T, strength)                                                                \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile T *at, T *c, T v, int o,        \
                                                          int f);                                  \
    int __tsan_atomic##bits##_compare_exchange_##strength(volatile T *at, T *c, T v, int o, int f) \
    {                                                                                              \
        (void)o, (void)f;                                                                          \
        uint64_t expected = *c, old = atomic_exchange_at(at, sizeof(T), v, &expected, PC);         \
        *c = (T)old;                                                                               \
        return old == expected;                                                                    \
    }
#define EXCHANGE_VALUE(bits, T)                                                           \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *at, T c, T v, int o, int f); \
    T __tsan_atomic##bits##_compare_exchange_val(volatile T *at, T c, T v, int o, int f)  \
    {                                                                                     \
        (void)o, (void)f;                                                                 \
        uint64_t expected = c;                                                            \
        return (T)atomic_exchange_at(at, sizeof(T), v, &expected, PC);                    \
    }
#define ATOMIC(bits, T)                                               \
    T __tsan_atomic##bits##_load(const volatile T *at, int order);    \
    T __tsan_atomic##bits##_load(const volatile T *at, int order)     \
    {                                                                 \
        (void)order;                                                  \
        return (T)atomic_get(at, sizeof(T), PC);                      \
    }                                                                 \
    void __tsan_atomic##bits##_store(volatile T *at, T v, int order); \
    void __tsan_atomic##bits##_store(volatile T *at, T v, int order)  \
    {                                                                 \
        atomic_put(at, sizeof(T), v, order, PC);                      \
    }                                                                 \
    T __tsan_atomic##bits##_exchange(volatile T *at, T v, int order); \
    T __tsan_atomic##bits##_exchange(volatile T *at, T v, int order)  \
    {                                                                 \
        (void)order;                                                  \
        return (T)atomic_exchange_at(at, sizeof(T), v, NULL, PC);     \
    }                                                                 \
    FETCH(bits, T, add)                                               \
    FETCH(bits, T, sub)                                               \
    FETCH(bits, T, and)                                               \
    FETCH(bits, T, or)                                                \
    FETCH(bits, T, xor)                                               \
    FETCH(bits, T, nand)                                              \
    EXCHANGE(bits, T, strong)                                         \
    EXCHANGE(bits, T, weak)                                           \
    EXCHANGE_VALUE(bits, T)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    explorer_point("fences", NULL, PC);
    if (order == __ATOMIC_SEQ_CST && explorer_self() != NOBODY)
        memory_drain(explorer_self());
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}

/* ---- plain accesses -------------------------------------------------------------------------- */

#define PLAIN(bytes)                              \
    void __tsan_read##bytes(void *at);            \
    void __tsan_read##bytes(void *at)             \
    {                                             \
        touch(at, bytes, false);                  \
    }                                             \
    void __tsan_write##bytes(void *at);           \
    void __tsan_write##bytes(void *at)            \
    {                                             \
        touch(at, bytes, true);                   \
    }                                             \
    void __tsan_unaligned_read##bytes(void *at);  \
    void __tsan_unaligned_read##bytes(void *at)   \
    {                                             \
        touch(at, bytes, false);                  \
    }                                             \
    void __tsan_unaligned_write##bytes(void *at); \
    void __tsan_unaligned_write##bytes(void *at)  \
    {                                             \
        touch(at, bytes, true);                   \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *at, size_t n);
void __tsan_read_range(void *at, size_t n)
{
    touch(at, n, false);
}
void __tsan_write_range(void *at, size_t n);
void __tsan_write_range(void *at, size_t n)
{
    touch(at, n, true);
}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
    (void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
void __tsan_init(void);
void __tsan_init(void)
{
}

/* SPDX-License-Identifier: MIT */
/* A rule is a Lua state of its own, with nothing in it but the facts.
 *
 * What keeps a rule in bounds: there are no libraries, so only instructions run, which are counted;
 * all memory is counted, too. A rule cannot catch the error that ends it. The collector rests while
 * a rule runs, so that the limit on a run's memory is a simple sum. */
#include "rmd/rules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "base/cleanup.h"
#include "base/id.h"

enum {
    STEPS_MAX = 10000,     /* instructions of one evaluation */
    LOAD_MAX = 1 << 20,    /* bytes that a state may take until its rule is compiled */
    RUN_MAX = 64 << 10,    /* bytes that one evaluation may take */
    NAME_MAX_BYTES = 32,   /* of a rule's name */
    CHECK_ROUNDS = 1000,   /* of rule_check() */
    CHECK_NUMBERS_MAX = 64 /* numbers of the text that rule_check() tries facts around */
};

typedef struct FactName {
    const char *name, *unit;
} FactName;

static const FactName fact_names[FACT_COUNT] = {
#define X(name, unit, text) [FACT_##name] = {#name, unit},
    RMD_FACTS(X)
#undef X
};

struct Rule {
    lua_State *lua;
    char name[NAME_MAX_BYTES];
    char *text;
    size_t bytes, bytes_max; /* allocated, and allowed */
    size_t bytes_clean;      /* allocated after the last collection */
    bool out_of_memory;      /* since the evaluation began */
    bool out_of_steps;
    bool misspelt;
    const Facts *facts; /* of the evaluation under way */
    int unknown;        /* first unknown fact that it read; -1: none */
    int function;       /* reference to the compiled rule */
};

/* ---- what Lua calls ------------------------------------------------------------------------- */

/* Once it has refused, it goes on refusing: no rule may thrash the emergency collector. */
static void *allocate(void *ctx, void *p, size_t old_size, size_t size)
{
    Rule *r = ctx;
    if (!p)
        old_size = 0; /* it says what the object is */
    if (size == 0) {
        free(p);
        r->bytes -= old_size;
        return NULL;
    }
    if (size > old_size && (r->out_of_memory || size - old_size > r->bytes_max - r->bytes)) {
        r->out_of_memory = true;
        return NULL;
    }
    void *q = realloc(p, size);
    if (!q)
        return size <= old_size ? p : NULL; /* Lua relies on that what shrinks is there */
    r->bytes += size - old_size;
    return q;
}

static Rule *rule_of(lua_State *l)
{
    return lua_touserdata(l, lua_upvalueindex(1));
}

static void count_hook(lua_State *l, lua_Debug *ar)
{
    (void)ar;
    void *ctx;
    (void)lua_getallocf(l, &ctx);
    ((Rule *)ctx)->out_of_steps = true;
    (void)luaL_error(l, "too many steps");
}

static int fact_find(const char *name, size_t len)
{
    for (int i = 0; i < FACT_COUNT; i++)
        if (strlen(fact_names[i].name) == len && memcmp(fact_names[i].name, name, len) == 0)
            return i;
    return -1;
}

static bool fact_is_bool(int i)
{
    return strcmp(fact_names[i].unit, "bool") == 0;
}

/* env[name] */
static int env_get(lua_State *l)
{
    Rule *r = rule_of(l);
    size_t len = 0;
    const char *name = lua_type(l, 2) == LUA_TSTRING ? lua_tolstring(l, 2, &len) : NULL;
    int i = name ? fact_find(name, len) : -1;
    if (i < 0) {
        r->misspelt = true;
        lua_pushfstring(l, "there is no fact called %s", name ? name : luaL_typename(l, 2));
        return lua_error(l);
    }
    if (!facts_known(r->facts, (enum Fact)i)) {
        if (r->unknown < 0)
            r->unknown = i;
        lua_pushnil(l);
    } else if (fact_is_bool(i)) {
        lua_pushboolean(l, r->facts->value[i] != 0);
    } else {
        lua_pushnumber(l, r->facts->value[i]);
    }
    return 1;
}

static int env_set(lua_State *l)
{
    lua_pushliteral(l, "a rule cannot set anything");
    return lua_error(l);
}

/* ---- compiling ------------------------------------------------------------------------------ */

/* Lua's message without its "rule:LINE: ". */
static const char *message_of(lua_State *l)
{
    const char *text = lua_type(l, -1) == LUA_TSTRING ? lua_tostring(l, -1) : "an error";
    if (strncmp(text, "rule:", 5) == 0) {
        const char *p = text + 5 + strspn(text + 5, "0123456789");
        if (p[0] == ':' && p[1] == ' ')
            return p + 2;
    }
    return text;
}

/* Fills @error; returns -EINVAL. */
static int fail(const Rule *r, char error[RULE_ERROR_MAX], const char *what, const char *more)
{
    (void)snprintf(error, RULE_ERROR_MAX, "%s: %s%s", r->name, what, more);
    for (char *p = error; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' '; /* it goes into a log of lines */
    return -EINVAL;
}

/* Pushes the function. @before, @after: what the text stands between. */
static void compile(lua_State *l, const char *before, const char *text, const char *after)
{
    lua_pushfstring(l, "%s%s\n%s", before, text, after);
    size_t len;
    const char *source = lua_tolstring(l, -1, &len);
    if (luaL_loadbufferx(l, source, len, "=rule", "t") != LUA_OK)
        (void)lua_error(l);
    lua_remove(l, -2);
}

/* Protected, since each step may run out of memory. What is an expression can be returned as it
 * is and in parentheses; what breaks out of parentheses, or is more than one, cannot do both. */
static int setup(lua_State *l)
{
    Rule *r = lua_touserdata(l, 1);
    compile(l, "return ", r->text, "");
    lua_pop(l, 1);
    compile(l, "return (", r->text, ")");

    lua_newtable(l); /* what the rule sees of the world */
    lua_newtable(l);
    lua_pushlightuserdata(l, r);
    lua_pushcclosure(l, env_get, 1);
    lua_setfield(l, -2, "__index");
    lua_pushcfunction(l, env_set);
    lua_setfield(l, -2, "__newindex");
    (void)lua_setmetatable(l, -2);
    (void)lua_setupvalue(l, -2, 1); /* _ENV, also if the rule reads no fact */
    r->function = luaL_ref(l, LUA_REGISTRYINDEX);
    return 0;
}

static int rule_compile(Rule *r, char error[RULE_ERROR_MAX])
{
    lua_State *l = r->lua;
    lua_pushcfunction(l, setup);
    lua_pushlightuserdata(l, r);
    int res = lua_pcall(l, 1, 0, 0);
    if (res == LUA_ERRMEM)
        return fail(r, error, "is too large", "");
    if (res != LUA_OK)
        return fail(r, error, "is not an expression: ", message_of(l));
    (void)lua_gc(l, LUA_GCSTOP);
    return 0;
}

Rule *rule_free(Rule *r)
{
    if (!r)
        return NULL;
    if (r->lua)
        lua_close(r->lua);
    free(r->text);
    free(r);
    return NULL;
}

Rule *rule_new(const char *name, const char *text, char error[RULE_ERROR_MAX])
{
    Rule *r = calloc(1, sizeof *r);
    if (!r) {
        (void)snprintf(error, RULE_ERROR_MAX, "%s: out of memory", name);
        return NULL;
    }
    (void)snprintf(r->name, sizeof r->name, "%s", name);
    r->bytes_max = LOAD_MAX;
    r->text = strdup(text);
    r->lua = r->text ? lua_newstate(allocate, r) : NULL;
    if (!r->lua)
        (void)fail(r, error, "out of memory", "");
    else if (strlen(text) > RULE_TEXT_MAX)
        (void)fail(r, error, "is too long", "");
    else if (rule_compile(r, error) == 0)
        return r;
    return rule_free(r);
}

/* ---- evaluating ----------------------------------------------------------------------------- */

static int explain(const Rule *r, char error[RULE_ERROR_MAX])
{
    char what[RULE_ERROR_MAX];
    const char *more = message_of(r->lua);
    if (r->out_of_steps)
        (void)snprintf(what, sizeof what, "takes more than %d steps; does it end?", STEPS_MAX);
    else if (r->out_of_memory)
        (void)snprintf(what, sizeof what, "takes more than %d KiB of memory", RUN_MAX >> 10);
    else if (r->unknown >= 0 && !r->misspelt)
        (void)snprintf(what, sizeof what, "%s is not known now: ", fact_names[r->unknown].name);
    else
        what[0] = '\0';
    return fail(r, error, what, r->out_of_steps || r->out_of_memory ? "" : more);
}

/* Leaves the value, or the error, on the stack. */
static int rule_run(Rule *r, const Facts *facts)
{
    lua_State *l = r->lua;
    lua_settop(l, 0);
    r->out_of_memory = r->out_of_steps = r->misspelt = false;
    r->unknown = -1;
    r->facts = facts;
    (void)lua_gc(l, LUA_GCCOLLECT); /* so that each run finds the same room */
    r->bytes_max = r->bytes + RUN_MAX;
    lua_sethook(l, count_hook, LUA_MASKCOUNT, STEPS_MAX);
    (void)lua_rawgeti(l, LUA_REGISTRYINDEX, r->function);
    int res = lua_pcall(l, 0, 1, 0);
    r->facts = NULL;
    return res == LUA_OK ? 0 : -EINVAL;
}

int rule_evaluate(Rule *r, const Facts *facts, bool *ret, char error[RULE_ERROR_MAX])
{
    int res = rule_run(r, facts);
    if (res != 0) {
        (void)explain(r, error);
    } else if (lua_type(r->lua, -1) != LUA_TBOOLEAN) {
        lua_settop(r->lua, 0);
        res = -EINVAL;
        if (r->unknown >= 0)
            (void)fail(r, error, fact_names[r->unknown].name, " is not known now");
        else
            (void)fail(r, error, "its value is neither true nor false", "");
    } else {
        *ret = lua_toboolean(r->lua, -1);
    }
    lua_settop(r->lua, 0);
    return res;
}

/* ---- checking ------------------------------------------------------------------------------- */

typedef struct Numbers {
    double value[CHECK_NUMBERS_MAX];
    unsigned count;
    uint64_t random;
} Numbers;

static uint64_t numbers_random(Numbers *n, uint64_t below)
{
    return mix64(++n->random) % below;
}

/* The numbers that the rule's text compares with, and some that are always of interest. */
static void numbers_collect(Numbers *n, const char *text)
{
    static const double usual[] = {0, 1, 2, 300, 3600, 1 << 30};
    for (size_t i = 0; i < ARRAY_SIZE(usual); i++)
        n->value[n->count++] = usual[i];
    while (n->count < CHECK_NUMBERS_MAX && *(text += strcspn(text, "0123456789"))) {
        char *end;
        n->value[n->count++] = strtod(text, &end);
        text = end;
    }
}

/* A value that the fact could have: near one of the numbers. */
static double numbers_fact(Numbers *n, int fact)
{
    double v = n->value[numbers_random(n, n->count)] + (double)numbers_random(n, 3) - 1;
    if (fact_is_bool(fact))
        return (double)numbers_random(n, 2);
    if (fact == FACT_hour)
        return v >= 0 && v < 24 ? floor(v) : (double)numbers_random(n, 24);
    if (fact == FACT_weekday)
        return v >= 1 && v < 8 ? floor(v) : 1 + (double)numbers_random(n, 7);
    if (fact == FACT_load || fact == FACT_load_below || fact == FACT_mem_pressure)
        v += (double)numbers_random(n, 3) * 0.25;
    else
        v = v < 1e15 ? (double)(int64_t)v : 1e15;
    return v > 0 ? v : 0;
}

/* Rounds in which all facts are known find errors of the rule itself. Rounds in which some are
 * unknown look for unknown names only: a rule may well fail then. Which ways through the rule are
 * tried is random, but the same each time. */
int rule_check(Rule *r, char error[RULE_ERROR_MAX])
{
    Numbers n = {.count = 0};
    bool value;
    numbers_collect(&n, r->text);
    for (int round = 0; round < CHECK_ROUNDS; round++) {
        Facts facts;
        facts_init(&facts);
        for (int i = 0; i < FACT_COUNT && round > 0; i++)
            if (round % 4 || numbers_random(&n, 4))
                facts.value[i] = numbers_fact(&n, i);
        if (rule_evaluate(r, &facts, &value, error) != 0 &&
            (r->unknown < 0 || r->misspelt || r->out_of_steps || r->out_of_memory))
            return -EINVAL;
    }
    return 0;
}

/* SPDX-License-Identifier: MIT */
/* The keys of the one config file, dodo.conf, and of the variables that stand for them: one table
 * for daemons, tools and libraries, so that a file means the same to all of them, and all
 * report the same error for a mistake in it. docs/dodo.conf.5 documents the keys. */
#ifndef DODO_PROTO_CONF_CONF_H
#define DODO_PROTO_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/listen.h"
#include "base/parse.h"

/* What a value is; the comment says which field of ConfValue has it. */
enum ConfigKind {
    CONFIG_TEXT,   /* text; at most @max characters, if @max is set */
    CONFIG_BOOL,   /* flag */
    CONFIG_ADDR,   /* addr; @min is the default port */
    CONFIG_LISTEN, /* listen: see listen_parse(); @min as above */
    CONFIG_PLACES, /* text: see places_parse(); addr: the first that is one; @min as above */
    CONFIG_SIZE,   /* count [bytes], @min .. @max; UINT64_MAX for the word of @words */
    CONFIG_TIME,   /* count [ns], @min .. @max */
    CONFIG_COUNT,  /* count, @min .. @max */
    CONFIG_LEVEL,  /* choice: 0 error, 1 warn, 2 info, 3 debug */
    CONFIG_NUMBER, /* number, @min .. @max */
    CONFIG_LIST,   /* text: words with blanks between them */
    CONFIG_CHOICE, /* text: one of @words; choice says which */
    CONFIG_TYPES,  /* text: numbers of file systems, see conf_types() */
};

/* Who takes a key. All others know it too, and check its value. */
enum ConfReader {
    CONF_CLIENT = 1, /* libdodo */
    CONF_MANAGE = 2, /* libmanage */
    CONF_CMD = 4,
    CONF_IMD = 8,
    CONF_RMD = 16,
    CONF_TOOL = 32,
};

typedef struct ConfKey {
    const char *group, *name;
    const char *env; /* the variable that beats the file, or NULL */
    uint8_t kind;    /* enum ConfigKind */
    uint8_t readers; /* of enum ConfReader */
    bool file;       /* of CONFIG_TEXT: the name of a file; what looks like a secret is none */
    bool zero;       /* 0 is fine too, though less than @min: it means "none" */
    bool preset;     /* a key that is not set has the default below */
    uint64_t min, max;
    const char *words; /* separated by '|' */
    uint64_t count;    /* default of sizes, times, counts; of CONFIG_BOOL 0 or 1 */
    double number;     /* default of CONFIG_NUMBER */
    const char *text;  /* default of all others; NULL: none */
} ConfKey;

extern const ConfKey conf_keys[];
extern const size_t conf_keys_count;
enum { CONF_KEYS_MAX = 128 };

const ConfKey *conf_find(const char *group, const char *name); /* or NULL */
bool conf_group_known(const char *group);

typedef struct ConfValue {
    const char *text; /* as it was given */
    uint64_t count;
    double number;
    Addr addr;
    Listen listen;
    unsigned choice;
    bool flag;
} ConfValue;

/* 0, or -EINVAL: the text is no value of the key; @ret is untouched. */
int conf_parse(const ConfKey *k, const char *text, ConfValue *ret);
/* The default of a key that has one: 0; -ENOENT. */
int conf_default(const ConfKey *k, ConfValue *ret);
/* "WHAT: expected ...", for a value that conf_parse() refused; a secret in it is not shown.
 * -EINVAL. */
int conf_refuse(const ConfKey *k, const char *what, char *error, size_t cap);
/* "0x65735546, 6969": how many numbers; -EINVAL: no such list, or more than CONF_TYPES_MAX. */
enum { CONF_TYPES_MAX = 16 };
int conf_types(const char *text, int64_t ret[CONF_TYPES_MAX]);

/* ---- all files ------------------------------------------------------------------------------- */

/* @v is borrowed until it returns. 0, or -errno with a text in @error to stop. */
typedef int (*ConfFn)(void *ctx, const ConfKey *k, const ConfValue *v, char *error, size_t cap);

/* What files and variables say so far, for what can be judged only of more than one key. */
typedef struct ConfSeen {
    unsigned file, line;  /* the last that says it; line 0: none does */
    const char *variable; /* that beats the lines; NULL: none */
    ConfValue value;
} ConfSeen;
typedef struct ConfReading {
    const char *const *names; /* of the files */
    unsigned file;            /* which is being read: a later one counts more */
    unsigned reader;          /* one of enum ConfReader */
    ConfFn fn;                /* is called for the keys that @reader takes, in order; NULL: none */
    void *ctx;
    ConfSeen seen[CONF_KEYS_MAX];
} ConfReading;

/* A KeyFileFn; @ctx is a ConfReading. */
int conf_on_line(void *ctx, const KeyLine *line, char *error, size_t cap);
/* After the last line of the last file: 0, or -EINVAL: keys contradict each other; @error is
 * "NAME:LINE: ...". */
int conf_rules(const ConfReading *r, char *error, size_t cap);
/* A variable with a value of the key, after the last line. */
void conf_on_variable(ConfReading *r, const ConfKey *k, const ConfValue *v);
/* The same of variables, which may contradict each other, a line or a default: "VARIABLE: ..."; and
 * of lines that lack what a variable may give. */
int conf_variable_rules(const ConfReading *r, char *error, size_t cap);
/* For what conf_rules() lets pass: whether a key contradicts the default of another program's key,
 * which counts unless that program's own file sets it. @text as above. */
bool conf_doubt(const ConfReading *r, char *text, size_t cap);
/* "FILE:LINE: " of the last line that sets the key; its length. 0: none does. */
size_t conf_reading_place(const ConfReading *r, const char *group, const char *name, char *ret,
                          size_t cap);
/* A whole text that came from @name. Pure. */
int conf_text_read(const char *name, const char *text, size_t len, unsigned reader, ConfFn fn,
                   void *ctx, char *error, size_t cap);
/* The files of a configuration, in the order in which they are read: FILE, and then the files
 * FILE.d/NAME.conf, by their names. */
enum { CONF_FILES_MAX = 64 };
typedef struct ConfFiles {
    unsigned count; /* at least 1, after conf_files_find() */
    char *paths[CONF_FILES_MAX];
} ConfFiles;
/* NULL: FILE is DEFAULT_CONFIG_PATH. Whether it exists is not looked at. 0, or -errno and a text
 * in @error. conf_files_free() in either case. */
int conf_files_find(const char *path, ConfFiles *ret, char *error, size_t cap);
void conf_files_free(ConfFiles *f);
/* The lines of the file number @i. 0, too, if it is the first one, is not there, and was not @asked
 * for. An @error of a file that cannot be read says what to do. */
int conf_file_lines(const ConfFiles *f, unsigned i, bool asked, KeyFileFn fn, void *ctx,
                    char *error, size_t cap);
/* All of them; without a path, FILE need not exist. */
int conf_file_read(const char *path, unsigned reader, ConfFn fn, void *ctx, char *error,
                   size_t cap);
/* conf_doubt() of the files as they are now. False, too, where they have an error. */
bool conf_file_doubt(const char *path, char *text, size_t cap);
/* conf_variable_rules() of the files as they are now and of the variables. 0, too, where they have
 * an error. */
int conf_file_variables(const char *path, char *(*get)(const char *name), char *error, size_t cap);
/* conf_reading_place() of the files as they are now, for an error that shows only later. 0 and "":
 * no file sets it, or @cap is too small. */
size_t conf_place(const char *path, const char *group, const char *name, char *ret, size_t cap);
/* The variables of the keys that @reader takes. @get: getenv, or secure_getenv. */
int conf_env_read(unsigned reader, char *(*get)(const char *name), ConfFn fn, void *ctx,
                  char *error, size_t cap);

#endif

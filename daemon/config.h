/* SPDX-License-Identifier: MIT */
/* Options, environment and config file of the daemons and tools, from tables: a setting stands
 * once, with its key in the file, its option, its variable and its field. An option beats the
 * environment, the environment beats the file, the file beats the default (what the field held
 * before). Errors are one line that says what to mend. */
#ifndef DODO_DAEMON_CONFIG_H
#define DODO_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "daemon/log.h"

enum { CONFIG_ERROR_MAX = 512 };

enum ConfigKind {
    CONFIG_TEXT,   /* char *, on the heap; config_clear() frees it */
    CONFIG_BOOL,   /* bool; as an option: there or not */
    CONFIG_ADDR,   /* Addr; @min is the default port */
    CONFIG_SIZE,   /* uint64_t [bytes], @min .. @max */
    CONFIG_TIME,   /* uint64_t [ns], @min .. @max */
    CONFIG_COUNT,  /* uint64_t, @min .. @max */
    CONFIG_LEVEL,  /* enum LogLevel */
    CONFIG_NUMBER, /* double, @min .. @max */
    CONFIG_LIST, /* char **, NULL at the end, on the heap; config_clear() frees it. In the file its
                    texts stand between blanks, on the command line one an option */
};

typedef struct ConfigKey {
    const char *group; /* in the file; NULL: not in the file */
    const char *name;  /* the key; as an option with '-' for '_' */
    const char *env;   /* variable, or NULL */
    const char *help;  /* as an option; NULL: it is none */
    const char *value; /* what the help calls the value; NULL for CONFIG_BOOL */
    uint8_t kind;      /* enum ConfigKind */
    size_t offset;     /* of the field in the program's options */
    uint64_t min, max;
} ConfigKey;

typedef struct ConfigTable {
    const ConfigKey *keys;
    size_t count;
} ConfigTable;
#define CONFIG_TABLE(array)                         \
    {                                               \
        (array), sizeof(array) / sizeof((array)[0]) \
    }

enum { CONFIG_TABLES_MAX = 4 };
typedef struct ConfigProgram {
    const char *name;
    const char *arguments; /* what may follow the options, for the help; NULL: nothing may */
    const char *summary;   /* for the help */
    const ConfigTable *tables[CONFIG_TABLES_MAX]; /* the rest NULL */
} ConfigProgram;

/* What to do after config_load(). */
enum ConfigOutcome {
    CONFIG_OK,
    CONFIG_DONE,  /* --version or --help: printed; exit 0 */
    CONFIG_BAD,   /* environment or file: exit 1, @error says why */
    CONFIG_USAGE, /* command line: exit 2, @error says why */
};

/* @options begins with CommonOptions if the program has tables, else it is NULL.
 * Takes the options out of @argc, @argv (what is left are the arguments), then fills @options.
 * --version and --help are understood for every program, and --config FILE and DODO_CONFIG for one
 * that has tables; without any, neither file nor environment is read. */
enum ConfigOutcome config_load(const ConfigProgram *program, int *argc, char ***argv, void *options,
                               char error[CONFIG_ERROR_MAX]);
/* The same again, with the command line of the last config_load(): a file may have changed. Into
 * options that have their defaults. */
enum ConfigOutcome config_reload(const ConfigProgram *program, void *options,
                                 char error[CONFIG_ERROR_MAX]);
/* Frees the texts in @options. */
void config_clear(const ConfigProgram *program, void *options);

/* ---- what all programs have ------------------------------------------------------------------ */

/* First member of every program's options. */
typedef struct CommonOptions {
    Addr manager;
    char *key; /* key file */
    char *cluster;
    char *config; /* --config FILE; NULL: not given */
    char *user;   /* of a daemon that root starts; NULL: it stays root */
    bool insecure;
    enum LogLevel log_level;
    uint64_t hello_retry_ns;
} CommonOptions;
/* The fields that have one get their defaults. */
void config_common_init(CommonOptions *o);
extern const ConfigTable config_common;         /* all but the manager */
extern const ConfigTable config_daemon;         /* what daemons alone have: the user */
extern const ConfigTable config_manager;        /* [dodo] manager, with --manager */
extern const ConfigTable config_manager_unused; /* accepted in the file, used for nothing */

#endif

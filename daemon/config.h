/* SPDX-License-Identifier: MIT */
/* Options, environment and config file of the daemons and tools, from tables: a setting stands
 * once, with its key in the file, its option, its variable and its field. An option beats the
 * environment, the environment beats the file, the file beats the default (what the field held
 * before). Errors are one line that says what to fix. */
#ifndef DODO_DAEMON_CONFIG_H
#define DODO_DAEMON_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "proto/conf/conf.h"
#include "daemon/log.h"

enum { CONFIG_ERROR_MAX = 512 };

/* A setting: of the config file, and perhaps an option too, or an option alone. Of one in the file
 * conf/conf_keys.c has the type, range, variable and default. The field in the program's options
 * is, by type: TEXT, CHOICE, PLACES: char *, on the heap; BOOL: bool; ADDR: Addr; LISTEN: Listen;
 * SIZE, TIME, COUNT: uint64_t; LEVEL: enum LogLevel; NUMBER: double; LIST: char **, NULL at the
 * end, on the heap; on the command line one word an option. config_clear() frees what is on the
 * heap. */
typedef struct ConfigKey {
    const char *group; /* in the file; NULL: an option alone */
    const char *name;  /* the key; as an option with '-' for '_' */
    const char *help;  /* as an option; NULL: it is none */
    const char *value; /* what the help calls the value; NULL for CONFIG_BOOL */
    size_t offset;     /* of the field in the program's options */
    uint8_t kind;      /* enum ConfigKind; this and the range are of an option alone */
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
    bool runs_another;     /* options end where the arguments begin: they are a command line */
    unsigned reader;       /* one of enum ConfReader: whose keys it takes */
    const ConfigTable *tables[CONFIG_TABLES_MAX]; /* the rest NULL */
    ConfFn
        judge; /* refuses values that are of their type, and still no good; NULL: there are none */
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
/* What conf/conf_keys.c knows of @k, or what @k says itself. */
ConfKey config_key(const ConfigKey *k);
/* Sets the field of @k in @options: 0, or -EINVAL: the text is no such value, the field as it was.
 */
int config_set(const ConfigKey *k, void *options, const char *text);
/* Sets the fields of @table whose keys have a default. */
void config_defaults(const ConfigTable *table, void *options);
/* Frees the texts in @options. */
void config_clear(const ConfigProgram *program, void *options);

/* ---- what all programs have ------------------------------------------------------------------ */

/* First member of every program's options. */
typedef struct CommonOptions {
    char *manager; /* names and addresses; NULL: none is named. See start_places() */
    char *key;     /* key file */
    char *cluster;
    char *config; /* --config FILE; NULL: not given */
    char *user;   /* of a daemon that root starts; NULL: it stays root */
    bool insecure;
    enum LogLevel log_level;
    uint64_t hello_retry_ns;
} CommonOptions;
/* The fields that have one get their defaults. */
void config_common_init(CommonOptions *o);
/* The file that a load with them reads, if it is there. */
const char *config_file(const CommonOptions *o);
bool config_file_is_asked(const CommonOptions *o); /* else it need not be there */
/* "FILE:LINE: " where the last of the files sets a key, at the front of @error; its length. 0: none
 * does. */
size_t config_place(const CommonOptions *o, const char *group, const char *name,
                    char error[CONFIG_ERROR_MAX]);
/* Calls @fn for each option of the last config_load(), as it was given: "yes" of a CONFIG_BOOL; not
 * those of a CONFIG_LIST. */
typedef void ConfigOptionFn(void *ctx, const ConfigKey *k, const char *text);
void config_each_option(ConfigOptionFn *fn, void *ctx);
extern const ConfigTable config_common;         /* all but the manager */
extern const ConfigTable config_daemon;         /* what daemons alone have: the user */
extern const ConfigTable config_manager;        /* [dodo] manager, with --manager */
extern const ConfigTable config_manager_unused; /* accepted in the file, used for nothing */

#endif

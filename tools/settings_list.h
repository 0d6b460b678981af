/* SPDX-License-Identifier: MIT */
/* All settings with their effective values, and where each comes from. Pure: lines of the file,
 * variables and options come in; lines go out. */
#ifndef DODO_TOOLS_SETTINGS_LIST_H
#define DODO_TOOLS_SETTINGS_LIST_H

#include <glib.h>

#include "proto/conf/conf.h"

enum SettingSource {
    SETTING_UNSET, /* it has no value, and no default */
    SETTING_DEFAULT,
    SETTING_FILE,
    SETTING_ENVIRONMENT,
    SETTING_OPTION,
    SETTING_SOURCE_MAX
};

typedef struct Setting {
    enum SettingSource source;
    char *text; /* as it was given; NULL: the default */
    unsigned file, line;
} Setting;

typedef struct SettingsList {
    Setting settings[CONF_KEYS_MAX];
    ConfReading reading;
    GPtrArray *faults; /* of texts */
} SettingsList;

/* @files are borrowed. */
void settings_list_init(SettingsList *l, const char *const *files);
void settings_list_deinit(SettingsList *l);
void settings_list_fault(SettingsList *l, const char *text);

/* In this order: what comes later counts more. Values that are none become faults. The lines are
 * those of the first file, and of the next one each time after settings_list_next(). */
int settings_list_line(void *list, const KeyLine *line, char *error, size_t cap); /* a KeyFileFn */
void settings_list_next(SettingsList *l);
void settings_list_rules(SettingsList *l); /* after the last line */
void settings_list_environment(SettingsList *l, char *(*get)(const char *name));
void settings_list_variable_rules(SettingsList *l); /* where all lines were read */
void settings_list_option(SettingsList *l, const char *group, const char *name, const char *text);

/* Appends: a line for each setting; a JSON object with the faults, too. */
void settings_list_print(const SettingsList *l, GString *out);
void settings_list_json(const SettingsList *l, GString *out);

#endif

/* SPDX-License-Identifier: MIT */
/* The writer of a recording: a line a minute, appended. The file is opened for each line, so that
 * it may be moved away at any time. A line that cannot be written (a full disk) is lost, and the
 * log says so once. */
#ifndef DODO_RMD_SURVEY_FILE_H
#define DODO_RMD_SURVEY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmd/facts.h"

typedef struct SurveyFile SurveyFile;

typedef struct SurveyFileConfig {
    const char *path;  /* of the recording; made if it is not there */
    const char *root;  /* stands before /proc: "" but for tests */
    const char *host;  /* NULL: this host's name */
    uint64_t every_ns; /* between samples: a minute, less only in tests; not 0 */
} SurveyFileConfig;

/* The texts are borrowed. 0, or -errno: this could not be a recording, and @error says why. */
int survey_file_open(const SurveyFileConfig *config, SurveyFile **ret, char *error, size_t cap);
SurveyFile *survey_file_free(SurveyFile *f); /* NULL is fine; returns NULL */

/* Once a poll: what was seen. It takes console_idle and load from @facts; @idle: the rules would
 * have lent the host, as far as they concern its owner. If a sample is due, it reads the memory and
 * writes a line. @real_ns: CLOCK_REALTIME. */
void survey_note(SurveyFile *f, uint64_t real_ns, const Facts *facts, bool idle);

#endif

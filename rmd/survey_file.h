/* SPDX-License-Identifier: MIT */
/* The writer of a recording: a line a minute, appended. The file is opened for each line, so that
 * it may be moved away at any time. A line that cannot be written (a full disk) is lost, the log
 * says so once, and nothing else happens. */
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

/* Once a poll: what has been seen. Of @facts it takes console_idle and load; @idle: by the rules
 * the host would have been recruited, as far as they are about its owner. Where a sample is due,
 * the memory is read and a line is written. @real_ns: CLOCK_REALTIME. */
void survey_note(SurveyFile *f, uint64_t real_ns, const Facts *facts, bool idle);

#endif

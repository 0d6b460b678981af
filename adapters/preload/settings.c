/* SPDX-License-Identifier: MIT */
#include "adapters/preload/settings.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "adapters/paths.h"

enum { PATTERN_MAX = PATH_MAX };

static const char *text_of(const char *name)
{
    const char *text = secure_getenv(name);
    return text && *text ? text : NULL;
}

void settings_read(PreloadSettings *s)
{
    const char *bytes = text_of("DODO_PRELOAD_MIN_SIZE");
    *s = (PreloadSettings){.min_bytes = bytes ? strtoull(bytes, NULL, 10) : 16 << 20,
                           .only = text_of("DODO_PRELOAD_ONLY"),
                           .never = text_of("DODO_PRELOAD_NEVER"),
                           .dirs = text_of("DODO_PRELOAD_DIRS"),
                           .report = text_of("DODO_PRELOAD_REPORT"),
                           .report_file = text_of("DODO_PRELOAD_REPORT_FILE"),
                           .local = text_of("DODO_PRELOAD_LOCAL") != NULL,
                           .eager = text_of("DODO_PRELOAD_EAGER") != NULL};
}

/* The next line of *@at in @line; false: there is none. A longer one than @line counts as empty. */
static bool next_line(const char **at, char line[PATTERN_MAX])
{
    if (!*at)
        return false;
    const char *end = strchrnul(*at, '\n');
    size_t len = (size_t)(end - *at);
    len = len < PATTERN_MAX ? len : 0;
    memcpy(line, *at, len);
    line[len] = '\0';
    *at = *end ? end + 1 : NULL;
    return true;
}

static bool matches(const char *patterns, const char *path, bool ends)
{
    static char pattern[PATTERN_MAX];
    while (next_line(&patterns, pattern)) {
        if (fnmatch(pattern, path, 0) == 0)
            return true;
        for (const char *at = path; ends && (at = strchr(at, '/'));)
            if (fnmatch(pattern, ++at, 0) == 0)
                return true;
    }
    return false;
}

/* Where the path goes on below the first directory that it is in; NULL: it is in none. */
static const char *below_dirs(const char *dirs, const char *path)
{
    static char dir[PATTERN_MAX];
    const char *below = NULL;
    while (!below && next_line(&dirs, dir))
        below = *dir ? path_below(dir, path) : NULL;
    return below;
}

bool settings_choose(const PreloadSettings *s, const char *path)
{
    const char *below = s->dirs ? below_dirs(s->dirs, path) : path;
    bool ends = !s->dirs;
    return below && (!s->only || matches(s->only, below, ends)) &&
           (!s->never || !matches(s->never, below, ends));
}

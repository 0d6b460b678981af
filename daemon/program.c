/* SPDX-License-Identifier: MIT */
#include "daemon/program.h"

#include <glib.h>

char *program_find_from(const char *dir, const char *const *places)
{
    char *path = NULL;
    for (; *places; places++) {
        g_free(path);
        path = g_canonicalize_filename(*places, dir);
        if (g_file_test(path, G_FILE_TEST_IS_REGULAR) &&
            g_file_test(path, G_FILE_TEST_IS_EXECUTABLE))
            break;
    }
    return path;
}

char *program_directory(void)
{
    g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
    return g_path_get_dirname(self ? self : "/");
}

char *program_find(const char *const *places)
{
    g_autofree char *dir = program_directory();
    return program_find_from(dir, places);
}

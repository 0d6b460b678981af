/* SPDX-License-Identifier: MIT */
#include "base/cgroup.h"

#include <stdlib.h>
#include <string.h>

enum { ROOT_FIELD = 3, POINT_FIELD = 4 }; /* of mountinfo, from 0 */

/* Whether @word is among the @len bytes of words with commas between. */
static bool list_has(const char *list, size_t len, const char *word)
{
    const char *end = list + len;
    while (list < end) {
        const char *comma = memchr(list, ',', (size_t)(end - list));
        size_t n = (size_t)((comma ? comma : end) - list);
        if (n == strlen(word) && memcmp(list, word, n) == 0)
            return true;
        list += n + 1;
    }
    return false;
}

static bool copy(const char *from, size_t len, char to[PATH_MAX])
{
    if (len >= PATH_MAX)
        return false;
    memcpy(to, from, len);
    to[len] = '\0';
    return true;
}

/* "ID:CONTROLLERS:GROUP"; version 2 has the id 0 and no controllers. */
bool cgroup_parse_group(const char *line, enum CgroupKind *ret_kind, char ret_group[PATH_MAX])
{
    const char *controllers = strchr(line, ':');
    const char *group = controllers ? strchr(++controllers, ':') : NULL;
    if (!group)
        return false;
    size_t len = (size_t)(group++ - controllers);
    if (len == 0 && strncmp(line, "0:", 2) == 0)
        *ret_kind = CGROUP_V2;
    else if (list_has(controllers, len, "memory"))
        *ret_kind = CGROUP_V1;
    else
        return false;
    return *group == '/' && copy(group, strcspn(group, "\n"), ret_group);
}

/* Spaces and the like are written as three octal digits. */
static bool copy_unescaped(const char *from, size_t len, char to[PATH_MAX])
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        char c = from[i];
        if (c == '\\' && i + 3 < len && strspn(from + i + 1, "01234567") >= 3) {
            c = (char)((from[i + 1] - '0') << 6 | (from[i + 2] - '0') << 3 | (from[i + 3] - '0'));
            i += 3;
        }
        if (n + 1 >= PATH_MAX)
            return false;
        to[n++] = c;
    }
    to[n] = '\0';
    return true;
}

/* "ID PARENT DEVICE ROOT POINT OPTIONS [MORE...] - TYPE SOURCE OPTIONS" */
bool cgroup_parse_mount(const char *line, CgroupMount *ret)
{
    const char *field = line, *type = strstr(line, " - ");
    if (!type)
        return false;
    for (unsigned i = 0; i <= POINT_FIELD; i++) {
        size_t len = strcspn(field, " ");
        if (field + len > type)
            return false;
        if ((i == ROOT_FIELD && !copy_unescaped(field, len, ret->root)) ||
            (i == POINT_FIELD && !copy_unescaped(field, len, ret->point)))
            return false;
        field += len + 1;
    }
    type += strlen(" - ");
    const char *source = type + strcspn(type, " "), *options = source + (*source == ' ');
    options += strcspn(options, " ");
    options += *options == ' ';
    size_t type_len = (size_t)(source - type);
    if (type_len == strlen("cgroup2") && memcmp(type, "cgroup2", type_len) == 0)
        ret->kind = CGROUP_V2;
    else if (type_len == strlen("cgroup") && memcmp(type, "cgroup", type_len) == 0 &&
             list_has(options, strcspn(options, " \n"), "memory"))
        ret->kind = CGROUP_V1;
    else
        return false;
    return true;
}

const char *cgroup_below(const CgroupMount *m, const char *group)
{
    size_t len = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);
    bool inside = strncmp(group, m->root, len) == 0 && (group[len] == '/' || group[len] == '\0');
    if (!inside || strncmp(group, "/..", 3) == 0 || strcmp(group + len, "/") == 0)
        return "";
    return group + len;
}

bool cgroup_up(char *group)
{
    char *slash = strrchr(group, '/');
    if (slash)
        *slash = '\0';
    return slash;
}

const char *cgroup_limit_file(enum CgroupKind kind, unsigned i)
{
    static const char *const names[CGROUP_KINDS][CGROUP_LIMITS] = {
        [CGROUP_V1] = {"memory.limit_in_bytes"},
        [CGROUP_V2] = {"memory.max", "memory.high"},
    };
    return i < CGROUP_LIMITS ? names[kind][i] : NULL;
}

const char *cgroup_usage_file(enum CgroupKind kind)
{
    return kind == CGROUP_V1 ? "memory.usage_in_bytes" : "memory.current";
}

uint64_t cgroup_parse_limit(const char *text)
{
    char *end;
    if (*text < '0' || *text > '9') /* "max" */
        return UINT64_MAX;
    unsigned long long bytes = strtoull(text, &end, 10);
    return *end == '\n' || *end == '\0' ? bytes : UINT64_MAX;
}

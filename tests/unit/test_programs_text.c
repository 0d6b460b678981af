/* SPDX-License-Identifier: MIT */
/* What dodo clients shows, of programs, of none, and of the oddest that a page can say. */
#include "tools/programs_text.h"

#include <string.h>

#include "base/time.h"
#include "tests/lib/case.h"

static const uint64_t NOW = 100000 * NS_PER_S;

static ProgramSeen a_program(void)
{
    return (ProgramSeen){.uid = 7,
                         .program = {.pid = 4711,
                                     .started_ns = NOW - 125 * NS_PER_S,
                                     .name = "reader",
                                     .figures = {.regions = 2,
                                                 .held_bytes = 64 << 20,
                                                 .cached_bytes = 4096,
                                                 .local_reads = 10,
                                                 .local_bytes = 5 << 20,
                                                 .remote_reads = 6,
                                                 .remote_bytes = 3 << 20,
                                                 .file_reads = 4,
                                                 .file_bytes = 2 << 20,
                                                 .writes = 1,
                                                 .write_bytes = 8192,
                                                 .local_saved_ns = NS_PER_S,
                                                 .remote_saved_ns = 2 * NS_PER_S + 500000000,
                                                 .valued_reads = 16}}};
}

static char *name_of(uint32_t uid)
{
    return g_strdup(uid == 7 ? "anna" : "a user with a long name\033");
}

static void assert_shows(const ProgramSeen *programs, unsigned count, ProgramUserFn *user,
                         bool json, const char *wanted)
{
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(ProgramSeen));
    g_autoptr(GString) out = g_string_new(NULL);
    if (count)
        g_array_append_vals(seen, programs, count);
    programs_sort(seen);
    (json ? programs_json : programs_table)(seen, NOW, user, out);
    assert_string_equal(out->str, wanted);
}

TEST(programs__none)
{
    assert_shows(NULL, 0, NULL, false, "no program uses Dodo here\n");
    assert_shows(NULL, 0, name_of, true, "{\"programs\":[]}\n");
}

TEST(programs__in_a_table)
{
    const ProgramSeen p = a_program();
    assert_shows(&p, 1, NULL, false,
                 "    PID NAME               RUNS REGIONS    REMOTE      READ LOCAL REMOTE  FILE   "
                 "WRITTEN   SAVED\n"
                 "   4711 reader            2m05s       2    64 MiB    10 MiB   50%    30%   20%   "
                 "  8 KiB    3.5s\n");
    assert_shows(&p, 1, name_of, false,
                 "    PID NAME            USER           RUNS REGIONS    REMOTE      READ LOCAL "
                 "REMOTE  FILE   WRITTEN   SAVED\n"
                 "   4711 reader          anna          2m05s       2    64 MiB    10 MiB   50% "
                 "   30%   20%     8 KiB    3.5s\n");
}

TEST(programs__as_json)
{
    const ProgramSeen p = a_program();
    assert_shows(&p, 1, name_of, true,
                 "{\"programs\":[{\"pid\":4711,\"name\":\"reader\",\"uid\":7,\"user\":\"anna\","
                 "\"runs_ms\":125000,\"regions\":2,\"remote_memory_bytes\":67108864,"
                 "\"local_memory_bytes\":4096,"
                 "\"local\":{\"reads\":10,\"bytes\":5242880,\"share\":0.5000},"
                 "\"remote\":{\"reads\":6,\"bytes\":3145728,\"share\":0.3000},"
                 "\"file\":{\"reads\":4,\"bytes\":2097152,\"share\":0.2000},"
                 "\"writes\":1,\"written_bytes\":8192,\"saved_ns\":3500000000,"
                 "\"saved_local_ns\":1000000000,\"saved_remote_ns\":2500000000,"
                 "\"valued_reads\":16}]}\n");
}

/* What nobody knows is not zero. */
TEST(programs__of_which_nothing_is_known)
{
    const ProgramSeen p = {.uid = 8, .program = {.pid = 1, .started_ns = NOW + 1, .name = "new"}};
    assert_shows(&p, 1, name_of, false,
                 "    PID NAME            USER           RUNS REGIONS    REMOTE      READ LOCAL "
                 "REMOTE  FILE   WRITTEN   SAVED\n"
                 "      1 new             a user w...    0.0s       0       0 B       0 B     - "
                 "     -     -       0 B       -\n");
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(ProgramSeen));
    g_autoptr(GString) out = g_string_new(NULL);
    g_array_append_val(seen, p);
    programs_json(seen, NOW, NULL, out);
    assert_non_null(strstr(out->str, "\"share\":null"));
    assert_non_null(strstr(out->str, "\"saved_ns\":null,"));
    assert_null(strstr(out->str, "\"user\""));
}

TEST(programs__the_longest_running_first)
{
    ProgramSeen p[2] = {a_program(), a_program()};
    p[0].program.pid = 2;
    p[0].program.started_ns = NOW;
    p[1].program.pid = 1;
    p[1].program.started_ns = NOW - 2 * 86400ull * NS_PER_S / 2;
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(ProgramSeen));
    g_array_append_vals(seen, p, 2);
    programs_sort(seen);
    assert_int_equal(g_array_index(seen, ProgramSeen, 0).program.pid, 1);
    assert_int_equal(g_array_index(seen, ProgramSeen, 1).program.pid, 2);
}

/* A page is its program's to write: whatever it says is shown, in lines of the same kind. */
TEST(programs__of_absurd_figures)
{
    ProgramSeen p = a_program();
    memset(&p.program.figures, 0xFF, sizeof p.program.figures);
    p.program.pid = p.program.started_ns = UINT64_MAX;
    g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(ProgramSeen));
    g_autoptr(GString) table = g_string_new(NULL);
    g_autoptr(GString) json = g_string_new(NULL);
    g_array_append_val(seen, p);
    programs_table(seen, NOW, name_of, table);
    programs_json(seen, NOW, name_of, json);
    assert_int_equal(strcspn(strchr(table->str, '\n') + 1, "\n") + 1,
                     strlen(strchr(table->str, '\n') + 1));
    assert_non_null(strstr(json->str, "\"share\":0.3333"));
}

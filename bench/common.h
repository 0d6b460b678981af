/* SPDX-License-Identifier: MIT */
/* What the benchmark programs share: a data set whose every byte follows from its offset, so that
 * every byte read can be verified; percentiles. */
#ifndef DODO_BENCH_COMMON_H
#define DODO_BENCH_COMMON_H

#include <stddef.h>
#include <stdint.h>

/* The data set's bytes [offset, offset + len). */
void bench_data_make(uint64_t offset, void *buf, size_t len);
/* How many of the bytes are not what bench_data_make() gives. */
uint64_t bench_data_wrong(uint64_t offset, const void *buf, size_t len);
/* Writes the data set's bytes [offset, offset + len) to the same place of a file; 0 or -errno. */
int bench_file_write(int fd, uint64_t offset, uint64_t len);
/* Makes @path a data set of @size bytes, on the disk when it returns; 0 or -errno. */
int bench_file_make(const char *path, uint64_t size);

/* The value below which @permille of the @count values are; sorts them. 0 when there are none. */
uint32_t bench_percentile(uint32_t *values, size_t count, unsigned permille);
/* The value in the middle, the upper one of two; sorts them. @count > 0. */
double bench_median(double *values, size_t count);

#endif

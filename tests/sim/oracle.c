/* SPDX-License-Identifier: MIT */
/* What a read may return: each byte one that the file held at some instant during the call, or
 * one that an mwrite running beside it was writing. A read under way keeps what its range held
 * when it began and collects every value that comes up until it ends. */
#include "tests/sim/world.h"

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

static FileModel *model_of(SimFile *f)
{
    return f->user;
}

void oracle_bytes(uint32_t version, uint64_t offset, uint8_t *out, size_t len)
{
    uint64_t word = offset / 8, salt = mix64(version * 0x9e3779b97f4a7c15ull);
    while (len) {
        uint64_t v = (word ^ salt) * 0xd6e8feb86659fd93ull;
        v ^= v >> 32;
        v *= 0xd6e8feb86659fd93ull;
        v ^= v >> 29;
        size_t skip = offset % 8, n = 8 - skip < len ? 8 - skip : len;
        memcpy(out, (const uint8_t *)&v + skip, n);
        out += n;
        offset += n;
        len -= n;
        word++;
    }
}

/* The part of [offset, offset + len) that lies in the watch; false: none. */
static bool clip(const ReadWatch *r, uint64_t *offset, size_t *len)
{
    uint64_t end = *offset + *len, r_end = r->offset + r->len;
    if (*offset < r->offset)
        *offset = r->offset;
    if (end > r_end)
        end = r_end;
    *len = end > *offset ? (size_t)(end - *offset) : 0;
    return *len > 0;
}

static void add_version(ReadWatch *r, const WriteWatch *v)
{
    uint64_t offset = v->offset;
    size_t len = v->len;
    r->beside |= v->offset < r->offset + r->len + 4096 && r->offset < v->offset + v->len + 4096;
    if (v->offset + v->len > r->size_max && v->offset < r->offset + r->len)
        r->size_max = v->offset + v->len;
    if (!clip(r, &offset, &len))
        return;
    Alternative *a = must(malloc(sizeof *a));
    *a =
        (Alternative){.next = r->alternatives, .offset = offset, .len = len, .version = v->version};
    r->alternatives = a;
    r->overlapped = true;
}

static void add_bytes(ReadWatch *r, uint64_t offset, size_t len)
{
    if (!clip(r, &offset, &len))
        return;
    Alternative *a = must(malloc(sizeof *a + len));
    *a = (Alternative){.next = r->alternatives, .offset = offset, .len = len};
    memcpy(a->bytes, r->file->data + offset, len);
    r->alternatives = a;
}

/* Eight bytes of the write at a time, where it can be. */
static void mark_applied(WriteWatch *v, size_t at, size_t len)
{
    for (size_t end = at + len, step; at < end; at += step) {
        step = at % 8 == 0 && end - at >= 8 ? 8 : 1;
        uint8_t *byte = &v->applied[at / 8];
        uint8_t before = *byte;
        *byte |= (uint8_t)(step == 8 ? 0xff : 1u << at % 8);
        v->touched += (size_t)__builtin_popcount((uint8_t)(*byte ^ before));
    }
}

void oracle_file_changed(void *ctx, SimFile *file, uint64_t offset, size_t len, void *cookie)
{
    (void)ctx;
    FileModel *m = model_of(file);
    WriteWatch *v = cookie;
    LIST_FOREACH(n, &m->reads) {
        ReadWatch *r = CONTAINER_OF(n, ReadWatch, link);
        if (file->size > r->size_max)
            r->size_max = file->size;
        if (file->size < r->size_min)
            r->size_min = file->size;
        add_bytes(r, offset, len);
    }
    if (!v)
        return;
    mark_applied(v, offset - v->offset, len);
}

void oracle_read_begin(ReadWatch *r, SimFile *file, uint64_t offset, size_t len)
{
    FileModel *m = model_of(file);
    *r = (ReadWatch){.file = file,
                     .offset = offset,
                     .len = len,
                     .snapshot = must(malloc(len + 1)),
                     .size_min = file->size,
                     .size_max = file->size};
    memcpy(r->snapshot, file->data + offset, len);
    list_push_back(&m->reads, &r->link);
    LIST_FOREACH(n, &m->writes)
        add_version(r, CONTAINER_OF(n, WriteWatch, link));
}

static uint64_t inside(const ReadWatch *r, uint64_t size, size_t full)
{
    uint64_t have = size > r->offset ? size - r->offset : 0;
    return have < full ? have : full;
}

/* Marks in @right the bytes that one alternative explains. */
static void explain(const ReadWatch *r, const Alternative *a, const uint8_t *buf, size_t count,
                    uint8_t *right)
{
    uint8_t bytes[512];
    for (size_t done = 0; done < a->len;) {
        size_t n = a->len - done < sizeof bytes ? a->len - done : sizeof bytes;
        size_t at = a->offset + done - r->offset;
        if (a->version)
            oracle_bytes(a->version, a->offset + done, bytes, n);
        else
            memcpy(bytes, a->bytes + done, n);
        for (size_t i = 0; i < n && at + i < count; i++)
            right[at + i] |= buf[at + i] == bytes[i];
        done += n;
    }
}

static bool bytes_right(World *w, const ReadWatch *r, const uint8_t *buf, size_t count, char *why,
                        size_t cap)
{
    if (memcmp(buf, r->snapshot, count) == 0)
        return true;
    uint8_t *right = must(malloc(count));
    for (size_t i = 0; i < count; i++)
        right[i] = buf[i] == r->snapshot[i];
    for (const Alternative *a = r->alternatives; a; a = a->next)
        explain(r, a, buf, count, right);
    size_t first = 0, wrong = 0;
    for (size_t i = count; i-- > 0;) {
        if (!right[i]) {
            first = i;
            wrong++;
        }
    }
    free(right);
    if (!wrong) {
        cover(w, COVER_READS_OTHER_VALUE);
        return true;
    }
    (void)snprintf(why, cap,
                   "%zu bytes that the file never held during the call, the first at file offset "
                   "%llu (block %llu of the file)",
                   wrong, (unsigned long long)(r->offset + first),
                   (unsigned long long)((r->offset + first) / 4096));
    return false;
}

bool oracle_read_right(World *w, const ReadWatch *r, const uint8_t *buf, ssize_t count, size_t full,
                       char *why, size_t cap)
{
    uint64_t least = inside(r, r->size_min, full), most = inside(r, r->size_max, full);
    if ((uint64_t)count < least || (uint64_t)count > most) {
        (void)snprintf(why, cap, "count %zd where the file's end allows %llu to %llu", count,
                       (unsigned long long)least, (unsigned long long)most);
        return false;
    }
    return bytes_right(w, r, buf, (size_t)count, why, cap);
}

void oracle_read_end(ReadWatch *r)
{
    if (!r->file)
        return;
    list_remove(&r->link);
    for (Alternative *a = r->alternatives, *next; a; a = next) {
        next = a->next;
        free(a);
    }
    free(r->snapshot);
    *r = (ReadWatch){0};
}

void oracle_write_begin(World *w, WriteWatch *v, SimFile *file, uint64_t offset, size_t len)
{
    FileModel *m = model_of(file);
    *v = (WriteWatch){.file = file,
                      .offset = offset,
                      .len = len,
                      .version = ++w->next.version,
                      .applied = must(calloc(1, len / 8 + 1))};
    list_push_back(&m->writes, &v->link);
    LIST_FOREACH(n, &m->reads)
        add_version(CONTAINER_OF(n, ReadWatch, link), v);
}

size_t oracle_write_prefix(const WriteWatch *v)
{
    size_t i = 0;
    while (i + 8 <= v->len && v->applied[i / 8] == 0xff)
        i += 8;
    while (i < v->len && (v->applied[i / 8] >> i % 8 & 1))
        i++;
    return i;
}

void oracle_write_end(WriteWatch *v)
{
    if (!v->file)
        return;
    list_remove(&v->link);
    free(v->applied);
    *v = (WriteWatch){0};
}

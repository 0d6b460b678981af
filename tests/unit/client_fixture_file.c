/* SPDX-License-Identifier: MIT */
/* The file, which is an array, and what processes share of it. */
#include "tests/unit/client_fixture.h"

static void share_join(ShareAsk *ask)
{
    unsigned i = 0;
    while (w.shared.joined[i] && ask->share != &w.shared.of[i])
        i++;
    assert_in_range(i, 0, SHARES_MAX - 1);
    if (!w.shared.map) {
        w.shared.map = calloc(1, share_map_bytes(ask->name.name.len));
        share_map_begin(w.shared.map, &ask->name);
    }
    assert_true(share_map_good(w.shared.map, &ask->name));
    bool taken = w.shared.elsewhere;
    for (unsigned k = 0; k < SHARES_MAX; k++)
        taken |= w.shared.opener[k];
    ask->made = !taken && !w.shared.joined[i] && w.shared.map->present == 0;
    w.shared.map->present += !w.shared.joined[i];
    w.shared.joined[i] = true;
    w.shared.opener[i] |= !taken;
    w.shared.of[i].map = w.shared.map;
    ask->share = &w.shared.of[i];
    ask->opener = w.shared.opener[i];
}

void hook_share_end(void *ctx, Share *share)
{
    unsigned i = (unsigned)(share - w.shared.of);
    (void)ctx;
    assert_true(w.shared.joined[i]);
    w.shared.joined[i] = w.shared.opener[i] = false;
    w.shared.map->present--;
}

uint64_t file_stamp_taken(void)
{
    return w.disk.stamp_taken_ns ? w.disk.stamp_taken_ns : UINT64_MAX / 2;
}

Stamp file_stamp_now(void)
{
    if (w.disk.stamp.size)
        return w.disk.stamp;
    return (Stamp){.size = w.disk.size, .mtime_ns = 5, .ctime_ns = w.disk.stamp_moved ? 6 : 5};
}

void do_file(Call *call)
{
    FileResult r = {0};
    size_t left = call->file_offset < w.disk.size ? w.disk.size - call->file_offset : 0;
    bool hit = call->file_offset >= w.disk.error_from;
    if (call->need == NEED_FILE_READ && w.disk.read_error && hit) {
        r = (FileResult){.count = -1, .error = w.disk.read_error};
    } else if (call->need == NEED_FILE_READ) {
        r.count = (ssize_t)(call->file_len < left ? call->file_len : left);
        memcpy(call->file_buf, w.disk.bytes + call->file_offset, (size_t)r.count);
        w.disk.bytes_read += (uint64_t)r.count;
    } else if (call->need == NEED_FILE_WRITE) {
        call_file_taken(call);
        size_t n = w.disk.write_short && w.disk.write_short < call->file_len ? w.disk.write_short
                                                                             : call->file_len;
        if (w.disk.write_error && hit)
            r = (FileResult){.count = -1, .error = w.disk.write_error};
        else
            memcpy(w.disk.bytes + call->file_offset, call->file_buf,
                   (size_t)(r.count = (ssize_t)n));
    } else if (call->need == NEED_FILE_SYNC) {
        w.disk.syncs++;
        if (w.disk.sync_error)
            r = (FileResult){.count = -1, .error = w.disk.sync_error};
    } else if (call->need == NEED_CHECKS_SAVE) {
        assert_true(call->file_len <= sizeof w.record);
        memcpy(w.record, call->file_buf, w.record_len = call->file_len);
    } else if (call->need == NEED_CHECKS_LOAD) {
        assert_true(w.record_len <= call->file_len);
        memcpy(call->file_buf, w.record, w.record_len);
        r.count = (ssize_t)w.record_len;
    } else if (call->need == NEED_FILE_STAMP) {
        r.stamp = file_stamp_now();
        r.taken_ns = file_stamp_taken();
        r.granule_ns = NS_PER_MS;
        r.lease = w.disk.lease;
    } else if (call->need == NEED_SHARE) {
        share_join((ShareAsk *)(void *)call->file_buf);
    }
    call_file_done(call, &r, w.now);
}

/* SPDX-License-Identifier: MIT */
#include "rmd/input_report.h"

#include <errno.h>
#include <string.h>

/* Both ends are one program on one host: numbers have its own byte order. */
typedef struct Message {
    uint32_t number, idle_s;
    uint16_t devices, error, refused, unused;
} Message;
_Static_assert(sizeof(Message) == INPUT_REPORT_BYTES, "no bytes between");

void input_report_encode(const InputReport *r, uint32_t number, uint8_t ret[INPUT_REPORT_BYTES])
{
    const Message m = {.number = number,
                       .idle_s = r->idle_s,
                       .devices = r->devices,
                       .error = r->error,
                       .refused = r->refused};
    memcpy(ret, &m, sizeof m);
}

int input_report_decode(const uint8_t *bytes, size_t len, uint32_t *ret_number, InputReport *ret)
{
    Message m;
    if (len != sizeof m)
        return -EBADMSG;
    memcpy(&m, bytes, sizeof m);
    if (m.devices > INPUT_DEVICES_MAX || m.error > INPUT_ERROR_MAX || m.unused != 0)
        return -EBADMSG;
    *ret_number = m.number;
    *ret = (InputReport){
        .devices = m.devices, .error = m.error, .refused = m.refused, .idle_s = m.idle_s};
    return 0;
}

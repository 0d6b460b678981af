/* SPDX-License-Identifier: MIT */
/* What the process that watches input devices tells rmd, and how it is written. Pure. It says that
 * something was touched, and how many whole seconds ago; never what. */
#ifndef DODO_RMD_INPUT_REPORT_H
#define DODO_RMD_INPUT_REPORT_H

#include <stddef.h>
#include <stdint.h>

enum {
    INPUT_DEVICES_MAX = 64,
    INPUT_ERROR_MAX = 4095, /* of the kernel's */
    INPUT_REPORT_BYTES = 16,
};
#define INPUT_NO_NUMBER UINT16_MAX

typedef struct InputReport {
    uint16_t devices; /* that are open */
    uint16_t error;   /* errno of one that may not be opened; 0: none */
    uint16_t refused; /* its number, as in "event3"; INPUT_NO_NUMBER: it has none */
    uint32_t idle_s;  /* since the last activity; if there is no error, and a device */
} InputReport;

/* @number: of the request that it answers. */
void input_report_encode(const InputReport *r, uint32_t number, uint8_t ret[INPUT_REPORT_BYTES]);
/* 0; -EBADMSG: no report. */
int input_report_decode(const uint8_t *bytes, size_t len, uint32_t *ret_number, InputReport *ret);

#endif

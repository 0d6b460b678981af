/* SPDX-License-Identifier: MIT */
/* Files of transactions: both formats, in pieces of every size, whole and damaged. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "examples/transactions.h"
#include "tests/lib/case.h"

/* What a file holds, as text: transactions with a ';' after each. @step: bytes a piece. */
typedef struct Read {
    char text[4096];
    size_t len;
    int error;
    char why[160];
} Read;

static int take(TransactionReader *r, Read *ret)
{
    const uint32_t *items;
    size_t count;
    int n;
    while ((n = transactions_next(r, &items, &count)) > 0) {
        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || items[i] > items[i - 1]);
            if (ret->len + 16 < sizeof ret->text)
                ret->len += (size_t)sprintf(ret->text + ret->len, "%s%u", i ? " " : "", items[i]);
        }
        if (ret->len + 16 < sizeof ret->text)
            ret->len += (size_t)sprintf(ret->text + ret->len, ";");
    }
    return n;
}

static Read read_bytes(const void *bytes, size_t len, size_t step)
{
    TransactionReader r = {0};
    Read ret = {.len = 0};
    int n = 0;
    for (size_t at = 0; at < len && n == 0; at += step) {
        transactions_feed(&r, (const uint8_t *)bytes + at, len - at < step ? len - at : step);
        n = take(&r, &ret);
    }
    if (n == 0) {
        transactions_finish(&r);
        n = take(&r, &ret);
    }
    ret.error = n;
    memcpy(ret.why, r.error, sizeof ret.why);
    transactions_free(&r);
    return ret;
}

static void expect(const void *bytes, size_t len, const char *text)
{
    for (size_t step = 1; step <= len + 1; step++) {
        Read r = read_bytes(bytes, len, step);
        assert_int_equal(r.error, 0);
        assert_string_equal(r.text, text);
    }
}

static void expect_error(const void *bytes, size_t len, const char *why)
{
    for (size_t step = 1; step <= len + 1; step++) {
        Read r = read_bytes(bytes, len, step);
        assert_int_equal(r.error, -EBADMSG);
        assert_non_null(strstr(r.why, why));
    }
}
#define TEXT(s) (s), sizeof(s) - 1

TEST(text__is_read)
{
    expect(TEXT(""), "");
    expect(TEXT("1 2 3\n"), "1 2 3;");
    expect(TEXT("1 2 3"), "1 2 3;");
    expect(TEXT("  7\t8 \r\n9 \n"), "7 8;9;");
    expect(TEXT("0\n00012\n16777215\n"), "0;12;16777215;");
}

TEST(text__empty_lines_are_transactions)
{
    expect(TEXT("\n"), ";");
    expect(TEXT("1\n\n \n2\n"), "1;;;2;");
    expect(TEXT("1\n "), "1;;");
}

TEST(text__items_are_a_set)
{
    expect(TEXT("3 1 2\n5 5\n9 1 9 1 9\n"), "1 2 3;5;1 9;");
}

TEST(text__errors_tell_the_line)
{
    expect_error(TEXT("1 2\n3 x\n"), "line 2: 'x' is no digit");
    expect_error(TEXT("1,2\n"), "line 1: ',' is no digit");
    expect_error(TEXT("1\n2\n-3\n"), "line 3: '-' is no digit");
    expect_error(TEXT("1\n\x89PNG"), "line 2: byte 0x89 is no digit");
    expect_error(TEXT("\0\0\0\0"), "line 1: byte 0x00 is no digit");
    expect_error(TEXT("1 16777216\n"), "line 1: an item number above 16777215");
    expect_error(TEXT("99999999999999999999\n"), "line 1: an item number above 16777215");
}

/* The bytes of the format, as its description has them. */
static const uint8_t golden[] = {'D',  'O',  'D',  'O', 't', 'r',  '1',  '\n', 3,
                                 0,    0,    0,    0,   0,   0,    0,    3,    0x05,
                                 0x01, 0xac, 0x02, 0,   1,   0xff, 0xff, 0xff, 0x07};
static const char golden_text[] = "5 6 306;;16777215;";

TEST(binary__is_read)
{
    static const uint8_t none[16] = "DODOtr1\n";
    expect(golden, sizeof golden, golden_text);
    expect(none, sizeof none, "");
}

TEST(binary__is_written)
{
    static const uint32_t first[] = {5, 6, 306}, third[] = {16777215};
    uint8_t bytes[64];
    size_t len = TRANSACTIONS_HEADER_BYTES;
    transactions_header(3, bytes);
    len += transaction_write(TRANSACTIONS_BINARY, first, 3, bytes + len);
    len += transaction_write(TRANSACTIONS_BINARY, NULL, 0, bytes + len);
    len += transaction_write(TRANSACTIONS_BINARY, third, 1, bytes + len);
    assert_int_equal(len, sizeof golden);
    assert_memory_equal(bytes, golden, len);
    len = transaction_write(TRANSACTIONS_TEXT, first, 3, bytes);
    assert_memory_equal(bytes, "5 6 306\n", len);
    assert_int_equal(transaction_write(TRANSACTIONS_TEXT, NULL, 0, bytes), 1);
}

TEST(binary__truncated_is_reported)
{
    for (size_t len = 1; len < sizeof golden; len++)
        expect_error(golden, len, len < 16 ? "within its header" : "of 3 transactions");
}

/* The golden bytes with one changed and, perhaps, some more. */
static void expect_damage(size_t at, uint8_t byte, const char *why)
{
    uint8_t bytes[sizeof golden];
    memcpy(bytes, golden, sizeof bytes);
    bytes[at] = byte;
    expect_error(bytes, sizeof bytes, why);
}

TEST(binary__damage_is_reported)
{
    static const uint8_t many[] = "DODOtr1\n\1\0\0\0\0\0\0\0\xff\xff\xff\x07";
    uint8_t longer[sizeof golden + 1] = {0};
    expect_damage(3, 'x', "the mark of the binary format");
    expect_damage(12, 1, "the header tells of");
    expect_damage(8, 2, "2 transactions are followed by more bytes");
    expect_damage(8, 4, "the file ends after 3 of 4 transactions");
    expect_damage(18, 0, "transaction 1: an item that comes again");
    expect_damage(20, 0, "transaction 1: a number that is longer");
    expect_damage(26, 0x08, "transaction 3: a number that is too large");
    expect_damage(26, 0xff, "transaction 3: a number that is too large");
    expect_error(many, sizeof many - 1, "transaction 1: too many items");
    memcpy(longer, golden, sizeof golden);
    expect_error(longer, sizeof longer, "3 transactions are followed by more bytes");
}

TEST(binary__items_do_not_run_over)
{
    static const uint8_t bytes[] = "DODOtr1\n\1\0\0\0\0\0\0\0\2\xff\xff\xff\x07\1";
    expect_error(bytes, sizeof bytes - 1, "an item number that is too large");
}

/* Any sets come back from either format. */
TEST(formats__give_back_what_was_written)
{
    Random random = {1};
    uint8_t *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    for (unsigned round = 0; round < 200; round++) {
        enum TransactionFormat format = round % 2 ? TRANSACTIONS_TEXT : TRANSACTIONS_BINARY;
        uint32_t items[40], item = 0;
        size_t count = random_below(&random, 40), len = 0, text_len = 0;
        char text[1024] = "";
        for (size_t i = 0; i < count; i++) {
            item += 1 + (uint32_t)random_below(&random, (uint64_t)1 << (i % 19));
            items[i] = item;
            text_len += (size_t)sprintf(text + text_len, "%s%u", i ? " " : "", item);
        }
        text[text_len] = ';';
        if (format == TRANSACTIONS_BINARY) {
            transactions_header(1, bytes);
            len = TRANSACTIONS_HEADER_BYTES;
        }
        size_t n = transaction_write(format, items, count, bytes + len);
        assert_true(n <= count * TRANSACTION_BYTES_MAX_PER_ITEM + TRANSACTION_BYTES_MAX_BESIDE);
        Read r = read_bytes(bytes, len + n, 1 + random_below(&random, 9));
        assert_int_equal(r.error, 0);
        assert_string_equal(r.text, text);
    }
    free(bytes);
}

TEST(next__takes_no_more_items_than_it_may)
{
    size_t len = 2 * (size_t)(TRANSACTION_ITEMS_MAX + 1);
    char *text = malloc(len);
    assert_non_null(text);
    for (size_t i = 0; i < len; i += 2)
        memcpy(text + i, "1 ", 2);
    Read r = read_bytes(text, len - 2, len);
    assert_int_equal(r.error, 0);
    assert_string_equal(r.text, "1;");
    r = read_bytes(text, len, len);
    assert_int_equal(r.error, -EBADMSG);
    assert_non_null(strstr(r.why, "transaction 1: more than 1048576 items"));
    free(text);
}

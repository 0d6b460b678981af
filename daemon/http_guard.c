/* SPDX-License-Identifier: MIT */
#include "daemon/http_guard.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "base/addr.h"
#include "base/parse.h"

enum {
    USER_MAX = 128, /* bytes of a user's name, which does not matter */
    BASIC_MAX = (USER_MAX + 1 + HTTP_TOKEN_MAX + 2) / 3 * 4
};

bool http_is_token(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._~+/=";
    size_t len = strlen(text);
    return len >= HTTP_TOKEN_MIN && len <= HTTP_TOKEN_MAX && strspn(text, allowed) == len;
}

/* What follows the scheme; NULL: it is another one. */
static const char *after_scheme(const char *authorization, const char *scheme)
{
    size_t len = strlen(scheme);
    return strncasecmp(authorization, scheme, len) == 0 ? authorization + len : NULL;
}

static bool is_same(const char *given, size_t len, const char token[HTTP_TOKEN_MAX])
{
    char padded[HTTP_TOKEN_MAX] = "";
    if (len > sizeof padded)
        return false;
    memcpy(padded, given, len);
    bool same = CRYPTO_memcmp(padded, token, sizeof padded) == 0;
    OPENSSL_cleanse(padded, sizeof padded);
    return same;
}

/* USER:PASSWORD in base64. */
static bool basic_has(const char *text, const char token[HTTP_TOKEN_MAX])
{
    unsigned char plain[BASIC_MAX / 4 * 3 + 1];
    size_t len = strlen(text);
    if (len == 0 || len > BASIC_MAX || len % 4 != 0)
        return false;
    int n = EVP_DecodeBlock(plain, (const unsigned char *)text, (int)len);
    if (n < 0)
        return false;
    size_t bytes = (size_t)n - (text[len - 1] == '=') - (text[len - 2] == '=');
    const char *colon = memchr(plain, ':', bytes);
    const char *end = (const char *)plain + bytes;
    bool same = colon && is_same(colon + 1, (size_t)(end - colon - 1), token);
    OPENSSL_cleanse(plain, sizeof plain);
    return same;
}

bool http_has_token(const char *authorization, const char token[HTTP_TOKEN_MAX])
{
    const char *said;
    if (!authorization)
        return false;
    if ((said = after_scheme(authorization, "Bearer ")) != NULL)
        return is_same(said, strlen(said), token);
    if ((said = after_scheme(authorization, "Basic ")) != NULL)
        return basic_has(said, token);
    return false;
}

bool http_host_is_ours(const char *host)
{
    static const char name[] = "localhost";
    Addr a;
    if (!host || addr_parse(host, 80, &a) == 0)
        return true;
    if (strncasecmp(host, name, sizeof name - 1) != 0)
        return false;
    host += sizeof name - 1;
    return !*host || (*host == ':' && strspn(host + 1, "0123456789") == strlen(host + 1));
}

bool http_query_since(const char *query, uint64_t *ret)
{
    static const char name[] = "since=";
    *ret = 0;
    return !query || (strncmp(query, name, sizeof name - 1) == 0 &&
                      parse_u64(query + sizeof name - 1, 0, UINT64_MAX, ret) == 0);
}

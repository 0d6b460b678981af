/* SPDX-License-Identifier: MIT */
/* Who gets an answer of the metrics' server. */
#include <stdio.h>
#include <string.h>

#include <openssl/evp.h>

#include "base/cleanup.h"
#include "daemon/http_guard.h"
#include "tests/lib/case.h"

static const char TOKEN[HTTP_TOKEN_MAX] = "Aa0-._~+/=Aa0-._~+/=";

static bool basic(const char *user_password)
{
    char header[1024] = "Basic ";
    (void)EVP_EncodeBlock((unsigned char *)header + strlen(header),
                          (const unsigned char *)user_password, (int)strlen(user_password));
    return http_has_token(header, TOKEN);
}

TEST(token__as_bearer)
{
    static const char *const wrong[] = {"",
                                        "Bearer",
                                        "Bearer ",
                                        "Bearer Aa0-._~+/=Aa0-._~+/",
                                        "Bearer Aa0-._~+/=Aa0-._~+/=x",
                                        "Bearer  Aa0-._~+/=Aa0-._~+/=",
                                        "Aa0-._~+/=Aa0-._~+/=",
                                        "Digest Aa0-._~+/=Aa0-._~+/=",
                                        "Basic Aa0-._~+/=Aa0-._~+/="};
    char longer[HTTP_TOKEN_MAX + 32] = "Bearer ";
    assert_true(http_has_token("Bearer Aa0-._~+/=Aa0-._~+/=", TOKEN));
    assert_true(http_has_token("bearer Aa0-._~+/=Aa0-._~+/=", TOKEN));
    assert_false(http_has_token(NULL, TOKEN));
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_false(http_has_token(wrong[i], TOKEN));
    memset(longer + 7, 'x', HTTP_TOKEN_MAX + 1);
    assert_false(http_has_token(longer, TOKEN));
}

TEST(token__as_a_password)
{
    char line[600];
    assert_true(basic("dodo:Aa0-._~+/=Aa0-._~+/="));
    assert_true(basic(":Aa0-._~+/=Aa0-._~+/="));
    assert_true(basic("ab:Aa0-._~+/=Aa0-._~+/=")); /* each padding */
    assert_true(basic("abc:Aa0-._~+/=Aa0-._~+/="));
    assert_false(basic("dodo:Aa0-._~+/=Aa0-._~+/"));
    assert_false(basic("dodo:Aa0-._~+/=Aa0-._~+/=x"));
    assert_false(basic("dodo:"));
    assert_false(basic("Aa0-._~+/=Aa0-._~+/="));
    assert_false(basic("a:b:Aa0-._~+/=Aa0-._~+/="));
    (void)snprintf(line, sizeof line, "%0400d:%s", 0, TOKEN);
    assert_false(basic(line));
    assert_false(http_has_token("Basic ", TOKEN));
    assert_false(http_has_token("Basic ====", TOKEN));
    assert_false(http_has_token("Basic !!!!", TOKEN));
    assert_false(http_has_token("Basic Og", TOKEN));
}

/* The longest token there may be has room in a password, too. */
TEST(token__of_full_length)
{
    char token[HTTP_TOKEN_MAX], line[HTTP_TOKEN_MAX + 16], header[1024] = "Basic ";
    memset(token, 't', sizeof token);
    (void)snprintf(line, sizeof line, "dodo:%.*s", HTTP_TOKEN_MAX, token);
    (void)EVP_EncodeBlock((unsigned char *)header + strlen(header), (const unsigned char *)line,
                          (int)strlen(line));
    assert_true(http_has_token(header, token));
    line[20] = 'T';
    (void)EVP_EncodeBlock((unsigned char *)header + 6, (const unsigned char *)line,
                          (int)strlen(line));
    assert_false(http_has_token(header, token));
}

TEST(token__looks_like_one)
{
    char text[HTTP_TOKEN_MAX + 2] = "";
    memset(text, 'a', HTTP_TOKEN_MAX);
    assert_true(http_is_token(text));
    text[HTTP_TOKEN_MAX] = 'a';
    assert_false(http_is_token(text));
    assert_true(http_is_token("0123456789abcdef"));
    assert_false(http_is_token("0123456789abcde"));
    assert_false(http_is_token("0123456789abcde "));
}

TEST(host__is_no_name_of_others)
{
    static const char *const ours[] = {"127.0.0.1:7710", "127.0.0.1", "[::1]:7710", "10.0.0.1:80",
                                       "localhost:7710", "localhost", "LocalHost:1"};
    static const char *const others[] = {"evil.example",
                                         "evil.example:7710",
                                         "localhost.evil.example",
                                         "127.0.0.1.evil.example:7710",
                                         "",
                                         "localhost:7710:1",
                                         "127.0.0.1:x"};
    assert_true(http_host_is_ours(NULL));
    for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
        assert_true(http_host_is_ours(ours[i]));
    for (size_t i = 0; i < ARRAY_SIZE(others); i++)
        assert_false(http_host_is_ours(others[i]));
}

TEST(query__is_a_number_or_none)
{
    static const char *const wrong[] = {
        "",         "since",    "since=",      "since=x",
        "since=-1", "since=1&", "a=1&since=1", "since=18446744073709551616"};
    uint64_t n;
    n = 77;
    assert_true(http_query_since(NULL, &n));
    assert_int_equal(n, 0);
    assert_true(http_query_since("since=18446744073709551615", &n));
    assert_true(n == UINT64_MAX);
    for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
        assert_false(http_query_since(wrong[i], &n));
}

/* SPDX-License-Identifier: MIT */
/* What a request to the metrics' server says of itself, and whether it may have an answer. Pure. */
#ifndef DODO_DAEMON_HTTP_GUARD_H
#define DODO_DAEMON_HTTP_GUARD_H

#include <stdbool.h>
#include <stdint.h>

enum { HTTP_TOKEN_MIN = 16, HTTP_TOKEN_MAX = 256 };

/* Letters, digits and -._~+/=, neither too few nor too many. */
bool http_is_token(const char *text);
/* Whether the header Authorization (NULL: there is none) has @token, with zeros after its end:
 * "Bearer TOKEN", or "Basic ..." with it as the password of any user. In a time that tells nothing
 * of the token. */
bool http_has_token(const char *authorization, const char token[HTTP_TOKEN_MAX]);
/* The header Host (NULL: there is none) is a numeric address or localhost. A page of somebody
 * else's that makes a browser ask us by a name of his own, which he lets point here, is not to read
 * us. */
bool http_host_is_ours(const char *host);
/* "since=N", or no query: N is 0. False: it is another one. */
bool http_query_since(const char *query, uint64_t *ret);

#endif

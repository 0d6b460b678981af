/* SPDX-License-Identifier: MIT */
/* Starting a daemon or tool: who it is (cluster, keys), where it listens, and the report that it is
 * ready. Failures leave one line in @error that says what to fix. */
#ifndef DODO_DAEMON_START_H
#define DODO_DAEMON_START_H

#include <sys/types.h>

#include "base/resolve.h"
#include "daemon/config.h"
#include "daemon/config_changes.h"
#include "proto/endpoint.h"
#include "usocket/port.h"
#include "usocket/transport.h"

enum { EXIT_START = 1, EXIT_USAGE = 2 };

/* Cluster number and keys into @ret; its other fields are zeroed, but for what the options say.
 * Without a key, every address of @addresses must be a loopback one, unless --insecure. 0, -errno.
 */
int start_identity(const CommonOptions *o, const Addr *const *addresses, unsigned count,
                   EndpointConfig *ret, char error[CONFIG_ERROR_MAX]);
/* The same for a daemon that listens at @listen and has its manager at one of @places. */
int start_member_identity(const CommonOptions *o, const Addr *listen, const Places *places,
                          EndpointConfig *ret, char error[CONFIG_ERROR_MAX]);
/* Where the manager may be: what the options say. False: they name none. */
bool start_places(const CommonOptions *o, Places *ret);
/* Without a key, and without --insecure, only loopback addresses count. */
bool start_is_bound(const CommonOptions *o);
/* The manager's addresses among them, and @listen, where the daemon listens: one family; NULL, or
 * of kind ADDR_NONE: that is not known. What a name stands for is not known yet. 0, -errno. */
int start_manager(const CommonOptions *o, const Addr *listen, Places *ret,
                  char error[CONFIG_ERROR_MAX]);
/* Who is meant, for a line of the log: "NAMES" as given, or "10.0.0.1:7700" once one is asked. */
const char *start_manager_text(const CommonOptions *o, const Addr *peer, char buf[ADDR_TEXT_MAX]);
/* Whether answers can come from @listen: it is one address, and one that others reach. 0, -EINVAL.
 */
int start_listen_check(const Addr *listen, char error[CONFIG_ERROR_MAX]);
/* A transport bound to @listen, which must name one address of this host: what answers must answer
 * from the address it was asked at. */
int start_listen(const Addr *listen, const TransportOptions *options, Transport **ret,
                 char error[CONFIG_ERROR_MAX]);
/* The same with raw frames beside it, if there are any: *@ret_raw as transport_raw_open() has
 * it. */
int start_listen_raw(const Addr *listen, const TransportOptions *options, const TransportRaw *raw,
                     Transport **ret, int *ret_raw, char error[CONFIG_ERROR_MAX]);
/* A socket at @listen, as a port of an endpoint that @config is of. 0, -errno. */
int start_port(Port *p, const Addr *listen, const TransportOptions *options,
               const EndpointConfig *config, const PortOps *ops, void *ctx,
               char error[CONFIG_ERROR_MAX]);
/* Started by root: becomes the user that the options name, permanently, before anything is opened.
 * A process that is not root cannot become another. 0, -errno. */
int start_as_user(const CommonOptions *o, char error[CONFIG_ERROR_MAX]);
/* The same, and without these supplementary groups, as far as we may drop them. */
int start_as_user_without(const CommonOptions *o, const gid_t *groups, size_t count,
                          char error[CONFIG_ERROR_MAX]);
/* Whether we are in one of them. */
bool start_has_group(const gid_t *groups, size_t count);
/* Keys, as a key file has them. */
typedef struct ClusterKeys {
    uint32_t count; /* 0: there is no key file */
    ClusterKey keys[CLUSTER_KEYS_MAX];
} ClusterKeys;
/* Those of the options' key file. To be wiped. 0, -errno: @ret has none. */
int start_read_keys(const CommonOptions *o, ClusterKeys *ret, char error[CONFIG_ERROR_MAX]);
/* New keys for @endpoint. One that had none cannot get any, and one that has some cannot lose them.
 * 0; 1: they are others than before; -errno: all is as it was. */
int start_set_keys(Endpoint *endpoint, const ClusterKeys *keys, uint64_t now_ns,
                   char error[CONFIG_ERROR_MAX]);
/* The key file once more, for @endpoint; the level of the log. As start_set_keys(). */
int start_reload(const CommonOptions *o, Endpoint *endpoint, uint64_t now_ns,
                 char error[CONFIG_ERROR_MAX]);
/* The log's lines of a reload: "reloaded", with what is in effect now and @more, its "key=value"
 * pairs; and what must wait for a start, if anything must. */
void start_log_reload(const ConfigChanges *changes, const char *more);
/* That it goes on with what it has, and why. */
void start_log_not_reloaded(const char *error);
/* A text among the options in effect is now what was read; the options read lose it. */
void start_take_text(char **field, char **read);
/* First thing in a daemon's main(): what it cannot write to a file of full length is lost, and ends
 * nothing. Who execs another program gives it the default back. */
void start_ignore_full_files(void);
/* That there is room enough on the stacks, of threads, too: reading the options takes some already.
 * 0, -ENOMEM. */
enum { START_STACK_KIB = 256 };
int start_stack(char error[CONFIG_ERROR_MAX]);
/* So many descriptors are enough for cmd, for rmd, and for an imd of up to 4 data threads, with all
 * connections of the page of metrics; each further data thread has its own. */
enum { START_DESCRIPTORS = 64, START_DESCRIPTORS_OF_A_THREAD = 4 };
/* That so many descriptors may be open: raises our limit up to @wanted, if it is lower. Without
 * them libevent and GLib end the process, and not by our words. 0, -EMFILE. */
int start_descriptors(unsigned wanted, char error[CONFIG_ERROR_MAX]);
/* A thread or process that the daemon needs, @what, cannot be started: why, and which limit may be
 * too low. @res: -errno. */
void start_explain(int res, const char *what, char error[CONFIG_ERROR_MAX]);
/* No core file holds what this process does, and no other process of the user may look into it.
 * Allowed again when keys and data are gone. */
void start_forbid_dumps(void);
void start_allow_dumps(void);
/* "64M": exact, and as --pool takes it. Returns @buf. */
char *start_size(uint64_t bytes, char *buf, size_t cap);
/* What the command line said is for the library, too, which looks into the environment. Before any
 * other thread is there. */
void start_tell_library(const CommonOptions *o);
/* Prints the line to stdout and informs the service manager (NOTIFY_SOCKET). A daemon that runs as
 * root says so in the log. */
void start_ready(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of a program that may well be root's. */
void start_announce(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The way to the service manager, for who gives up the right to open sockets. */
void start_keep_notifier(void);
/* Tells the service manager that the end has begun. */
void start_stopping(void);
/* Prints "PROGRAM: ERROR" to stderr for a config_load() that was not CONFIG_OK; the exit status. */
int start_config_failed(const ConfigProgram *program, enum ConfigOutcome outcome,
                        const char *error);
/* Prints "PROGRAM: ERROR" to stderr, in one line; returns @status. */
int start_failed(const ConfigProgram *program, int status, const char *error);

#endif

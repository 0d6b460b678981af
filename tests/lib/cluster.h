/* SPDX-License-Identifier: MIT */
/* A private cluster for tests of the library: cmd and imds as child processes on loopback, on ports
 * that the kernel picks, in a directory of their own. Whatever fails here ends the test at once,
 * with what the daemons said. They die with the thread that started them. */
#ifndef DODO_TESTS_LIB_CLUSTER_H
#define DODO_TESTS_LIB_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { CLUSTER_IMDS_MAX = 8, CLUSTER_PATIENCE_MS = 150 * 1000 };

typedef struct Daemon {
    pid_t pid;        /* 0: not running */
    int out;          /* what it prints and logs */
    char address[64]; /* of an imd, as it tells it, and dodo status */
    char said[8192];
    size_t said_len;
} Daemon;

typedef struct Cluster {
    char dir[64];     /* removed at the end, with the files that the test made there */
    char manager[64]; /* its address */
    Daemon cmd;
    Daemon imds[CLUSTER_IMDS_MAX];
    unsigned imds_count;
} Cluster;

int64_t now_ms(void); /* CLOCK_MONOTONIC */

/* Paths of the programs. */
void cluster_programs(const char *cmd, const char *imd);
/* The same from a test's command line, "TEST CMD IMD"; of another it ends with the usage. */
void cluster_arguments(int argc, char **argv);
/* Starts cmd. @config: more lines for dodo.conf, or NULL. Sets the environment by which the library
 * and child processes find the cluster. */
void cluster_start(Cluster *c, const char *config, bool sealed);
/* Starts another imd with @pool; it has joined when this returns. */
Daemon *cluster_imd(Cluster *c, const char *pool);
/* The same, owned: *ret_owner is the end of its socket pair that the test plays rmd on. */
Daemon *cluster_imd_owned(Cluster *c, const char *pool, int *ret_owner);
/* Whether @host, as dodo_stat() tells it, is this imd. */
bool cluster_is_host(const Daemon *imd, const char *host);
/* Another manager on the same port, in place of one that was ended. */
void cluster_cmd_again(Cluster *c);
/* Waits until the daemon says a line with @word in it. */
void daemon_says(Daemon *d, const char *word);
/* SIGKILL, and waits for its end. */
void daemon_kill(Daemon *d);
void cluster_end(Cluster *c);

/* On standard error, for a test that waits in vain: in which system call each thread of the daemons
 * and of @pid is, and what the daemons have said. */
void cluster_tell(Cluster *c, pid_t pid);

/* A new file in the cluster's directory: an open descriptor, 0 bytes long; its path in @ret_path,
 * if not NULL. */
int cluster_file(Cluster *c, char ret_path[128]);
/* Until a later change of the file gives another stamp. */
void file_settle(int fd);
/* Its key, as it stands in memory. */
void cluster_key(const Cluster *c, unsigned char ret_key[32]);

/* What this host has for pools. */
uint64_t cluster_memory_available(void);

/* Runs this very program as "PROGRAM child ARGS...", @args ending with NULL; returns its pid. */
pid_t child_start(const char *const *args);
/* Waits for a child's end, not longer than the patience: then it is killed, and that is -1. Else
 * its wait status. */
int child_wait(pid_t pid);
/* SIGSTOP, and waits until all its threads stand still: the signal takes its time. */
void process_pause(pid_t pid);
/* The same, and it must have exited with 0; else the test ends here. */
void child_must_succeed(pid_t pid, const char *what);

#endif

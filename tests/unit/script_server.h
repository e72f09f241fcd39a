/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server on loopback that follows a script: per step it takes a request (on a new connection where none is open),
 * keeps its bytes, answers as written and does something with the connection. Runs in a thread of its own.
 */
#ifndef SCRIPT_SERVER_H
#define SCRIPT_SERVER_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum script_then {
    SCRIPT_KEEP, /* wait for the next request on the same connection */
    SCRIPT_CLOSE,
    SCRIPT_RESET, /* close with RST */
    SCRIPT_HANG, /* do nothing until the client closes, or the server is stopped */
    SCRIPT_DRIP, /* send the answer a byte at a time, 20 ms apart, without an end */
};

enum script_take {
    SCRIPT_WHOLE, /* read the request's head and body */
    SCRIPT_HEAD, /* read only up to the empty line */
    SCRIPT_NOTHING, /* accept, and do not read at all */
};

struct script_step {
    const char *answer; /* NULL: none */
    size_t answer_bytes; /* 0: strlen */
    enum script_then then;
    enum script_take take;
};

enum { SCRIPT_STEPS_MAX = 8, SCRIPT_REQUEST_BYTES = 1024 * 1024 };

struct script_server {
    uint16_t port;
    int listen_fd, stop_fd;
    pthread_t thread;
    const struct script_step *steps;
    size_t step_count;
    /* Valid after script_server_stop. */
    size_t connection_count;
    size_t request_count;
    char *requests[SCRIPT_STEPS_MAX]; /* NUL-terminated; as far as they were read */
    size_t request_connections[SCRIPT_STEPS_MAX]; /* on the how-manieth connection, from 1 */
};

/* Listens on 127.0.0.1 and a port of the system's choice. */
void script_server_start(struct script_server *server, const struct script_step *steps, size_t step_count);

/* Ends the thread, wherever it is. */
void script_server_stop(struct script_server *server);

void script_server_free(struct script_server *server);

#endif

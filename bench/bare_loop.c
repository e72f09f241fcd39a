/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the given files once in every interval, asks for the space of a filesystem, and writes so many bytes: what a
 * sample asks of the kernel, without understanding any of it. Usage: bare_loop INTERVAL_MS BYTES OUTPUT MOUNT FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

enum { FILES_MAX = 64, BUFFER_BYTES = 65536 };

static char buffer[BUFFER_BYTES];

int main(int argc, char **argv)
{
    if (argc < 6 || argc > FILES_MAX + 5) {
        fprintf(stderr, "usage: bare_loop INTERVAL_MS BYTES OUTPUT MOUNT FILE...\n");
        return 2;
    }
    long interval_ms = strtol(argv[1], NULL, 10);
    size_t bytes = (size_t)strtol(argv[2], NULL, 10) % BUFFER_BYTES;
    int output = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int fds[FILES_MAX];
    int count = argc - 5;
    for (int i = 0; i < count; i++) {
        fds[i] = open(argv[5 + i], O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0) {
            perror(argv[5 + i]);
            return 1;
        }
    }
    struct timespec next;
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    while (interval_ms > 0 && output >= 0) {
        for (int i = 0; i < count; i++) {
            if (pread(fds[i], buffer, 4096, 0) < 0)
                return 1;
        }
        struct statfs space;
        (void)statfs(argv[4], &space);
        memset(buffer, 'x', bytes);
        if (write(output, buffer, bytes) < 0)
            return 1;
        next.tv_sec += interval_ms / 1000;
        next.tv_nsec += interval_ms % 1000 * 1000000;
        if (next.tv_nsec >= 1000000000) {
            next.tv_sec++;
            next.tv_nsec -= 1000000000;
        }
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
    }
    return 0;
}

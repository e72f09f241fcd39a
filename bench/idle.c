/* SPDX-License-Identifier: Apache-2.0 */
/* The root of a tree of processes that do nothing until they are killed. Usage: idle COUNT FAN_OUT
 * COUNT includes the root; each process has at most FAN_OUT children. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT_MAX 100000L

static _Noreturn void grow(long count, long fan_out)
{
    long below = count - 1;
    long left = below < fan_out ? below : fan_out;
    while (left > 0) {
        long part = below / left;
        pid_t pid = fork();
        if (pid < 0) {
            perror("idle: fork");
            break;
        }
        if (pid == 0) {
            below = part - 1;
            left = below < fan_out ? below : fan_out;
        } else {
            below -= part;
            left--;
        }
    }
    for (;;)
        (void)pause();
}

int main(int argc, char **argv)
{
    long count = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    long fan_out = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    if (count < 1 || count > COUNT_MAX || fan_out < 1) {
        fprintf(stderr, "usage: idle COUNT FAN_OUT\n");
        return 2;
    }
    grow(count, fan_out);
}

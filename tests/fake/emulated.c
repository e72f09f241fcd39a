/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts PROGRAM, built for another processor, under EMULATOR, so that tests name it by one path. Not a shell script: a
 * shell would edit the environment. The program sees the name that it was started by.
 */
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
    char *before[] = {EMULATOR, "-0", words[0], PROGRAM};
    enum { BEFORE = sizeof(before) / sizeof(before[0]) };
    char **all = calloc(BEFORE + (size_t)count, sizeof(*all));
    if (!all)
        return 125;
    for (int i = 0; i < BEFORE; i++)
        all[i] = before[i];
    for (int i = 1; i < count; i++)
        all[BEFORE - 1 + i] = words[i];
    execv(all[0], all);
    return 125;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays the corpus of a fuzz target in the plain suite: every seed as it is, cut short at every eighth of its length,
 * and with bytes changed in a fixed pseudo-random way. Prints TAP, one line per seed; a crash is the failure.
 * Usage: replay_NAME CORPUS_DIRECTORY
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SEED_BYTES_MAX = 1024 * 1024, MUTATIONS = 64 };

/* A copy of the exact size, so that a read behind the end is seen by the sanitizers. */
static void play(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void play_mutations(uint8_t *data, size_t size)
{
    uint32_t state = 12345;
    for (int round = 0; round < MUTATIONS && size > 0; round++) {
        state = state * 1664525U + 1013904223U;
        size_t at = (state >> 8) % size;
        uint8_t kept = data[at];
        data[at] = (uint8_t)(round % 4 == 0 ? 0 : round % 4 == 1 ? 0xff : round % 4 == 2 ? '9' : state >> 24);
        play(data, size);
        if (round % 8 != 7)
            data[at] = kept;
    }
}

static int play_file(const char *directory, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t *data = malloc(SEED_BYTES_MAX);
    ssize_t n = fd >= 0 && data ? read(fd, data, SEED_BYTES_MAX) : -1;
    if (n >= 0) {
        size_t size = (size_t)n;
        play(data, size);
        for (size_t eighth = 0; eighth < 8; eighth++)
            play(data, size * eighth / 8);
        play_mutations(data, size);
    }
    free(data);
    if (fd >= 0)
        (void)close(fd);
    return n >= 0 ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct dirent **entries = NULL;
    int count = argc == 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1;
    int played = 0;
    int failed = 0;
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            int r = play_file(argv[1], entries[i]->d_name);
            printf("%sok %d - %s\n", r < 0 ? "not " : "", ++played, entries[i]->d_name);
            (void)fflush(stdout);
            failed += r < 0;
        }
        free(entries[i]);
    }
    free(entries);
    printf("1..%d\n", played);
    return played == 0 || failed > 0;
}

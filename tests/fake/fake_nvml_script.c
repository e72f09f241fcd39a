/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_nvml_script.h. */
#include "fake_nvml_script.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SCRIPT_BYTES = 16384, WORDS_MAX = 6 };

struct fake_number {
    const char *key;
    size_t offset;
};

#define NUMBER(type, member)                                                                                           \
    {                                                                                                                  \
#member, offsetof(struct type, member)                                                                         \
    }

static const struct fake_number script_numbers[] = {
    NUMBER(fake_script, gpus),
    NUMBER(fake_script, cuda),
    NUMBER(fake_script, init_error),
    NUMBER(fake_script, garbage),
    NUMBER(fake_script, partial),
    NUMBER(fake_script, wipe),
    NUMBER(fake_script, row_bytes),
    {0},
};

static const struct fake_number gpu_numbers[] = {
    NUMBER(fake_gpu, index),
    NUMBER(fake_gpu, util),
    NUMBER(fake_gpu, memutil),
    NUMBER(fake_gpu, used),
    NUMBER(fake_gpu, total),
    NUMBER(fake_gpu, reserved),
    NUMBER(fake_gpu, temp),
    NUMBER(fake_gpu, power),
    NUMBER(fake_gpu, clock),
    NUMBER(fake_gpu, throttle),
    NUMBER(fake_gpu, cores),
    NUMBER(fake_gpu, energy),
    NUMBER(fake_gpu, energy_step),
    NUMBER(fake_gpu, mig),
    NUMBER(fake_gpu, crowd),
    NUMBER(fake_gpu, sample_crowd),
    {0},
};

static const char *const fault_kinds[] = {"fail", "hang", "hang_after", "abort", "exit", "segv", "slow", NULL};

static _Noreturn void script_give_up(const char *line)
{
    fprintf(stderr, "fake_nvml: not understood: %s\n", line);
    abort();
}

static uint64_t script_number(const char *word)
{
    char *end = NULL;
    if (strcmp(word, "none") == 0)
        return FAKE_NONE;
    uint64_t value = strtoull(word, &end, 0);
    if (end == word || *end)
        script_give_up(word);
    return value;
}

static bool script_set_number(void *object, const struct fake_number *table, const char *key, const char *value)
{
    for (; table->key; table++) {
        if (strcmp(table->key, key) == 0) {
            uint64_t number = script_number(value);
            memcpy((char *)object + table->offset, &number, sizeof(number));
            return true;
        }
    }
    return false;
}

static void script_set_text(char out[static FAKE_TEXT_BYTES], const char *text)
{
    (void)snprintf(out, FAKE_TEXT_BYTES, "%s", text);
}

/* Cuts the next word off; "" at the end. */
static char *script_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t");
    size_t n = strcspn(word, " \t");
    *rest = word[n] ? word + n + 1 : word + n;
    word[n] = '\0';
    return word;
}

static struct fake_gpu *script_gpu(struct fake_script *script, uint64_t i, const char *line)
{
    if (i >= FAKE_GPUS_MAX)
        script_give_up(line);
    return &script->gpu[i];
}

static void script_gpu_line(struct fake_script *script, char *rest)
{
    struct fake_gpu *gpu = script_gpu(script, script_number(script_word(&rest)), rest);
    const char *key = script_word(&rest);
    rest += strspn(rest, " \t");
    if (strcmp(key, "name") == 0)
        script_set_text(gpu->name, rest);
    else if (strcmp(key, "uuid") == 0)
        script_set_text(gpu->uuid, rest);
    else if (strcmp(key, "bus") == 0)
        script_set_text(gpu->bus, rest);
    else if (!script_set_number(gpu, gpu_numbers, key, script_word(&rest)))
        script_give_up(key);
}

/* GPU or GPU/INSTANCE, then the PID. */
static struct fake_row *script_row(struct fake_row *rows, size_t *count, char **rest)
{
    if (*count == FAKE_ROWS_MAX)
        script_give_up(*rest);
    struct fake_row *row = &rows[(*count)++];
    char *place = script_word(rest);
    char *slash = strchr(place, '/');
    row->instance = slash ? script_number(slash + 1) : FAKE_NONE;
    if (slash)
        *slash = '\0';
    row->gpu = script_number(place);
    script_set_text(row->pid, script_word(rest));
    return row;
}

static void script_fault_line(struct fake_script *script, const char *kind, char *rest)
{
    if (script->fault_count == FAKE_FAULTS_MAX)
        script_give_up(rest);
    struct fake_fault *fault = &script->faults[script->fault_count++];
    script_set_text(fault->kind, kind);
    script_set_text(fault->call, script_word(&rest));
    const char *value = script_word(&rest);
    fault->value = *value ? script_number(value) : 0;
    const char *gpu = script_word(&rest);
    fault->gpu = *gpu ? script_number(gpu) : FAKE_NONE;
}

static bool script_is_fault(const char *key)
{
    for (size_t i = 0; fault_kinds[i]; i++) {
        if (strcmp(fault_kinds[i], key) == 0)
            return true;
    }
    return false;
}

static void script_line(struct fake_script *script, char *line)
{
    char *rest = line;
    const char *key = script_word(&rest);
    if (!*key || *key == '#')
        return;
    if (strcmp(key, "gpu") == 0) {
        script_gpu_line(script, rest);
    } else if (strcmp(key, "process") == 0) {
        struct fake_row *row = script_row(script->processes, &script->process_count, &rest);
        row->vram = script_number(script_word(&rest));
        script_set_text(row->kind, script_word(&rest));
    } else if (strcmp(key, "sample") == 0) {
        struct fake_row *row = script_row(script->samples, &script->sample_count, &rest);
        row->sm = script_number(script_word(&rest));
        const char *age = script_word(&rest);
        row->age_ms = *age ? script_number(age) : 0;
    } else if (script_is_fault(key)) {
        script_fault_line(script, key, rest);
    } else if (strcmp(key, "driver") == 0) {
        script_set_text(script->driver, rest);
    } else if (strcmp(key, "count_file") == 0) {
        script_set_text(script->count_file, rest);
    } else if (!script_set_number(script, script_numbers, key, script_word(&rest))) {
        script_give_up(key);
    }
}

static void script_set_defaults(struct fake_script *script)
{
    *script = (struct fake_script){.gpus = 1, .cuda = 13000, .driver = "580.159.04"};
    for (unsigned i = 0; i < FAKE_GPUS_MAX; i++) {
        struct fake_gpu *gpu = &script->gpu[i];
        *gpu = (struct fake_gpu){.index = i, .util = 50, .memutil = 20, .temp = 40, .power = 100000, .clock = 1500};
        gpu->total = UINT64_C(80) << 30;
        gpu->used = UINT64_C(10) << 30;
        gpu->reserved = UINT64_C(512) << 20;
        gpu->cores = 16896;
        gpu->energy = 1000000;
        gpu->mig = FAKE_NONE;
        script_set_text(gpu->name, "Fake H200");
        (void)snprintf(gpu->uuid, sizeof(gpu->uuid), "GPU-00000000-0000-0000-0000-%012x", i);
        (void)snprintf(gpu->bus, sizeof(gpu->bus), "00000000:%02X:00.0", i + 1);
    }
}

static size_t script_read(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    size_t end = n > 0 ? (size_t)n : 0;
    out[end] = '\0';
    return end;
}

void fake_script_load(struct fake_script *script)
{
    char text[SCRIPT_BYTES] = "";
    const char *given = getenv("FAKE_NVML");
    if (given && given[0] == '/')
        (void)script_read(given, text, sizeof(text));
    else if (given)
        (void)snprintf(text, sizeof(text), "%s", given);
    script_set_defaults(script);
    for (char *at = text; *at;) {
        size_t n = strcspn(at, "\n;");
        char *next = at[n] ? at + n + 1 : at + n;
        at[n] = '\0';
        script_line(script, at);
        at = next;
    }
}

uint32_t fake_row_pid(const struct fake_row *row)
{
    static const char prefix[] = "pidfile:";
    if (strncmp(row->pid, prefix, sizeof(prefix) - 1) != 0)
        return (uint32_t)script_number(row->pid);
    char text[FAKE_TEXT_BYTES];
    (void)script_read(row->pid + sizeof(prefix) - 1, text, sizeof(text));
    return (uint32_t)strtoul(text, NULL, 10);
}

bool fake_fault_is_for(const struct fake_fault *fault, const char *call, uint64_t gpu)
{
    size_t n = strlen(fault->call);
    bool is_prefix = n > 0 && fault->call[n - 1] == '*';
    bool is_named = is_prefix ? strncmp(fault->call, call, n - 1) == 0 : strcmp(fault->call, call) == 0;
    return is_named && (fault->gpu == FAKE_NONE || fault->gpu == gpu);
}

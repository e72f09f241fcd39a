/* SPDX-License-Identifier: Apache-2.0 */
/* The records of processes in a recording: whatever they are, what is kept of them is bounded and adds up. */
#include "fuzz.h"

#include "summary/summary_internal.h"

static struct kept_history history;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"make", "cc1", "<b>\xff\x1b"};
    char *records = malloc(size + 1);
    if (!records)
        return 0;
    memcpy(records, data, size);
    records[size] = '\0';
    struct sample_history given = {
        .present = true, .records = records, .programs = {true, 3, texts}, .commands = {true, 2, texts}};
    if (history.json.max == 0)
        buf_init(&history.json, HISTORY_BYTES_MAX);
    history_add(&history, &given);
    check(history.process_count <= SUMMARY_HISTORY_MAX && history.program_count <= 4);
    double cpu_secs = 0;
    for (size_t i = 0; i < history.program_count; i++) {
        const struct summary_process *program = &history.programs[i];
        check(program->values[PROCESS_COUNT].v > 0 && program->values[PROCESS_CPU].v >= 0);
        cpu_secs += program->values[PROCESS_CPU].v;
    }
    check(cpu_secs <= history.cpu_secs * 1.000001 + 1e-6);
    for (size_t i = 0; i < history.process_count; i++) {
        const struct summary_process *process = &history.processes[i];
        check(process->values[PROCESS_PID].v >= 1);
        check(!process->command || strlen(process->command) < KEPT_COMMAND_LINE_BYTES);
    }
    struct summary summary = {.runs = some_u64(1), .cpu.total_secs = some_f64(1)};
    history_fill(&history, &summary);
    check(summary.processes.present == (history.program_count > 0));
    free(records);
    return 0;
}

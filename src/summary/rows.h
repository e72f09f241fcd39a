/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What text and Markdown share: the rows of a summary (what the job used, what the host did meanwhile, and beside each
 * what it is to be compared with), and what stands around them: its name, how it ended, what to ask for next time. Text
 * of the data is harmless for a terminal already (units_put_foreign); Markdown escapes it for itself.
 */
#ifndef SUMMARY_ROWS_H
#define SUMMARY_ROWS_H

#include "base/buf.h"
#include "summary/summary.h"

enum { SUMMARY_ROWS_BYTES_MAX = 8 * 1024 };

/* How a row is fitted into a line of a terminal. */
enum summary_row_shape {
    SUMMARY_ROW_LIST, /* wrapped, behind a comma where there is one */
    SUMMARY_ROW_PROSE, /* wrapped between words */
    SUMMARY_ROW_WORDS, /* the same, and no word is broken: paths */
    SUMMARY_ROW_CUT, /* the aside is shortened; value and tail stay */
    SUMMARY_ROW_WHOLE, /* never wrapped nor cut: to be copied */
};

struct summary_rows {
    struct buf value, aside; /* of the current row; aside may be empty */
    struct buf tail; /* follows the aside at once */
    enum summary_row_shape shape; /* of the current row */
    bool is_of_host; /* the current row is one of the block of the host */
    const char *machine_label;
    void (*put)(struct summary_rows *rows, const char *label);
};

void summary_rows_init(struct summary_rows *rows, void (*put)(struct summary_rows *rows, const char *label));
void summary_rows_fini(struct summary_rows *rows);

/* Passes the row to `put`, where it has a value, and empties it. An empty label belongs to the row before. */
void summary_rows_end(struct summary_rows *rows, const char *label);

/* Rows that are described by a table. */
enum summary_table {
    SUMMARY_JOB_CPU,
    SUMMARY_JOB_WANTED,
    SUMMARY_JOB_THROTTLED,
    SUMMARY_JOB_IO,
    SUMMARY_JOB_ENERGY,
    SUMMARY_JOB_GPU,
    SUMMARY_JOB_VRAM,
    SUMMARY_GPU_ENERGY,
    SUMMARY_HOST,
    SUMMARY_HOST_GPU,
    SUMMARY_HOST_ENERGY,
    SUMMARY_TRACKER_SHARE,
    SUMMARY_TRACKER_SECS,
    SUMMARY_TRACKER,
};

void summary_rows_put_table(struct summary_rows *rows, const struct summary *summary, enum summary_table which);

/* Parts of a row: the text behind a comma, unless it begins with a blank; and " (text)" with text of the data. */
void summary_put_part(struct buf *buf, const char *text);
void summary_put_in_brackets(struct buf *buf, const char *text);

/* A part with an amount behind it (units_put_as); nothing where that is not known. */
void summary_put_amount(struct buf *buf, const char *before, char unit, const struct opt_f64 *value);

/* "2 x NVIDIA H200", or "3 GPUs: NVIDIA H200, NVIDIA L4". */
void summary_put_gpus(struct buf *buf, const char *before, struct opt_u64 count, const struct sample_list *names);

/* Of the machine: "Xeon, 8 cores", "16 GiB of memory, 2 GiB of swap", "2 x NVIDIA H200 (driver 550.54)". */
void summary_put_machine_cpus(struct buf *buf, const char *before, const struct summary *summary);
void summary_put_machine_memory(struct buf *buf, const char *before, const struct summary *summary);
void summary_put_machine_gpus(struct buf *buf, const char *before, const struct summary *summary);

/* What the job needed of its limit: "78 % of the limit 4 GiB", "1.3 % of 15.6 GiB of RAM". */
void summary_put_memory_share(struct buf *buf, const struct summary *summary);

/* The command line of a process, else its name; without the directory, which would leave no space for arguments. */
void summary_put_process(struct buf *buf, const struct sample_process *process);

/* Is the cgroup the job's own: does it hold nothing else, or set the limit of the job? */
bool summary_has_own_cgroup(const struct summary *summary);

/* Was the run so short that a share of its time says nothing? */
bool summary_is_share_noise(const struct summary *summary);

/* Is anything known of the host? */
bool summary_has_host(const struct summary *summary);

/* "rank 3", or its recording. */
void summary_put_rank(struct buf *buf, const struct summary_rank *rank);

/* What the job used. Of what is not known, only cores, memory and GPUs have a row; rows of zeros are left out. */
void summary_rows_put_job(struct summary_rows *rows, const struct summary *summary);

/* The machine, under machine_label, and what happened on all of it; as rows of the host where there is a job too. */
void summary_rows_put_host(struct summary_rows *rows, const struct summary *summary);

/* What the tracker cost, metadata and tags. */
void summary_rows_put_run(struct summary_rows *rows, const struct summary *summary);

/* Name of the job, or else of its program, process or host. The command is put as one line, "" where there is none. */
void summary_put_name(struct buf *buf, const struct summary *summary);
void summary_put_command(struct buf *buf, const struct summary *summary);

/* "finished after 12.3 s" or "5 runs (1 failed), 12.3 s on average", and beside it why. */
void summary_put_result(struct summary_rows *rows, const struct summary *summary);

/* "exit status 3"; of several runs "last failure: exit status 3", or nothing where none failed. */
void summary_put_evidence(struct buf *buf, const struct summary *summary);

/* "1 vCPU, 2 GiB of memory, 1 GPU with 4 GiB": what is recommended, "" where nothing is. */
void summary_put_sizes(struct buf *buf, const struct summary_sizing *sizing);

/* The table of phases: the first of them, as many as are read at one go. Empty: not known, or nothing recommended. */
enum { SUMMARY_PHASES_SHOWN = 12 };
#define SUMMARY_PHASE_HEAD SIZE_MAX /* as the number of a phase */

enum summary_phase_column {
    SUMMARY_PHASE_NAME,
    SUMMARY_PHASE_TIME,
    SUMMARY_PHASE_CORES, /* mean */
    SUMMARY_PHASE_GPUS, /* mean */
    SUMMARY_PHASE_MEMORY, /* peak */
    SUMMARY_PHASE_DISK, /* read and written */
    SUMMARY_PHASE_NETWORK, /* received and sent */
    SUMMARY_PHASE_ENERGY,
    SUMMARY_PHASE_SIZES, /* to ask for next time */
    SUMMARY_PHASE_COLUMNS,
};

void summary_put_phase(struct buf *buf, const struct summary *summary, size_t i, enum summary_phase_column column);

/* GPUs, disks, network and energy are left out where no phase used any. */
bool summary_has_phase_column(const struct summary *summary, enum summary_phase_column column);

/* One need of the right-sizing and why it is so large, or why it is withheld. */
struct summary_reason {
    const char *need;
    const char *text; /* NULL: no reason is known */
    bool is_withheld;
};

enum { SUMMARY_REASONS = 4 };

/* Nothing from SUMMARY_REASONS on, and nothing of GPUs where there are none. */
struct summary_reason summary_reason_at(const struct summary *summary, unsigned i);

/*
 * Those from i on that share one text, as a value: "vCPUs, memory: P95 of …", with " withheld" before the colon.
 * Returns the number behind them. Nothing is put where i has none.
 */
unsigned summary_put_reason(struct buf *buf, const struct summary *summary, unsigned i);

#endif

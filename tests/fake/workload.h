/* SPDX-License-Identifier: Apache-2.0 */
/* What the verbs of workload.c are made of. Whatever goes wrong ends the process with STATUS_ERROR and a message. */
#ifndef FAKE_WORKLOAD_H
#define FAKE_WORKLOAD_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

enum { LIMIT_SECS = 60, STATUS_ERROR = 99, MIB = 1 << 20 };

_Noreturn void give_up(const char *what);
unsigned int read_number(const char *word, unsigned long max);
int64_t read_clock_ns(clockid_t clock);
void write_text(const char *path, const char *text);

/* Milliseconds of CPU time of this thread; of wall time. */
void burn(unsigned int ms);
void rest(unsigned int ms);

/* So many threads, the calling one included, are busy until that time. */
void spin_threads(unsigned int threads, int64_t end_ns);

/* Appends to WORKLOAD_TRUTH, where that is set. */
void report_truth(void);

/* Like fork, with the limit of time that a child does not inherit. */
pid_t start(void);
void start_burning(unsigned int ms);

/* Returns the status of a child, or -1 where there is none left. */
int reap(pid_t pid);
void reap_all(void);

/* Until standard input is closed by the other side. */
void hold(void);
void say_ready(void);

void open_pipe(int ends[2]);
/* Reads that many bytes, or up to the end. */
void await_bytes(int fd, unsigned int count);

char *touch_memory(unsigned int mib);

#endif

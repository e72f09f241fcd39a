/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a collector is and all that it may touch of its surroundings. A collector reads through the sysroot, keeps the
 * previous counters, derives, and fills its section of the sample. It knows no settings, no formats, and never logs.
 */
#ifndef COLLECT_COLLECT_H
#define COLLECT_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "collect/blocking.h"
#include "collect/helper.h"
#include "kernel/sysroot.h"
#include "model/sample.h"

/*
 * What is known of the tracked tree, by writer. struct tracked is written by run/ alone and const for collectors;
 * struct tree_status by the tree collector alone; struct gpu_status by the GPU collector alone. All of them belong to
 * the sampling thread from its start on.
 */

enum { TRACKED_REAPED_MAX = 65536 };

enum tracked_pss { TRACKED_PSS_AUTO, TRACKED_PSS_ALWAYS, TRACKED_PSS_NEVER };

/* What wait4 reported of the children that were waited for, and of theirs. */
struct tracked_usage {
    uint64_t user_us, system_us;
    uint64_t read_bytes, write_bytes;
    uint64_t minor_faults, major_faults;
    uint64_t max_rss_bytes; /* of the largest single process */
    uint64_t voluntary_switches, involuntary_switches;
};

struct cgroup_location;

struct tracked {
    pid_t root; /* 0: nothing is tracked */
    pid_t tracker; /* ourselves, the parent of the root and of orphans */
    bool attached; /* --pid, --attach-cgroup: what was used before does not count, and no process is ours to wait for */
    int64_t start_ns; /* monotonic */
    enum tracked_pss pss;
    int64_t quantum_ns; /* CPU times are reported in multiples of it, so that rounding on output adds up to nothing */
    const char *group_dir; /* --cgroup: the v2 group of the command; --attach-cgroup: the group; relative to the
                              sysroot; NULL: none */
    const struct cgroup_location *group_locations; /* --attach-cgroup: of its controllers; NULL: none */
    bool wants_members; /* the GPU collector may need the processes of the tree */
    bool wants_traffic; /* so may the collector of what they receive and send */
    bool wants_top; /* the largest processes are wanted, and those with the most CPU time */
    bool wants_history; /* so are all that were seen, at the end */
    const char *root_program; /* as it was given; NULL: attached, or nothing is tracked */
    const char *root_command; /* the command line as it may be shown; NULL: not at all */
    struct opt_u64 root_cpu_ns; /* of its own, just before it was waited for */
    bool root_has_no_children; /* that it has waited for: what wait4 reports of it is its own */
    uint64_t root_peak_bytes; /* its highest memory, where that is so; 0: not known */
    bool has_root_usage; /* the root was waited for: its part is in `reaped` */
    int root_signal; /* that ended the root; 0: none did */
    struct {
        bool has;
        uint64_t run_ns, wait_ns;
    } root_end; /* schedstat of the root's first thread when it had ended and was not waited for yet */
    pid_t ended; /* the newest process that is known to have ended; 0: none */
    struct tracked_usage reaped;
    struct {
        pid_t *items; /* those waited for since the last sample */
        size_t count, cap;
        uint64_t earlier; /* how many were listed before them */
    } reaped_pids;
};

/* One of the children waited for; where there are more than fit, the others are only in the sums. */
void tracked_note_reaped(struct tracked *tracked, pid_t pid);

/* After a sample: the list begins again. */
void tracked_clear_reaped(struct tracked *tracked);
void tracked_fini(struct tracked *tracked);

/* A live process of the tree; the pair names one process for ever. */
struct job_member {
    pid_t pid;
    uint64_t start_ticks; /* since boot */
};

/* As of the newest sample. */
struct tree_status {
    size_t live; /* processes of the tree that have not ended, the root included */
    pid_t live_pid; /* one of them; 0: none */
    bool is_root_gone;
    struct {
        struct job_member *items; /* filled where they are wanted */
        size_t count, cap;
    } members;
    uint64_t largest_rss_bytes; /* of one process, over all samples */
    struct opt_u64 cpus_allowed; /* that the processes which use CPU time may run on; absent: unknown */
    /* CPU time may be lost: a member ignores SIGCHLD, is in a PID namespace that ends with what lives in it, or was
     * adopted by a process that is not ours */
    bool is_lower_bound;
};

void tree_status_fini(struct tree_status *status);

struct gpu_status {
    bool has_no_device; /* at the last scan: then no list of members is needed */
    struct opt_f64 joules; /* energy of all GPUs over the run; known after the final sample */
};

struct fs_space {
    uint64_t total_bytes, free_bytes, available_bytes; /* free: for root; available: for all users (f_bavail) */
};

/* How the NVIDIA library is reached: a process of ours loads it. */
struct collect_gpu {
    const char *nvml_library; /* a name for dlopen, used even where no device file is seen; NULL: the usual one */
    const char *program; /* what is executed as the helper: ourselves; NULL: it is never asked */
    char *const *environment; /* of the helper */
    bool wants_energy; /* the energy of the whole run is wanted at its end */
};

struct probe;

struct collect_env {
    const struct sysroot *root;
    const struct clock *clock;
    int64_t interval_ns; /* between two slots of the grid of samples */
    int64_t ticks_per_sec;
    int64_t page_bytes;
    bool estimates_energy; /* where there is no counter of it */
    bool wants_steal_per_core; /* what was stolen of each CPU, not only of all of them */
    /* statvfs of a mount point; 0 or a negative errno. Tests play their own filesystems here. */
    int (*space)(void *context, const char *mount_point, struct fs_space *ret_space);
    void *space_context;
    const char *zpool_path; /* the zpool command, searched for where it has no slash; NULL: never ask */
    const struct tracked *tracked; /* NULL: the host alone */
    struct tree_status *tree; /* written by the tree collector; NULL only where nothing is tracked */
    struct gpu_status *gpu_status; /* written by the GPU collector; NULL: not wanted */
    struct buf *mountinfo; /* /proc/self/mountinfo as the disk collector has read it at the start; NULL: not kept */
    struct helpers *helpers; /* processes of collectors; NULL: no account of them */
    struct blocking *blocking; /* brackets reads that may never return; NULL: nothing supervises them */
    /* CPU time of a whole process so far, for which no rights are needed; 0, or a negative errno: there is none. */
    int (*cpu_time)(void *context, pid_t pid, uint64_t *ret_ns);
    void *cpu_time_context;
    /* The CPUs a thread may run on, as a cpu_set_t of so many bytes; 0 or a negative errno; NULL: never known. */
    int (*affinity)(void *context, pid_t tid, size_t bytes, void *ret_set);
    void *affinity_context;
    /* Do two processes have one address space? 1, 0, or a negative errno where that is not known (no rights, or a
     * kernel without kcmp); NULL: never known. */
    int (*same_memory)(void *context, pid_t a, pid_t b);
    void *same_memory_context;
    /* A socket of NETLINK_SOCK_DIAG, or a negative errno; NULL: there is none. Tests answer at its other end. */
    int (*open_sock_diag)(void *context);
    void *sock_diag_context;
    int events_fd; /* of events_open (tree/events.h), for the tree collector; 0: exact mode is off */
    /* A command line (as in /proc/PID/cmdline, is_cut: its start only) as it may be shown, at most size - 1 bytes. 0 or
     * a negative errno; NULL: none is shown. */
    int (*describe_command)(void *context, struct str text, bool is_cut, char *out, size_t size);
    void *describe_context;
    size_t descriptors; /* how many the tree may keep open */
    struct collect_gpu gpu;
    struct probe *probe; /* asks devices off the path (probe/probe.h); NULL: they are asked at once, as tests do */
    const char *program; /* ourselves, executed as its helper */
};

/* One cycle of the loop. */
struct tick {
    bool baseline; /* counters are read, nothing is reported: the reading before the first sample */
    bool is_final; /* no other comes after it */
    int64_t mono_ns; /* when this sample was begun; less late_ns it is exactly its slot of the grid */
    int64_t late_ns; /* behind that slot */
    uint64_t missed; /* grid slots skipped since the previous sample */
    struct tick_births *births; /* filled by the cpu collector for the tree; NULL: unknown */
};

/* Processes and threads made since boot, and the PID of the newest one. */
struct tick_births {
    struct opt_u64 forks, last_pid;
};

/* Facts that change seldom (link state, limits, sizes) are read again this often, and space at most once a second. */
#define COLLECT_SLOW_NS (10 * NS_PER_SEC)
#define COLLECT_SPACE_NS NS_PER_SEC

/*
 * state: state_bytes of zeroed memory.
 * open: takes what it needs for the whole run; 0, -ENODATA ("this host has none": silent) or another negative errno.
 * collect: fills the section. 0: done; err->code may then name a part that is missing (its fields are absent).
 *   -ENODATA: this host has none. Other negative errno: the section could not be read (err says why).
 *   In all but the first case the section stays absent. Called again next time whatever it returned.
 * close: only after a successful open.
 * watch_fd (optional): a descriptor that reports EPOLLPRI or EPOLLERR when something changed, or -1; woken is then
 *   called before the next collect. With watches_input it reports by becoming readable, and woken makes it stop that.
 * fills: where it may block (files of devices, of cgroups), the members of the sample that it fills. It then gets a
 *   sample of its own, of which these are copied; where it does not return, it is left out until it does.
 * is_restartable: brackets its own blocking reads instead. Where one does not return, another thread calls collect
 * again for the same tick; so nothing is filled in before the last read.
 */
enum { COLLECT_FILLS_MAX = 7 };

#define COLLECT_FILLS(member)                                                                                          \
    {                                                                                                                  \
        offsetof(struct sample, member), sizeof(((struct sample *)0)->member)                                          \
    }

/* Short texts and small numbers stand in the row: an address costs four times as much. */
struct collector {
    char name[10];
    bool watches_input, is_restartable;
    bool has_helper; /* a process of ours that learns of the end by a descriptor that is closed */
    struct collector_fills {
        uint16_t offset, bytes; /* 0 bytes: none */
    } fills[COLLECT_FILLS_MAX];
    uint32_t state_bytes;
    int (*open)(void *state, const struct collect_env *env, struct err *err);
    int (*collect)(void *state, const struct tick *tick, struct sample *sample, struct err *err);
    void (*close)(void *state);
    int (*watch_fd)(const void *state);
    void (*woken)(void *state);
};

_Static_assert(sizeof(struct sample) <= UINT16_MAX, "so that fills can name its members");

/* Of one tick in which the kernel counts times. */
uint64_t collect_tick_ns(const struct collect_env *env);

/*
 * The message for a file that could not be read (r from the read) or understood (r from the parser):
 * "cpu: cannot read /proc/stat: Permission denied", "cpu: /proc/stat is truncated or malformed". Returns r.
 */
__attribute__((cold, noinline)) int collect_fail(
    struct err *err, int r, const char *module, const struct sysroot *root, const char *path);

extern const struct collector collector_probe;
extern const struct collector collector_cpu;
extern const struct collector collector_tree;
extern const struct collector collector_traffic;
extern const struct collector collector_memory;
extern const struct collector collector_network;
extern const struct collector collector_disk;
extern const struct collector collector_gpu;
extern const struct collector collector_pressure;
extern const struct collector collector_cgroup;
extern const struct collector collector_oom;
extern const struct collector collector_energy;
extern const struct collector collector_tracker;

/* All of them, in the order of the sample; see collect.c. */
extern const struct collector *const collector_registry[];
extern const size_t collector_registry_count;

#endif

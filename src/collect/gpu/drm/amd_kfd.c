/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology/nodes/N has gpu_id (0 for a CPU) and properties; a GPU that is split into partitions is several nodes at one
 * PCI address. proc/PID has vram_GPUID (bytes) and stats_GPUID/cu_occupancy. The list of proc is short, and one kept
 * descriptor on it shows all members at once; a directory is opened only where its PID is a member's.
 */
#include "collect/gpu/drm/amd_kfd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "base/vec.h"
#include "collect/gpu/drm/drm.h"
#include "kernel/amdgpu.h"
#include "kernel/sysroot.h"

enum { NODES_MAX = 128, PROCESSES_MAX = 128, FILES_MAX = 512, LISTED_MAX = 65536, PDEV_BYTES = 32 };

/* More is invalid; sums of less do not overflow. */
#define VRAM_MOST (UINT64_C(1) << 50)
#define UNITS_MOST UINT64_C(1000000)

#define NODES_DIRECTORY "class/kfd/kfd/topology/nodes"
#define PROC_DIRECTORY "class/kfd/kfd/proc"

struct kfd_node {
    uint64_t gpu_id;
    char pdev[PDEV_BYTES];
    struct opt_u64 cu_count;
};

/* What one process uses of one node. */
struct kfd_files {
    struct gpu_attribute vram, occupancy;
};

struct kfd_process {
    struct job_member member;
    struct kfd_files *files; /* one per node */
    bool is_seen; /* in this tick */
};

struct amd_kfd {
    int sys_fd; /* not owned */
    int proc_dir_fd;
    struct kfd_node nodes[NODES_MAX];
    size_t node_count;
    struct pid_list listed;
    struct {
        struct kfd_process *items;
        size_t count, cap;
    } processes;
    bool is_cut; /* there are more than we may hold open: no sum is known */
    struct buf text;
};

static void write_address(const struct kfd_properties *properties, char out[static PDEV_BYTES])
{
    unsigned location = (unsigned)properties->location_id;
    (void)snprintf(out, PDEV_BYTES, "%04x:%02x:%02x.%x", (unsigned)properties->domain, location >> 8 & 0xff,
        location >> 3 & 0x1f, location & 7);
}

static bool read_node(struct amd_kfd *kfd, unsigned number, struct kfd_node *ret_node)
{
    char path[DRM_CARD_PATH_BYTES];
    char text[NUM_TEXT_BYTES];
    struct kfd_node node = {0};
    (void)snprintf(path, sizeof(path), NODES_DIRECTORY "/%u/gpu_id", number);
    if (file_read_line_at(kfd->sys_fd, path, text, sizeof(text)) <= 0 ||
        num_parse_u64(str_of(text), &node.gpu_id) < 0 || node.gpu_id == 0)
        return false;
    (void)snprintf(path, sizeof(path), NODES_DIRECTORY "/%u/properties", number);
    struct kfd_properties properties;
    if (file_read_at(kfd->sys_fd, path, &kfd->text) < 0 || kfd_properties_parse(buf_str(&kfd->text), &properties) < 0)
        return false;
    write_address(&properties, node.pdev);
    if (properties.simd_count.has && properties.simd_per_cu.has && properties.simd_per_cu.v > 0)
        node.cu_count = some_u64(properties.simd_count.v / properties.simd_per_cu.v);
    *ret_node = node;
    return true;
}

static void read_nodes(struct amd_kfd *kfd)
{
    unsigned numbers[NODES_MAX];
    int found = drm_list_numbers(kfd->sys_fd, NODES_DIRECTORY, "", NODES_MAX, numbers);
    for (int i = 0; i < found; i++) {
        if (read_node(kfd, numbers[i], &kfd->nodes[kfd->node_count]))
            kfd->node_count++;
    }
}

int amd_kfd_new(const struct collect_env *env, struct amd_kfd **ret_kfd)
{
    *ret_kfd = NULL;
    const struct sysroot *root = env->root;
    bool has_our_pids = !root->is_host || sysroot_in_first_pid_namespace(root);
    if (!has_our_pids || root->sys_fd < 0 || faccessat(root->sys_fd, NODES_DIRECTORY, F_OK, 0) != 0)
        return -ENODATA;
    struct amd_kfd *kfd = calloc(1, sizeof(*kfd));
    if (!kfd)
        return -ENOMEM;
    kfd->sys_fd = root->sys_fd;
    kfd->proc_dir_fd = -1;
    buf_init(&kfd->text, GPU_ATTRIBUTE_TEXT_MAX);
    read_nodes(kfd);
    if (kfd->node_count == 0) {
        amd_kfd_free(kfd);
        return -ENODATA;
    }
    *ret_kfd = kfd;
    return 0;
}

static void process_fini(const struct amd_kfd *kfd, struct kfd_process *process)
{
    for (size_t i = 0; i < kfd->node_count; i++) {
        gpu_attribute_fini(&process->files[i].vram);
        gpu_attribute_fini(&process->files[i].occupancy);
    }
    free(process->files);
}

void amd_kfd_free(struct amd_kfd *kfd)
{
    if (!kfd)
        return;
    for (size_t i = 0; i < kfd->processes.count; i++)
        process_fini(kfd, &kfd->processes.items[i]);
    free(kfd->processes.items);
    pid_list_fini(&kfd->listed);
    buf_fini(&kfd->text);
    fd_close(&kfd->proc_dir_fd);
    free(kfd);
}

struct opt_u64 amd_kfd_cu_count(const struct amd_kfd *kfd, const char *pdev)
{
    struct opt_u64 sum = {0};
    for (size_t i = 0; i < kfd->node_count; i++) {
        const struct kfd_node *node = &kfd->nodes[i];
        if (node->cu_count.has && strcmp(node->pdev, pdev) == 0)
            sum = some_u64(sum.v + node->cu_count.v);
    }
    return sum;
}

/* The descriptor goes stale when the driver is loaded anew. */
static void list_processes(struct amd_kfd *kfd)
{
    int r = kfd->proc_dir_fd >= 0 ? pid_list_read(kfd->proc_dir_fd, LISTED_MAX, &kfd->listed) : -EBADF;
    if (r >= 0)
        return;
    fd_close(&kfd->proc_dir_fd);
    int fd = file_open_at(kfd->sys_fd, PROC_DIRECTORY, O_RDONLY | O_DIRECTORY);
    if (fd >= 0) {
        kfd->proc_dir_fd = fd;
        (void)pid_list_read(fd, LISTED_MAX, &kfd->listed);
    }
}

static struct kfd_process *find_process(struct amd_kfd *kfd, struct job_member member)
{
    for (size_t i = 0; i < kfd->processes.count; i++) {
        struct kfd_process *process = &kfd->processes.items[i];
        if (process->member.pid == member.pid && process->member.start_ticks == member.start_ticks)
            return process;
    }
    return NULL;
}

/* False where the files are not there yet: the directory is made before them, and the next tick tries again. */
static bool open_files(const struct amd_kfd *kfd, struct kfd_process *process)
{
    bool found = false;
    char directory[DRM_CARD_PATH_BYTES];
    (void)snprintf(directory, sizeof(directory), PROC_DIRECTORY "/%d", (int)process->member.pid);
    for (size_t i = 0; i < kfd->node_count; i++) {
        char name[DRM_CARD_TEXT_BYTES];
        unsigned long long gpu_id = kfd->nodes[i].gpu_id;
        (void)snprintf(name, sizeof(name), "vram_%llu", gpu_id);
        gpu_attribute_init(&process->files[i].vram, kfd->sys_fd, directory, name);
        (void)snprintf(name, sizeof(name), "stats_%llu/cu_occupancy", gpu_id);
        gpu_attribute_init(&process->files[i].occupancy, kfd->sys_fd, directory, name);
        found = found || process->files[i].vram.exists;
    }
    return found;
}

static void add_process(struct amd_kfd *kfd, struct job_member member)
{
    size_t count = kfd->processes.count;
    size_t files = (count + 1) * kfd->node_count * 2;
    struct kfd_process process = {.member = member, .is_seen = true};
    if (files <= FILES_MAX && VEC_GROW(&kfd->processes, count + 1, PROCESSES_MAX) == 0)
        process.files = calloc(kfd->node_count, sizeof(*process.files));
    if (!process.files) {
        kfd->is_cut = true;
        return;
    }
    if (!open_files(kfd, &process)) {
        process_fini(kfd, &process);
        return;
    }
    kfd->processes.items[kfd->processes.count++] = process;
}

static void drop_unseen(struct amd_kfd *kfd)
{
    size_t kept = 0;
    for (size_t i = 0; i < kfd->processes.count; i++) {
        struct kfd_process *process = &kfd->processes.items[i];
        if (process->is_seen)
            kfd->processes.items[kept++] = *process;
        else
            process_fini(kfd, process);
    }
    kfd->processes.count = kept;
}

void amd_kfd_tick(struct amd_kfd *kfd, const struct job_member *members, size_t count)
{
    list_processes(kfd);
    for (size_t i = 0; i < kfd->processes.count; i++)
        kfd->processes.items[i].is_seen = false;
    for (size_t i = 0; kfd->listed.count > 0 && i < count; i++) {
        bool is_listed = pid_list_has(&kfd->listed, members[i].pid);
        struct kfd_process *known = is_listed ? find_process(kfd, members[i]) : NULL;
        if (known)
            known->is_seen = true;
    }
    drop_unseen(kfd);
    kfd->is_cut = false;
    for (size_t i = 0; kfd->listed.count > 0 && i < count; i++) {
        if (pid_list_has(&kfd->listed, members[i].pid) && !find_process(kfd, members[i]))
            add_process(kfd, members[i]);
    }
}

struct amd_kfd_use amd_kfd_read_use(struct amd_kfd *kfd, const char *pdev)
{
    struct opt_u64 vram = {0}, occupied = {0};
    struct amd_kfd_use use = {.is_cut = kfd->is_cut};
    bool is_broken = false;
    for (size_t i = 0; !kfd->is_cut && i < kfd->node_count; i++) {
        if (strcmp(kfd->nodes[i].pdev, pdev) != 0)
            continue;
        for (size_t k = 0; k < kfd->processes.count; k++) {
            struct kfd_files *files = &kfd->processes.items[k].files[i];
            struct opt_u64 bytes = gpu_attribute_read_u64(&files->vram, &kfd->text);
            struct opt_u64 units = gpu_attribute_read_u64(&files->occupancy, &kfd->text);
            is_broken |= (files->vram.exists && !bytes.has) || bytes.v > VRAM_MOST || units.v > UNITS_MOST;
            use.is_silent |= bytes.v > 0 && !units.has;
            /* One that is absent is 0. */
            vram = (struct opt_u64){vram.has | bytes.has, vram.v + bytes.v};
            occupied = (struct opt_u64){occupied.has | units.has, occupied.v + units.v};
        }
    }
    if (is_broken)
        return (struct amd_kfd_use){.is_cut = true};
    use.vram_bytes = vram;
    struct opt_u64 all = amd_kfd_cu_count(kfd, pdev);
    if (occupied.has && all.v > 0)
        use.usage = some_f64(occupied.v < all.v ? num_to_f64(occupied.v) / num_to_f64(all.v) : 1);
    return use;
}

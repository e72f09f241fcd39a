/* SPDX-License-Identifier: Apache-2.0 */
/* ZFS pools: counters from kstat, space from a zpool process. */
#include "collect/disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/vec.h"

enum { FIRST_TEXT_BYTES = 4096 };

static bool parse_amount(struct str column, struct opt_u64 *ret_amount)
{
    uint64_t bytes;
    if (str_eq(column, STR("-"))) {
        *ret_amount = (struct opt_u64){0};
        return true;
    }
    if (num_parse_u64(column, &bytes) < 0)
        return false;
    *ret_amount = some_u64(bytes);
    return true;
}

/* As in zpoolconcepts(7): letters first, then also digits and a few marks. */
static bool is_pool_name(struct str name)
{
    if (name.n == 0 || name.n >= ZFS_NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = ascii_is_alpha(c);
        if (!letter && (i == 0 || !memchr("0123456789-_.: ", c, 15)))
            return false;
    }
    return true;
}

/* tank	10737418240	4294967296	6442450944 */
static bool parse_pool(struct str line, struct zfs_pool *pool)
{
    struct str name, size, alloc;
    *pool = (struct zfs_pool){0};
    if (!str_cut(&line, '\t', &name) || !str_cut(&line, '\t', &size) || !str_cut(&line, '\t', &alloc) ||
        !is_pool_name(name))
        return false;
    memcpy(pool->device, "zfs:", 4);
    memcpy(pool->device + 4, name.p, name.n);
    return parse_amount(size, &pool->size_bytes) && parse_amount(alloc, &pool->alloc_bytes) &&
           parse_amount(line, &pool->free_bytes);
}

static int compare_pools(const void *a, const void *b)
{
    return strcmp(((const struct zfs_pool *)a)->device, ((const struct zfs_pool *)b)->device);
}

int zfs_parse_list(struct str text, struct zfs_pools *pools)
{
    size_t count = 0;
    pools->count = 0;
    if (text.n > 0 && text.p[text.n - 1] != '\n')
        return -EBADMSG;
    for (struct str line; str_line(&text, &line); count++) {
        int r = VEC_GROW(pools, count + 1, ZFS_POOLS_MAX);
        if (r < 0)
            return r;
        if (!parse_pool(line, &pools->items[count]))
            return -EBADMSG;
    }
    if (count > 0)
        qsort(pools->items, count, sizeof(*pools->items), compare_pools);
    pools->count = count;
    return 0;
}

void zfs_open(struct zfs *zfs, const struct collect_env *env)
{
    *zfs = (struct zfs){.env = env, .given_up = !env->zpool_path, .process = HELPER_NONE, .pipe_fd = -1};
    buf_init(&zfs->text, ZFS_TEXT_BYTES_MAX);
}

bool zfs_is_loaded(const struct zfs *zfs)
{
    int proc_fd = zfs->env->root->proc_fd;
    return !zfs->given_up && proc_fd >= 0 && faccessat(proc_fd, "spl/kstat/zfs", F_OK, 0) == 0;
}

/* The caller's PATH is not used: that of ordinary users lacks the sbin directories, and it must not choose what we
 * run. */
static int start_zpool(struct zfs *zfs, int output_fd)
{
    static const char directories[][16] = {"/usr/sbin", "/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"};
    static char search[] = "PATH=/usr/sbin:/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/bin", locale[] = "LC_ALL=C";
    static char command[] = "zpool", list[] = "list", flags[] = "-Hp", option[] = "-o",
                columns[] = "name,size,alloc,free";
    char *const environment[] = {search, locale, NULL};
    char *const argv[] = {command, list, flags, option, columns, NULL};
    const char *path = zfs->env->zpool_path;
    struct helper_request request = {
        .path = path, .argv = argv, .environment = environment, .stdout_fd = output_fd, .channel_fd = -1};
    if (strchr(path, '/'))
        return helper_start(&zfs->process, zfs->env->helpers, &request);
    int r = -ENOENT;
    for (size_t i = 0; r == -ENOENT && i < sizeof(directories) / sizeof(directories[0]); i++) {
        char full[PATH_MAX];
        (void)snprintf(full, sizeof(full), "%s/%s", directories[i], path);
        request.path = full;
        r = helper_start(&zfs->process, zfs->env->helpers, &request);
    }
    return r;
}

static void start_helper(struct zfs *zfs, int64_t now_ns)
{
    zfs->asked = true;
    zfs->asked_ns = now_ns;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    AUTO_FD int read_end = ends[0];
    AUTO_FD int write_end = ends[1];
    /* The helper writes as usual; only we must not block. */
    if (fcntl(write_end, F_SETFL, 0) < 0)
        return;
    int r = start_zpool(zfs, write_end);
    if (r < 0) {
        zfs->given_up = r == -ENOENT;
        return;
    }
    zfs->pipe_fd = fd_take(&read_end);
    zfs->helper = ZFS_HELPER_READING;
    zfs->answered = false;
    buf_clear(&zfs->text);
}

/* Takes what the pipe holds: 1 at its end, 0 when more may come, negative errno. */
static int drain_pipe(struct zfs *zfs)
{
    struct buf *text = &zfs->text;
    for (;;) {
        if (text->cap == text->len && !buf_reserve(text, text->len ? 1 : FIRST_TEXT_BYTES))
            return -EFBIG;
        ssize_t n = read(zfs->pipe_fd, text->data + text->len, text->cap - text->len);
        if (n == 0)
            return 1;
        if (n > 0)
            text->len += (size_t)n;
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return err_last();
    }
}

static void accept_answer(struct zfs *zfs)
{
    if (zfs_parse_list(buf_str(&zfs->text), &zfs->fresh) < 0)
        return;
    struct zfs_pools old = zfs->pools;
    zfs->pools = zfs->fresh;
    zfs->fresh = old;
    zfs->has_pools = true;
    zfs->pools_ns = zfs->asked_ns;
    zfs->generation++;
}

static void read_helper(struct zfs *zfs, int64_t now_ns)
{
    int r = drain_pipe(zfs);
    bool late = now_ns - zfs->asked_ns >= ZFS_DEADLINE_NS;
    if (r == 0 && !late)
        return;
    zfs->answered = r == 1;
    fd_close(&zfs->pipe_fd);
    zfs->helper = ZFS_HELPER_ENDING;
}

static void end_helper(struct zfs *zfs, int64_t now_ns)
{
    struct opt_i64 status;
    if (!helper_reap(&zfs->process, zfs->env->helpers, &status)) {
        /* One that answered may take its time to leave, within limits. Killing twice does no harm. */
        if (!zfs->answered || now_ns - zfs->asked_ns >= ZFS_DEADLINE_NS)
            helper_kill(&zfs->process);
        return;
    }
    zfs->helper = ZFS_HELPER_NONE;
    if (zfs->answered && (!status.has || status.v == 0))
        accept_answer(zfs);
}

void zfs_poll(struct zfs *zfs, int64_t now_ns, bool wanted)
{
    if (zfs->helper == ZFS_HELPER_READING)
        read_helper(zfs, now_ns);
    if (zfs->helper == ZFS_HELPER_ENDING)
        end_helper(zfs, now_ns);
    bool due = !zfs->asked || now_ns - zfs->asked_ns >= ZFS_ASK_NS;
    if (zfs->helper == ZFS_HELPER_NONE && wanted && due && !zfs->given_up)
        start_helper(zfs, now_ns);
}

/* Is this source the pool itself or a dataset in it? */
static bool belongs_to(const char *source, const char *pool, bool *ret_is_root)
{
    size_t n = strlen(pool);
    if (strncmp(source, pool, n) != 0 || (source[n] != '\0' && source[n] != '/'))
        return false;
    *ret_is_root = source[n] == '\0';
    return true;
}

void zfs_find_mounts(struct zfs *zfs, const struct mounts *mounts)
{
    for (size_t i = 0; i < zfs->pools.count; i++) {
        struct zfs_pool *pool = &zfs->pools.items[i];
        pool->mount_point = NULL;
        for (size_t row = 0; row < mounts->info.count; row++) {
            const struct mount_row *mount = &mounts->info.items[row];
            bool is_root;
            if (strcmp(mount->fstype, "zfs") != 0 || !belongs_to(mount->source, pool->device + 4, &is_root))
                continue;
            if (!pool->mount_point || is_root)
                pool->mount_point = mount->mount_point;
            if (is_root)
                break;
        }
    }
}

struct zfs_pools zfs_current(const struct zfs *zfs, int64_t now_ns)
{
    if (!zfs->has_pools || now_ns - zfs->pools_ns > ZFS_KEEP_NS)
        return (struct zfs_pools){0};
    return zfs->pools;
}

void zfs_close(struct zfs *zfs)
{
    struct opt_i64 status;
    if (zfs->helper != ZFS_HELPER_NONE && !helper_reap(&zfs->process, zfs->env->helpers, &status))
        helper_kill(&zfs->process);
    helper_release(&zfs->process);
    fd_close(&zfs->pipe_fd);
    buf_fini(&zfs->text);
    free(zfs->fresh.items);
    free(zfs->pools.items);
    *zfs = (struct zfs){.process = HELPER_NONE, .pipe_fd = -1};
}

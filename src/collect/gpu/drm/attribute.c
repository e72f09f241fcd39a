/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/drm/attribute.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/num.h"
#include "base/str.h"

void gpu_attribute_init(struct gpu_attribute *attribute, int sys_fd, const char *folder, const char *name)
{
    char path[sizeof(attribute->file.path)];
    int n = snprintf(path, sizeof(path), "%s/%s", folder, name);
    bool fits = n > 0 && (size_t)n < sizeof(path);
    kept_file_init(&attribute->file, sys_fd, fits ? path : "", FILE_SINGLE);
    int fd = fits ? file_open_at(sys_fd, path, O_RDONLY) : -ENAMETOOLONG;
    attribute->exists = fd >= 0;
    if (fd >= 0)
        attribute->file.fd = fd;
}

void gpu_attribute_fini(struct gpu_attribute *attribute)
{
    kept_file_fini(&attribute->file);
    attribute->exists = false;
}

/* What a driver says for "not now" or "not on this device"; another descriptor would hear the same. */
static bool is_answer(int r)
{
    static const int answers[] = {
        -EOPNOTSUPP, -EINVAL, -EPERM, -EACCES, -EBUSY, -EIO, -ETIMEDOUT, -EAGAIN, -ENODATA, -EFBIG, -ENOMEM};
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (r == answers[i])
            return true;
    }
    return r >= 0;
}

int gpu_attribute_read(struct gpu_attribute *attribute, struct buf *text)
{
    if (!attribute->exists)
        return -ENOENT;
    struct kept_file *file = &attribute->file;
    int r = file->fd >= 0 ? file_read_fd(file->fd, file->shape, text) : -EBADF;
    return is_answer(r) ? r : kept_file_read(file, text);
}

struct opt_u64 gpu_attribute_read_u64(struct gpu_attribute *attribute, struct buf *text)
{
    uint64_t value;
    if (gpu_attribute_read(attribute, text) < 0 || num_parse_u64(str_trim((struct str){text->data, text->len}), &value))
        return (struct opt_u64){0};
    return some_u64(value);
}

struct opt_i64 gpu_attribute_read_i64(struct gpu_attribute *attribute, struct buf *text)
{
    int64_t value;
    if (gpu_attribute_read(attribute, text) < 0 || num_parse_i64(str_trim((struct str){text->data, text->len}), &value))
        return (struct opt_i64){0};
    return some_i64(value);
}

struct opt_f64 gpu_counter_rate(struct gpu_counter *counter, struct opt_u64 now, int64_t previous_ns, int64_t now_ns)
{
    if (!now.has)
        return (struct opt_f64){0};
    struct opt_u64 growth = counter_delta_opt(counter->last, now);
    bool is_adjacent = counter->last.has && counter->last_ns == previous_ns;
    struct opt_f64 rate = is_adjacent ? rate_per_sec(growth, now_ns - previous_ns) : (struct opt_f64){0};
    counter->total += growth.has ? growth.v : 0;
    counter->last = now;
    counter->last_ns = now_ns;
    return rate;
}

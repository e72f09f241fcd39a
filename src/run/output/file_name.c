/* SPDX-License-Identifier: Apache-2.0 */
#include "run/output/file_name.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "base/utc.h"

enum { VALUE_BYTES_MAX = 128, HOST_BYTES = 256 };

/* Texts, with what stands for one that is not known. */
static const struct placeholder {
    char name[8], fallback[6];
    uint8_t offset;
} placeholders[] = {
    {"{job}", "job", offsetof(struct file_name_values, job)},
    {"{host}", "host", offsetof(struct file_name_values, host)},
    {"{node}", "host", offsetof(struct file_name_values, node)},
    {"{rank}", "0", offsetof(struct file_name_values, rank)},
};

/* Writes the value of the name in braces at `at`; returns its length with braces, or 0 where it is none of ours. */
static size_t put_named(struct buf *buf, const char *at, const struct file_name_values *values)
{
    struct str rest = str_of(at);
    for (size_t i = 0; i < sizeof(placeholders) / sizeof(placeholders[0]); i++) {
        const struct placeholder *known = &placeholders[i];
        const char *value = *(const char *const *)((const char *)values + known->offset);
        char safe[VALUE_BYTES_MAX + 1];
        if (!str_starts(rest, str_of(known->name)))
            continue;
        text_file_name(value && value[0] ? value : known->fallback, safe, sizeof(safe));
        buf_puts(buf, safe);
        return strlen(known->name);
    }
    if (str_starts(rest, STR("{pid}"))) {
        num_put_i64(buf, values->pid);
        return sizeof("{pid}") - 1;
    }
    if (str_starts(rest, STR("{datetime}"))) {
        char text[UTC_BASIC_BYTES];
        utc_format_basic(values->unix_secs, text);
        buf_puts(buf, text);
        return sizeof("{datetime}") - 1;
    }
    return 0;
}

void file_name_fill(const char *template_, const struct file_name_values *values, struct buf *buf)
{
    while (*template_ != '\0') {
        size_t used = *template_ == '{' ? put_named(buf, template_, values) : 0;
        if (used == 0)
            buf_putc(buf, *template_);
        template_ += used ? used : 1;
    }
}

int file_name_expand(
    const char *template_, const struct settings *settings, char *ret_path, size_t size, struct err *err)
{
    char host[HOST_BYTES] = "";
    (void)gethostname(host, sizeof(host) - 1);
    struct file_name_values values = {
        .job = settings->job_name,
        .host = host,
        .node = settings->node ? settings->node : host,
        .rank = settings->rank,
        .pid = (int64_t)getpid(),
        .unix_secs = clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_SEC,
    };
    AUTO_BUF struct buf path;
    buf_init(&path, size - 1);
    file_name_fill(template_, &values, &path);
    if (!buf_ok(&path))
        return err_set(err, -ENAMETOOLONG, "the name of the output file is longer than %zu bytes", size - 1);
    (void)str_copy(buf_str(&path), ret_path, size);
    return 0;
}

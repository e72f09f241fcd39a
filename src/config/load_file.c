/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TOML file: read whole, every known key applied, every unknown one reported with the nearest known.
 */
#include "config/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "config/show.h"
#include "config/toml.h"

/* Plain reads and not base/file: the file may be a pipe, as in --config <(make-config). */
static int read_whole(int fd, struct buf *buf)
{
    for (;;) {
        if (!buf_reserve(buf, 1))
            return buf->len >= buf->max ? -EFBIG : -ENOMEM;
        ssize_t n = read(fd, buf->data + buf->len, buf->cap - buf->len);
        if (n < 0 && errno != EINTR)
            return -errno;
        if (n == 0)
            return 0;
        buf->len += n > 0 ? (size_t)n : 0;
    }
}

static int refuse_file(const char *path, int code, struct err *err)
{
    AUTO_BUF struct buf shown;
    buf_init(&shown, 512);
    show_path(&shown, str_of(path), 2 * SHOW_PATH_MAX);
    if (code == -EFBIG)
        return err_set(err, code, "configuration file %s is larger than 1 MiB", buf_cstr(&shown));
    return err_sys(err, code, "cannot read the configuration file %s", buf_cstr(&shown));
}

static void warn_unknown(struct config *config, struct str full_name, const struct toml_node *node, bool top_level)
{
    if (config->warning_count == CONFIG_WARNINGS_MAX) {
        config->warnings_dropped++;
        return;
    }
    AUTO_BUF struct buf text;
    AUTO_BUF struct buf guess;
    buf_init(&text, 1024);
    buf_init(&guess, 128);
    bool table = top_level && node->type == TOML_TABLE;
    buf_puts(&text, table ? "unknown table \"" : "unknown key \"");
    show_text(&text, full_name, SHOW_VALUE_MAX);
    buf_puts(&text, "\" (");
    show_path(&text, str_of(config->settings.config_path), SHOW_PATH_MAX);
    buf_printf(&text, ":%u:%u)", node->key_line, node->key_column);
    if (options_nearest_key(full_name, table, &guess))
        buf_printf(&text, ", did you mean \"%s\"?", buf_cstr(&guess));
    (void)str_copy((struct str){text.data, text.len}, config->warnings[config->warning_count++], CONFIG_TEXT_MAX);
}

static int refuse_node(
    struct config *config, const struct option_row *row, struct str name, const struct toml_node *node, struct err *err)
{
    struct option_origin origin = {.source = SOURCE_FILE, .line = node->line, .column = node->column};
    AUTO_BUF struct buf value;
    buf_init(&value, TOML_BYTES_MAX + 16);
    value_put_node(&value, node, true);
    return load_refuse(config, row, name, (struct str){value.data, value.len}, &origin, err);
}

static int apply_node(struct config *config, size_t i, struct str name, const struct toml_node *node, struct err *err)
{
    struct option_origin origin = {.source = SOURCE_FILE, .line = node->line, .column = node->column};
    struct value_place place = load_place(config, i, &origin);
    int r = value_set_toml(&options[i], node, &place, err);
    if (r < 0) {
        (void)refuse_node(config, &options[i], name, node, err);
        return r;
    }
    config->origins[i] = origin;
    return 0;
}

static int apply_pairs(struct config *config, size_t i, const struct toml_node *table, struct err *err)
{
    const char *name = option_name(&options[i]);
    if (table->type != TOML_TABLE) {
        int r = value_refuse_type(table, "a table of strings", err);
        (void)refuse_node(config, &options[i], str_of(name), table, err);
        return r;
    }
    for (const struct toml_node *node = table->value.children.first; node; node = node->next) {
        AUTO_BUF struct buf full;
        buf_init(&full, TOML_BYTES_MAX + 64);
        buf_printf(&full, "%s.", name);
        buf_append(&full, node->key.p, node->key.n);
        int r = apply_node(config, i, (struct str){full.data, full.len}, node, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_table(struct config *config, const struct toml_node *table, struct str prefix, struct err *err);

static int apply_child(struct config *config, const struct toml_node *node, struct str prefix, struct err *err)
{
    static const struct option_row no_row;
    AUTO_BUF struct buf full;
    buf_init(&full, 8 * TOML_BYTES_MAX);
    buf_append(&full, prefix.p, prefix.n);
    buf_puts(&full, prefix.n > 0 ? "." : "");
    /* A quoted key may hold a point, which must not pass for the end of a table's name. */
    if (memchr(node->key.p, '.', node->key.n))
        show_toml_string(&full, node->key);
    else
        buf_append(&full, node->key.p, node->key.n);
    if (!buf_ok(&full))
        return err_set(err, -ENOMEM, "out of memory");
    struct str name = {full.data, full.len};
    size_t i = options_by_key(name);
    if (i < options_count && options[i].type == OPTION_PAIRS)
        return apply_pairs(config, i, node, err);
    if (i < options_count)
        return apply_node(config, i, str_of(option_name(&options[i])), node, err);
    if (!options_is_table(name)) {
        warn_unknown(config, name, node, prefix.n == 0);
        return 0;
    }
    if (node->type == TOML_TABLE)
        return apply_table(config, node, name, err);
    int r = value_refuse_type(node, "a table", err);
    (void)refuse_node(config, &no_row, name, node, err);
    return r;
}

static int apply_table(struct config *config, const struct toml_node *table, struct str prefix, struct err *err)
{
    for (const struct toml_node *node = table->value.children.first; node; node = node->next) {
        int r = apply_child(config, node, prefix, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The parser knows no file name: "3:17: ..." becomes "resource-tracker.toml:3:17: ...". */
static int refuse_syntax(const char *path, int code, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    show_path(&text, str_of(path), SHOW_PATH_MAX);
    buf_printf(&text, ":%s", err->msg);
    return err_set(err, code, "%s", buf_cstr(&text));
}

/*
 * Nobody asked for the file of the default name: where the working directory may not be searched, it is as good as
 * missing. One that is there and may not be read is an error, like any that was named.
 */
static bool is_missing(const struct config *config, int code)
{
    if (code == -ENOENT || code == -ENOTDIR)
        return true;
    if (code != -EACCES || config->origins[options_by_flag(STR("config"))].source != SOURCE_DEFAULT)
        return false;
    struct stat entry;
    return lstat(config->settings.config_path, &entry) < 0 && errno == EACCES;
}

int load_file(struct config *config, struct err *err)
{
    const char *path = config->settings.config_path;
    /* Blocking, unlike other files: --config <(command) is a pipe, and waits for its writer as cat would. */
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    int failure = fd < 0 ? -errno : 0;
    if (is_missing(config, failure))
        return 0;
    if (failure < 0)
        return refuse_file(path, failure, err);
    AUTO_BUF struct buf content;
    buf_init(&content, (size_t)TOML_BYTES_MAX + 1);
    int r = read_whole(fd, &content);
    if (r < 0)
        return refuse_file(path, r, err);
    struct toml_doc *doc;
    r = toml_parse((struct str){content.data, content.len}, &doc, err);
    if (r < 0)
        return refuse_syntax(path, r, err);
    config->file_found = true;
    r = apply_table(config, toml_root(doc), (struct str){"", 0}, err);
    toml_free(doc);
    return r;
}

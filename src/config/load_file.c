/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TOML file: read whole, every known key applied, every unknown one reported with the nearest known.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/text.h"
#include "codec/toml.h"
#include "config/config_internal.h"

/* Plain reads and not base/file: the file may be a pipe, as in --config <(make-config). */
static int read_whole(int fd, struct buf *buf)
{
    for (;;) {
        if (!buf_reserve(buf, 1))
            return buf->len >= buf->max ? -EFBIG : -ENOMEM;
        ssize_t n = read(fd, buf->data + buf->len, buf->cap - buf->len);
        if (n < 0 && errno != EINTR)
            return err_last();
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
    return err_sys(err, code, "cannot read configuration file %s", buf_cstr(&shown));
}

static bool is_file_named(const struct config *config)
{
    return config->origins[ROW_config_path].source != SOURCE_DEFAULT;
}

/* A library named in a file found by chance would be code chosen by the owner of the directory. */
static void warn_unnamed(struct config *config, const struct option_row *row, const struct toml_node *node)
{
    AUTO_BUF struct buf where;
    buf_init(&where, 256);
    show_path(&where, str_of(config->settings.config_path), SHOW_PATH_MAX);
    load_warn(config, "%s (%s:%u:%u) is ignored: it names code to load; use %s or a file given with --config",
        option_key(row), buf_cstr(&where), node->line, node->column, option_envs(row));
}

static void warn_unknown(struct config *config, struct str full_name, const struct toml_node *node, bool top_level)
{
    AUTO_BUF struct buf text, guess;
    buf_init(&text, 1024);
    buf_init(&guess, 128);
    bool table = top_level && node->type == TOML_TABLE;
    buf_puts(&text, table ? "unknown table \"" : "unknown key \"");
    text_put(&text, full_name, TEXT_ESCAPE, SHOW_VALUE_MAX);
    buf_puts(&text, "\" (");
    show_path(&text, str_of(config->settings.config_path), SHOW_PATH_MAX);
    buf_printf(&text, ":%u:%u)", node->key_line, node->key_column);
    if (options_nearest_key(full_name, table, &guess))
        buf_printf(&text, ", did you mean \"%s\"?", buf_cstr(&guess));
    load_warn(config, "%s", buf_cstr(&text));
}

static int refuse_node(
    struct config *config, const struct option_row *row, struct str name, const struct toml_node *node, struct err *err)
{
    struct option_origin origin = {.source = SOURCE_FILE, .line = node->line, .column = node->column};
    AUTO_BUF struct buf value;
    buf_init(&value, TOML_BYTES_MAX + 16);
    value_put_node(&value, node, true);
    return load_refuse(config, row, name, buf_str(&value), &origin, err);
}

static int apply_node(struct config *config, size_t i, struct str name, const struct toml_node *node, struct err *err)
{
    if ((options[i].props & OPTION_NAMED_FILE) && !is_file_named(config)) {
        warn_unnamed(config, &options[i], node);
        return 0;
    }
    struct option_origin origin = {.source = SOURCE_FILE, .line = node->line, .column = node->column};
    struct value_target target = load_target(config, i, &origin);
    int r = value_set_toml(&options[i], node, &target, err);
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
        int r = apply_node(config, i, buf_str(&full), node, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int apply_table(struct config *config, const struct toml_node *table, struct str prefix, struct err *err);

static int apply_child(struct config *config, const struct toml_node *node, struct str prefix, struct err *err)
{
    static const struct option_row no_row = {.props = OPTION_SECRET}; /* what its keys would have held */
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
    struct str name = buf_str(&full);
    size_t i = options_by_key(name);
    if (i < OPTIONS_COUNT && options[i].type == OPTION_PAIRS)
        return apply_pairs(config, i, node, err);
    if (i < OPTIONS_COUNT)
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

static bool is_absent(int code)
{
    return code == -ENOENT || code == -ENOTDIR;
}

/* Named, and not there: the job runs, but not with the settings that were meant. */
static void warn_absent(struct config *config)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 1024);
    show_path(&text, str_of(config->settings.config_path), 2 * SHOW_PATH_MAX);
    buf_puts(&text, " (from ");
    show_origin(&text, &options[ROW_config_path], &config->origins[ROW_config_path], config->settings.config_path);
    load_warn(config, "configuration file %s) does not exist; continuing without it", buf_cstr(&text));
}

/* As cat would open it: --config <(command) is a pipe, and waits for its writer. Returns -ENOENT where it is absent. */
static int open_named(struct config *config, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd >= 0 || !is_absent(err_last()))
        return fd >= 0 ? fd : err_last();
    warn_absent(config);
    return -ENOENT;
}

static bool is_owner_trusted(const struct stat *file)
{
    return file->st_uid == geteuid() || file->st_uid == 0;
}

/* Why a file that was not named is not used; NULL: it is. */
static const char *distrust(const struct stat *file)
{
    if (!is_owner_trusted(file))
        return "it is owned by another user; change its owner, or use --config";
    if (S_ISLNK(file->st_mode))
        return NULL;
    if (!S_ISREG(file->st_mode))
        return "it is not a regular file; use --config to read it anyway";
    return file->st_mode & (S_IWGRP | S_IWOTH) ? "it is writable by others; run chmod go-w on it, or use --config"
                                               : NULL;
}

static int refuse_trust(struct config *config, const char *path, const char *why)
{
    config->file_refused = true;
    load_warn(config, "ignoring %s: %s", path, why);
    return -ENOENT;
}

/*
 * The file of the default name, which serves every command that is run in this directory:
 * a link and what it leads to must belong to us or to root, and others must not be able to write it. The content is
 * checked through the descriptor it is read from, so that a directory in which others may rename files can only choose
 * among files that are ours. Where the working directory may not be searched, the file is as good as absent.
 */
static int open_default(struct config *config, const char *path)
{
    struct stat file;
    if (lstat(path, &file) < 0)
        return is_absent(err_last()) || errno == EACCES ? -ENOENT : err_last();
    const char *why = distrust(&file);
    if (why)
        return refuse_trust(config, path, why);
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    /* One of root's that is not for us; a link of ours that leads in a circle, or to a device. */
    if (fd < 0 && !is_absent(err_last()))
        return refuse_trust(config, path, strerror(errno));
    if (fd < 0 || fstat(fd, &file) < 0)
        return is_absent(err_last()) ? -ENOENT : err_last();
    why = distrust(&file);
    if (why)
        return refuse_trust(config, path, why);
    return fd_take(&fd);
}

int load_file(struct config *config, struct err *err)
{
    const char *path = config->settings.config_path;
    AUTO_FD int fd = is_file_named(config) ? open_named(config, path) : open_default(config, path);
    if (fd < 0)
        return fd == -ENOENT ? 0 : refuse_file(path, fd, err);
    AUTO_BUF struct buf content;
    buf_init(&content, (size_t)TOML_BYTES_MAX + 1);
    int r = read_whole(fd, &content);
    if (r < 0)
        return refuse_file(path, r, err);
    struct toml_doc *doc;
    r = toml_parse(buf_str(&content), &doc, err);
    if (r < 0)
        return refuse_syntax(path, r, err);
    config->file_found = true;
    r = apply_table(config, toml_root(doc), (struct str){"", 0}, err);
    toml_free(doc);
    return r;
}

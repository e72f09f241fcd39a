/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the documents that follow from the tables: generate-docs DIRECTORY makes docs/, completions/ and the generated
 * parts of man/ below DIRECTORY; generate-docs --list prints the tables themselves, for tools/check-docs. A build tool;
 * nothing of it is in the shipped program.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "config/config.h"
#include "docs.h"
#include "summary/summary.h"

enum { DOCUMENT_BYTES_MAX = 1024 * 1024, PATH_BYTES = 4096, FIELD_PATH_BYTES = 256 };

static int complain(const char *verb, const char *path, int code)
{
    (void)fprintf(stderr, "generate-docs: cannot %s %s: %s\n", verb, path, strerror(-code));
    return -1;
}

static int save(const char *path, struct buf *text)
{
    if (!buf_ok(text))
        return complain("make", path, -ENOBUFS);
    FILE *file = fopen(path, "we");
    bool good = file && (text->len == 0 || fwrite(text->data, 1, text->len, file) == text->len);
    if ((file && fclose(file) != 0) || !good)
        return complain("write", path, -errno);
    return 0;
}

static int make(const char *directory, const char *name, void (*write)(struct buf *buf))
{
    AUTO_BUF struct buf text;
    buf_init(&text, DOCUMENT_BYTES_MAX);
    write(&text);
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    return save(path, &text);
}

static int load(const char *path, struct buf *ret_text)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    char piece[4096];
    size_t n;
    while ((n = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_append(ret_text, piece, n);
    int r = ferror(file) ? -EIO : buf_ok(ret_text) ? 0 : -EFBIG;
    (void)fclose(file);
    return r;
}

/* A page is written by hand but for the parts between marks. */
static int refresh(const char *directory, const char *name)
{
    AUTO_BUF struct buf page;
    AUTO_BUF struct buf text;
    buf_init(&page, DOCUMENT_BYTES_MAX);
    buf_init(&text, DOCUMENT_BYTES_MAX);
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    int r = load(path, &page);
    if (r < 0)
        return complain("read", path, r);
    r = docs_man(&text, (struct str){page.data, page.len});
    return r < 0 ? complain("find the marks in", path, r) : save(path, &text);
}

static void list_options(void)
{
    static const char *const values[] = {"none", "optional", "required"};
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_row *row = &options[i];
        const char letter[2] = {row->letter, '\0'};
        printf("option\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", option_flag(row), letter, docs_negation(row),
            values[docs_value(row)], option_envs(row), option_env(row, 1) ? option_env(row, 1) : "", option_key(row));
    }
}

static void list_fields(const char *path, const struct field_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        char name[FIELD_PATH_BYTES];
        (void)snprintf(name, sizeof(name), "%s.%s", path, docs_name(&field_rows(table)[i]).text);
        printf("field\t%s\n", name);
        if (field_has_table(&field_rows(table)[i]))
            list_fields(name, field_table_of(&field_rows(table)[i]));
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: generate-docs DIRECTORY | --list\n");
        return 2;
    }
    if (strcmp(argv[1], "--list") == 0) {
        list_options();
        list_fields("sample", field_sample);
        list_fields("summary", field_summary);
        return 0;
    }
    int failed = make(argv[1], "docs/schema/sample.schema.json", docs_schema_sample) < 0;
    failed |= make(argv[1], "docs/schema/summary.schema.json", docs_schema_summary) < 0;
    failed |= make(argv[1], "docs/metrics.md", docs_metrics) < 0;
    failed |= make(argv[1], "docs/configuration.md", config_docs) < 0;
    failed |= make(argv[1], "completions/resource-tracker.bash", docs_completion_bash) < 0;
    failed |= make(argv[1], "completions/_resource-tracker", docs_completion_zsh) < 0;
    failed |= make(argv[1], "completions/resource-tracker.fish", docs_completion_fish) < 0;
    failed |= refresh(argv[1], "man/resource-tracker.1") < 0;
    failed |= refresh(argv[1], "man/resource-tracker.toml.5") < 0;
    return failed;
}

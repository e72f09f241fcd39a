/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for every row of the option table, and the texts made from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/clock.h"
#include "config/value.h"
#include "config_given.h"

static bool same(const char *a, const char *b)
{
    return a[0] && strcmp(a, b) == 0;
}

static bool share_variable(const struct option_row *a, const struct option_row *b)
{
    for (size_t i = 0; option_env(a, i); i++) {
        for (size_t k = 0; option_env(b, k); k++) {
            if (same(option_env(a, i), option_env(b, k)))
                return true;
        }
    }
    return false;
}

static void test_nothing_is_there_twice(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        for (size_t k = i + 1; k < OPTIONS_COUNT; k++) {
            const struct option_row *a = &options[i], *b = &options[k];
            assert_false(same(option_flag(a), option_flag(b)));
            assert_false(same(option_key(a), option_key(b)));
            assert_false(share_variable(a, b));
            assert_false(a->letter && a->letter == b->letter);
            assert_false(a->type != OPTION_ACTION && b->type != OPTION_ACTION && a->offset == b->offset);
        }
    }
}

static void test_rows_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_row *row = &options[i];
        assert_true(option_flag(row)[0] || option_envs(row)[0]);
        assert_true(option_flag(row)[0] || row->letter == '\0');
        assert_true(!option_flag(row)[0] || strlen(option_flag(row)) + 3 < 32);
        assert_true(!option_flag(row)[0] || strncmp(option_flag(row), "no-", 3) != 0);
        assert_non_null(option_help(row)->help);
        assert_true(option_help(row)->help[strlen(option_help(row)->help) - 1] != '.');
        bool bare = row->type == OPTION_BOOL || row->type == OPTION_COUNT || row->type == OPTION_ACTION;
        assert_true(bare || option_has_metavar(row));
        assert_true(row->type == OPTION_STRING || row->type == OPTION_PAIRS || row->type == OPTION_OPT_INTEGER ||
                    row->type == OPTION_LIST || row->type == OPTION_ACTION || row->type == OPTION_DURATION ||
                    option_fallback(row));
        assert_true(row->modes < 2 * MODE_REPLAY);
        assert_true(!(row->props & OPTION_NAMED_FILE) || (option_key(row)[0] && option_envs(row)[0]));
        bool number = row->type == OPTION_INTEGER || row->type == OPTION_OPT_INTEGER || row->type == OPTION_DURATION;
        assert_true(!number || option_range(row)->min < option_range(row)->max);
        assert_true(row->type != OPTION_CHOICE || option_word(row, 1));
        assert_true(!(row->props & OPTION_HEADERS) || row->type == OPTION_PAIRS);
        assert_int_equal(row->type == OPTION_LIST,
            (option_word(row, 0) && row->type != OPTION_CHOICE && row->type != OPTION_ACTION));
        assert_true(!(row->props & OPTION_SECRET) || !option_flag(row)[0]);
        bool known = !option_key(row)[0];
        for (size_t k = 0; k < OPTION_TABLES; k++)
            known = known || (strncmp(option_key(row), option_tables[k], strlen(option_tables[k])) == 0 &&
                                 option_key(row)[strlen(option_tables[k])] == '.');
        assert_true(known);
    }
}

/* A variable without a NUL behind it would take the next part for another one. */
static void test_texts_of_a_row_end_where_the_next_begin(void **state)
{
    (void)state;
    for (size_t i = 0; i + 1 < OPTIONS_COUNT; i++) {
        const char *word = option_part(&options[i], PART_WORDS);
        while (*word)
            word += strlen(word) + 1;
        assert_ptr_equal(word + 1, option_flag(&options[i + 1]));
    }
}

/* Two different values that the row accepts, as text. */
static const char *sample_text(const struct option_row *row, bool second, char *room, size_t size)
{
    struct buf buf;
    buf_init(&buf, 64);
    switch (row->type) {
    case OPTION_BOOL:
        return second ? "false" : "true";
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
        (void)snprintf(room, size, "%lld", (long long)(second ? option_range(row)->max : option_range(row)->min));
        return room;
    case OPTION_DURATION:
        duration_put(&buf, second ? option_range(row)->max : option_range(row)->min);
        (void)snprintf(room, size, "%s", buf_cstr(&buf));
        buf_fini(&buf);
        return room;
    case OPTION_CHOICE:
        return option_word(row, second ? 1 : 0);
    case OPTION_STRING:
        return second ? "second" : "first one";
    case OPTION_PAIRS:
        return second ? "key=second" : "key=first one";
    case OPTION_LIST:
        return option_word(row, second ? 1 : 0);
    case OPTION_COUNT:
    case OPTION_ACTION:
        break;
    }
    return NULL;
}

/* One source giving one value; the strings live in the caller's room. */
struct source_text {
    char flag[128], variable[128], file[128];
};

/* --print-config, so that nothing is said about effects that a setting has not when it stands alone. */
static void give(struct given *given, const struct option_row *row, enum option_source source, const char *text,
    struct source_text *room)
{
    given->args[0] = given->args[0] ? given->args[0] : "--print-config";
    given->args[1] = "--print-config";
    if ((row->props & OPTION_NAMED_FILE) && source == SOURCE_FILE)
        given->args[2] = "--config=" GIVEN_FILE;
    bool quoted = row->type == OPTION_STRING || row->type == OPTION_CHOICE || row->type == OPTION_LIST;
    if (source == SOURCE_FLAG) {
        (void)snprintf(room->flag, sizeof(room->flag), "--%s=%s", option_flag(row), text);
        given->args[0] = room->flag;
    } else if (source == SOURCE_ENV) {
        (void)snprintf(room->variable, sizeof(room->variable), "%s=%s", option_envs(row), text);
        given->env[0] = room->variable;
    } else if (row->type == OPTION_PAIRS) {
        (void)snprintf(room->file, sizeof(room->file), "%s = { key = \"%s\" }", option_key(row), text + 4);
        given->file = room->file;
    } else {
        (void)snprintf(room->file, sizeof(room->file), "%s = %s%s%s", option_key(row), quoted ? "\"" : "", text,
            quoted ? "\"" : "");
        given->file = room->file;
    }
}

static bool has_source(const struct option_row *row, enum option_source source)
{
    if (row->type == OPTION_ACTION || row->type == OPTION_COUNT)
        return false;
    return (source == SOURCE_FLAG     ? option_flag(row)
               : source == SOURCE_ENV ? option_envs(row)
                                      : option_key(row))[0] != '\0';
}

static void assert_value(const struct config *config, size_t i, const char *text)
{
    const struct option_row *row = &options[i];
    const void *member = option_member_const(row, &config->settings);
    if (row->type == OPTION_PAIRS) {
        const struct settings_pairs *pairs = member;
        assert_int_equal(pairs->count, 1);
        assert_string_equal(pairs->items[0].key, "key");
        assert_string_equal(pairs->items[0].value, text + 4);
        return;
    }
    if (row->type == OPTION_STRING || row->type == OPTION_LIST) {
        assert_string_equal(*(char *const *)member, text);
        return;
    }
    struct buf buf;
    buf_init(&buf, 1024);
    value_put(&buf, row, &config->settings);
    assert_string_equal(buf_cstr(&buf), text);
    buf_fini(&buf);
}

static void test_every_row_from_every_source(void **state)
{
    (void)state;
    size_t reached = 0;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        for (enum option_source source = SOURCE_FILE; source <= SOURCE_FLAG; source++) {
            for (int second = 0; has_source(&options[i], source) && second < 2; second++) {
                char room[64];
                struct source_text texts;
                struct given given = {0};
                const char *text = sample_text(&options[i], second, room, sizeof(room));
                give(&given, &options[i], source, text, &texts);
                struct config config;
                given_ok(&given, &config);
                assert_value(&config, i, text);
                assert_int_equal(config.origins[i].source, source);
                /* A file that is named and is not there. */
                if (config.warning_count != same(option_flag(&options[i]), "config"))
                    fail_msg("%s", config.warnings[0]);
                config_fini(&config);
                reached++;
            }
        }
    }
    assert_true(reached > 200);
}

static void test_every_row_by_precedence(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        for (enum option_source high = SOURCE_ENV; high <= SOURCE_FLAG; high++) {
            for (enum option_source low = SOURCE_FILE; low < high; low++) {
                for (int second = 0; second < 2; second++) {
                    if (!has_source(&options[i], high) || !has_source(&options[i], low))
                        continue;
                    char room[64], other[64];
                    struct source_text texts;
                    struct given given = {0};
                    const char *text = sample_text(&options[i], second, room, sizeof(room));
                    give(&given, &options[i], high, text, &texts);
                    give(&given, &options[i], low, sample_text(&options[i], !second, other, sizeof(other)), &texts);
                    struct config config;
                    given_ok(&given, &config);
                    assert_value(&config, i, text);
                    assert_int_equal(config.origins[i].source, high);
                    config_fini(&config);
                }
            }
        }
    }
}

static void test_every_second_variable(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (!option_env(&options[i], 1))
            continue;
        char variable[128], empty[128];
        (void)snprintf(variable, sizeof(variable), "%s=value", option_env(&options[i], 1));
        (void)snprintf(empty, sizeof(empty), "%s=", option_envs(&options[i]));
        struct config config;
        given_ok(GIVEN(.env = {empty, variable}), &config);
        assert_value(&config, i, "value");
        assert_string_equal(config.origins[i].env, option_env(&options[i], 1));
        config_fini(&config);
    }
}

static void test_defaults(void **state)
{
    (void)state;
    struct config config;
    given_ok(GIVEN(.file = NULL), &config);
    const struct settings *s = &config.settings;
    assert_false(s->pid.has);
    assert_int_equal(s->interval_ns, NS_PER_SEC);
    assert_int_equal(s->format, FORMAT_JSON);
    assert_int_equal(s->csv_columns, CSV_COLUMNS_AUTO);
    assert_int_equal(s->summary, WHEN_AUTO);
    assert_int_equal(s->collect_pss, WHEN_AUTO);
    assert_int_equal(s->grace_ns, 5 * NS_PER_SEC);
    assert_int_equal(s->upload_interval_ns, 60 * NS_PER_SEC);
    assert_int_equal(s->http_heartbeat_ns, 300 * NS_PER_SEC);
    assert_int_equal(s->spool_max_mib, 256);
    assert_int_equal(s->verbosity, 0);
    assert_string_equal(s->config_path, "resource-tracker.toml");
    assert_string_equal(s->sysroot, "/");
    assert_string_equal(s->sentinel_url, "https://api.sentinel.sparecores.net");
    assert_int_equal(s->sentinel_inline, INLINE_AUTO);
    assert_true(s->subreaper && s->auto_metadata && s->send_command);
    assert_null(s->omit);
    assert_true(s->collect_gpu && s->collect_disk && s->collect_network && s->collect_cloud);
    assert_false(
        s->append || s->quiet || s->cgroup || s->stop_with_pid || s->live || s->allow_http || s->s3_path_style);
    assert_null(s->output);
    assert_null(s->job_name);
    assert_null(s->report);
    assert_null(s->sentinel_token);
    assert_null(s->spool);
    assert_null(s->command);
    assert_int_equal(s->tags.count + s->http_headers.count, 0);
    config_fini(&config);
}

static void assert_same_settings(const struct config *a, const struct config *b)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (!option_key(&options[i])[0] || (options[i].props & OPTION_SECRET))
            continue;
        struct buf x, y;
        buf_init(&x, 1 << 20);
        buf_init(&y, 1 << 20);
        value_put(&x, &options[i], &a->settings);
        value_put(&y, &options[i], &b->settings);
        assert_string_equal(buf_cstr(&x), buf_cstr(&y));
        assert_int_equal(value_is_unset(&options[i], &a->settings), value_is_unset(&options[i], &b->settings));
        buf_fini(&x);
        buf_fini(&y);
    }
    const struct settings_pairs *x = &a->settings.tags, *y = &b->settings.tags;
    assert_int_equal(x->count, y->count);
    for (size_t i = 0; i < x->count; i++) {
        assert_string_equal(x->items[i].key, y->items[i].key);
        assert_string_equal(x->items[i].value, y->items[i].value);
    }
}

static void assert_round_trip(const struct given *given)
{
    struct config config, again;
    struct buf text;
    buf_init(&text, 1 << 20);
    given_ok(given, &config);
    config_print(&config, &text);
    assert_true(buf_ok(&text));
    given_ok(GIVEN(.file = buf_cstr(&text), .args = {"-c", GIVEN_FILE, "--print-config"}), &again);
    assert_int_equal(again.warning_count, 0);
    assert_same_settings(&config, &again);
    config_fini(&config);
    config_fini(&again);
    buf_fini(&text);
}

static void test_print_round_trip(void **state)
{
    (void)state;
    assert_round_trip(GIVEN(.file = NULL));
    assert_round_trip(
        GIVEN(.file = "[tracker]\ninterval_secs = 0.123456789\n[job]\nname = \"a\\u0001\\\"\\\\\\n\\u007f\\u20ac\"\n",
            .env = {"TRACKER_TAGS=b c=d\\,e,\"q\"=#x,\xc3\xa9=1", "TRACKER_S3_URI=s3://b/p", "TRACKER_COLLECT_GPU=0"},
            .args = {"--tag", "a.b=c = d", "-p77", "-fcsv", "--no-subreaper", "-o", "out {job}.csv", "--summary",
                "--grace=86400.000000001ms"}));
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (!has_source(&options[i], SOURCE_FILE) || (options[i].props & OPTION_SECRET))
            continue;
        char room[64];
        struct source_text texts;
        struct given given = {0};
        give(&given, &options[i], SOURCE_FILE, sample_text(&options[i], true, room, sizeof(room)), &texts);
        assert_round_trip(&given);
    }
}

static void assert_line(const char *text, const char *line)
{
    size_t n = strlen(line);
    for (const char *at = strstr(text, line); at; at = strstr(at + 1, line)) {
        if ((at == text || at[-1] == '\n') && at[n] == '\n')
            return;
    }
    fail_msg("no line \"%s\" in:\n%s", line, text);
}

static void test_print_origins(void **state)
{
    (void)state;
    struct config config;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    given_ok(GIVEN(.file = "[tracker]\nformat = \"csv\"\n[job.tags]\na = 1\nb = 2\n[http]\nstart_url = "
                           "\"https://u:hush@h/\"\n[http.headers]\nAuthorization = \"hush\"\n",
                 .env = {"TRACKER_INTERVAL=250ms", "SENTINEL_API_KEY=hush", "TRACKER_TAGS=b=3",
                     "TRACKER_HTTP_HEADERS=X-Key=hush", "TRACKER_OMIT=host_ip,host_id", "SLURM_JOB_ID=7",
                     "TRACKER_EXECUTOR=mine"},
                 .args = {"--grace", "1m", "--no-subreaper", "--tag", "c=4", "-v"}),
        &config);
    config_print(&config, &buf);
    const char *text = buf_cstr(&buf);
    static const char *const lines[] = {"interval_secs = 0.25  # TRACKER_INTERVAL",
        "format = \"csv\"  # resource-tracker.toml:2", "grace_secs = 60  # --grace",
        "subreaper = false  # --no-subreaper", "quiet = false  # default", "# output = \"\"  # default",
        "# pid = PID  # default", "omit = [\"host_ip\", \"host_id\"]  # TRACKER_OMIT", "send_command = true  # default",
        "external_run_id = \"7\"  # SLURM_JOB_ID (automatic)", "executor = \"mine\"  # TRACKER_EXECUTOR",
        "a = \"1\"  # resource-tracker.toml:4", "b = \"3\"  # TRACKER_TAGS", "c = \"4\"  # --tag",
        "# start_url is set (hidden)  # resource-tracker.toml:7",
        "# Authorization is set (hidden)  # resource-tracker.toml:9", "# X-Key is set (hidden)  # TRACKER_HTTP_HEADERS",
        "# SENTINEL_API_KEY is set (hidden)", "# verbose = 1  # --verbose",
        "# configuration file: resource-tracker.toml"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        assert_line(text, lines[i]);
    assert_null(strstr(text, "hush"));
    config_fini(&config);
    buf_fini(&buf);
}

/* Every row whose value is secret, with every way to be refused or noticed. */
static void test_secrets_stay_secret(void **state)
{
    (void)state;
    static const struct given cases[] = {
        {.env = {"TRACKER_HTTP_HEADERS=hush"}},
        {.env = {"TRACKER_HTTP_HEADERS=X=hush\nY: z"}},
        {.env = {"TRACKER_HTTP_HEADERS==hush"}},
        {.env = {"TRACKER_HTTP_HEADERS=a b=hush"}},
        {.env = {"TRACKER_HTTP_HEADERS=X=\x1bhush"}},
        {.env = {"TRACKER_HTTP_HEADERS=Host=hush"}},
        {.file = "[http.headers]\nX = \"\\u007fhush\""},
        {.file = "http.headers = \"hush\""},
        {.file = "[http.headers]\nX = [\"hush\"]"},
        {.file = "[http.headers]\nX = \"hush\\r\\n\""},
        {.file = "[http]\nstart_url = \"https://u:hush@h/\\u0000\""},
        {.file = "[http]\nstop_url = \"https://h/hush?token=hush\\u0000\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct config config;
        struct err err;
        assert_true(given_load(&cases[i], &config, &err) < 0);
        assert_null(strstr(err.msg, "hush"));
        assert_null(strchr(err.msg, '\n'));
        assert_non_null(strstr(err.msg, "(from "));
    }
}

static void test_help(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    config_help(&buf);
    assert_true(buf_ok(&buf));
    const char *help = buf_cstr(&buf);
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        char flag[64];
        (void)snprintf(flag, sizeof(flag), " --%s%s", option_is_on(&options[i]) ? "no-" : "", option_flag(&options[i]));
        assert_true(!option_flag(&options[i])[0] || strstr(help, flag));
        for (size_t k = 0; option_env(&options[i], k); k++)
            assert_non_null(strstr(help, option_env(&options[i], k)));
    }
    struct str rest = {buf.data, buf.len}, line;
    while (str_line(&rest, &line)) {
        if (line.n > 80)
            fail_msg("too wide: %.*s", (int)line.n, line.p);
        assert_true(line.n == 0 || line.p[line.n - 1] != ' ');
    }
    assert_line(help, "  -q, --quiet                do not write samples [TRACKER_QUIET]");
    assert_line(help, "  -p, --pid PID              track this running process and its descendants");
    assert_line(help, "      --team TEXT            team that owns the job [TRACKER_TEAM]");
    assert_line(help, "      --live                 show current usage at the bottom of the terminal");
    assert_line(help, "      --upload-spool         deliver what earlier runs left in the spool, and");
    assert_line(help, "  129    ended by SIGHUP, after a final sample (without a command)");
    buf_fini(&buf);
}

static size_t row_of_flag(struct str flag)
{
    size_t i = 0;
    while (i < OPTIONS_COUNT && !str_eq(str_of(option_flag(&options[i])), flag))
        i++;
    return i;
}

/* It fits a screen, and every flag in it is one, with its letter. */
static void test_short_help(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 16);
    config_short_help(&buf);
    assert_true(buf_ok(&buf));
    struct str rest = {buf.data, buf.len}, line;
    unsigned lines = 0, flags = 0;
    while (str_line(&rest, &line)) {
        assert_in_range(line.n, 0, 80);
        lines++;
        if (line.n < 9 || memcmp(line.p + 6, "--", 2) != 0)
            continue;
        struct str flag = {line.p + 8, strcspn(line.p + 8, " [=")};
        size_t i = row_of_flag(flag);
        assert_in_range(i, 0, OPTIONS_COUNT - 1);
        assert_int_equal(options[i].letter ? options[i].letter : ' ', line.p[3]);
        flags++;
    }
    assert_int_equal(flags, 10);
    assert_in_range(lines, 15, 25);
    buf_fini(&buf);
}

static void test_docs(void **state)
{
    (void)state;
    struct buf buf;
    buf_init(&buf, 1 << 20);
    config_docs(&buf);
    assert_true(buf_ok(&buf));
    const char *docs = buf_cstr(&buf);
    assert_line(docs, "## [tracker]");
    assert_line(docs,
        "| `append` | `--append` | `TRACKER_APPEND` | `false` | boolean | Append to the output file instead of "
        "overwriting it. |");
    assert_line(docs,
        "| `format` | `--format json\\|csv`, `-f` | `TRACKER_FORMAT` | `json` | `json`, `csv` | Write one "
        "JSON object or one CSV row per sample. |");
    assert_line(docs, "| `team` | `--team TEXT` | `TRACKER_TEAM` | none | text | Team that owns the job. |");
    assert_line(docs,
        "| `report` | `--report FILE.html` | `TRACKER_REPORT` | none | text | Write a self-contained HTML page with "
        "charts, which can save them as PNG; with FILE.svg, a picture instead. |");
    assert_line(docs, "## [sentinel]");
    struct str rest = {buf.data, buf.len}, line;
    size_t rows = 0;
    while (str_line(&rest, &line)) {
        if (line.n == 0 || line.p[0] != '|')
            continue;
        size_t bars = 0;
        for (size_t i = 0; i < line.n; i++)
            bars += line.p[i] == '|' && !(i > 0 && line.p[i - 1] == '\\');
        assert_int_equal(bars, 7);
        rows++;
    }
    assert_int_equal(rows, OPTIONS_COUNT + 2 * (OPTION_TABLES + 1));
    buf_fini(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_there_twice),
        cmocka_unit_test(test_rows_are_complete),
        cmocka_unit_test(test_texts_of_a_row_end_where_the_next_begin),
        cmocka_unit_test(test_every_row_from_every_source),
        cmocka_unit_test(test_every_row_by_precedence),
        cmocka_unit_test(test_every_second_variable),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_print_round_trip),
        cmocka_unit_test(test_print_origins),
        cmocka_unit_test(test_secrets_stay_secret),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_short_help),
        cmocka_unit_test(test_docs),
    };
    return cmocka_run_group_tests(tests, given_enter_directory, given_leave_directory);
}

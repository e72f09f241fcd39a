/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getopt_long over the option table, without permutation, without its messages and without abbreviations: an option
 * that is short for one today may be short for two tomorrow.
 */
#include "config/config_internal.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "base/vec.h"

/* What getopt_long returns for a long option: its row, and whether it came as --no-NAME. */
enum { LONG_BASE = 256, LONG_NEGATED = LONG_BASE + OPTIONS_COUNT, LONG_END = LONG_NEGATED + OPTIONS_COUNT };
enum { NAME_MAX_BYTES = 32 };

struct syntax {
    struct option longs[2 * OPTIONS_COUNT + 1];
    char negated_names[OPTIONS_COUNT][NAME_MAX_BYTES];
    char letters[3 + 3 * OPTIONS_COUNT];
};

static int argument_kind(const struct option_row *row)
{
    if (row->type == OPTION_COUNT || (row->type == OPTION_ACTION && !option_has_metavar(row)))
        return no_argument;
    if ((row->type == OPTION_BOOL && !option_has_metavar(row)) || option_is_value_optional(row))
        return optional_argument;
    return required_argument;
}

static void syntax_init(struct syntax *syntax)
{
    size_t n = 0, letters = 0;
    syntax->letters[letters++] = '+';
    syntax->letters[letters++] = ':';
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_row *row = &options[i];
        if (!option_flag(row)[0])
            continue;
        int kind = argument_kind(row);
        syntax->longs[n++] = (struct option){option_flag(row), kind, NULL, LONG_BASE + (int)i};
        if (row->type == OPTION_BOOL) {
            char *name = syntax->negated_names[i];
            (void)snprintf(name, NAME_MAX_BYTES, "no-%s", option_flag(row));
            syntax->longs[n++] = (struct option){name, no_argument, NULL, LONG_NEGATED + (int)i};
        }
        if (row->letter) {
            syntax->letters[letters++] = row->letter;
            if (kind == required_argument || option_bare(row))
                syntax->letters[letters++] = ':';
            if (option_bare(row))
                syntax->letters[letters++] = ':';
        }
    }
    syntax->longs[n] = (struct option){0};
    syntax->letters[letters] = '\0';
}

/* The name in "--name=value". */
static struct str long_name(const char *word)
{
    return (struct str){word + 2, strcspn(word + 2, "=")};
}

static bool is_long(const char *word)
{
    return word && word[0] == '-' && word[1] == '-';
}

/* Row of a code from getopt_long; OPTIONS_COUNT where it stands for none. */
static size_t row_of_code(int code, bool *ret_negated)
{
    *ret_negated = code >= LONG_NEGATED && code < LONG_END;
    if (*ret_negated)
        return (size_t)(code - LONG_NEGATED);
    if (code >= LONG_BASE && code < LONG_NEGATED)
        return (size_t)(code - LONG_BASE);
    return code > 0 && code < LONG_BASE ? options_by_letter((char)code) : OPTIONS_COUNT;
}

/* Was the option written out in full? Short options always are. */
static bool is_exact(const char *word, size_t row, bool negated)
{
    if (!is_long(word))
        return true;
    struct str name = long_name(word);
    if (negated && str_starts(name, STR("no-")))
        name = (struct str){name.p + 3, name.n - 3};
    return str_eq(name, str_of(option_flag(&options[row])));
}

static int refuse_unknown(const char *word, int letter, struct err *err)
{
    AUTO_BUF struct buf shown, guess;
    buf_init(&shown, 256);
    buf_init(&guess, 64);
    if (!is_long(word)) {
        char text[2] = {'-', (char)letter};
        text_put(&shown, (struct str){text, 2}, TEXT_ESCAPE, SHOW_VALUE_MAX);
        return err_set(err, -EINVAL, "unknown option \"%s\"; see --help", buf_cstr(&shown));
    }
    struct str name = long_name(word);
    text_put(&shown, (struct str){word, name.n + 2}, TEXT_ESCAPE, SHOW_VALUE_MAX);
    AUTO_BUF struct buf instead;
    buf_init(&instead, 256);
    bool is_near = options_explain_flag(name, 0, &instead);
    if (!is_near && !options_nearest_flag(name, &guess))
        is_near = options_explain_flag(name, 1, &instead);
    if (is_near)
        return err_set(err, -EINVAL, "unknown option \"%s\"%s", buf_cstr(&shown), buf_cstr(&instead));
    if (guess.len == 0)
        return err_set(err, -EINVAL, "unknown option \"%s\"; see --help", buf_cstr(&shown));
    return err_set(err, -EINVAL, "unknown option \"%s\", did you mean \"--%s\"?", buf_cstr(&shown), buf_cstr(&guess));
}

/* getopt_long returned '?' or ':'; optopt says which option it was about, 0 for an unknown long one. */
static int refuse(int code, const char *word, struct err *err)
{
    bool negated;
    size_t i = row_of_code(optopt, &negated);
    if (i >= OPTIONS_COUNT || !is_exact(word, i, negated))
        return refuse_unknown(word, optopt, err);
    if (code == ':' && !is_long(word))
        return err_set(err, -EINVAL, "option -%c needs a value: -%c %s", optopt, optopt, option_metavar(&options[i]));
    if (code == ':')
        return err_set(err, -EINVAL, "option --%s needs a value: --%s %s", option_flag(&options[i]),
            option_flag(&options[i]), option_metavar(&options[i]));
    return err_set(err, -EINVAL, "option --%s%s takes no value", negated ? "no-" : "", option_flag(&options[i]));
}

static int add_item(struct cli *cli, size_t row, bool negated, struct err *err)
{
    int r = VEC_GROW(cli, cli->count + 1, CLI_ITEMS_MAX);
    if (r < 0)
        return err_set(err, r, r == -E2BIG ? "too many options" : "out of memory");
    cli->items[cli->count++] = (struct cli_item){row, optarg, negated};
    return 0;
}

static int add_mark(struct config_marks *marks, const struct option_row *row, struct err *err)
{
    if (marks->count == CONFIG_MARKS_MAX)
        return err_set(err, -E2BIG, "more than %d marks at once", CONFIG_MARKS_MAX);
    marks->items[marks->count].kind = option_flag(row);
    marks->items[marks->count++].name = optarg;
    return 0;
}

static int take_action(struct cli *cli, const struct option_row *row, struct err *err)
{
    cli->action = row->action;
    if (!optarg)
        return 0;
    if (!option_word(row, 0))
        return add_mark(&cli->marks, row, err);
    if (strcmp(optarg, option_word(row, 0)) != 0)
        return err_set(
            err, -EINVAL, "option --%s only accepts the value \"%s\"", option_flag(row), option_word(row, 0));
    cli->doctor_online = true;
    return 0;
}

/* The next word, where it is a number that a flag without a value may have: "--renice 5 make" and "-r -5 make". */
static void take_number(const struct option_row *row, int argc, char **argv)
{
    int64_t number;
    if (optarg || !option_bare(row) || row->type != OPTION_OPT_INTEGER || optind >= argc)
        return;
    if (num_parse_i64(str_of(argv[optind]), &number) == 0 && number >= option_range(row)->min &&
        number <= option_range(row)->max)
        optarg = argv[optind++];
}

/* One option. Returns 1 to go on, 0 at the end, or a negative errno. */
static int next_option(int argc, char **argv, const struct syntax *syntax, struct cli *cli, struct err *err)
{
    int at = optind > 0 ? optind : 1;
    const char *word = at < argc ? argv[at] : NULL;
    int code = getopt_long(argc, argv, syntax->letters, syntax->longs, NULL);
    if (code == -1) {
        bool dashes = optind > at;
        if (dashes && optind >= argc)
            return err_set(err, -EINVAL, "missing command after \"--\"");
        cli->command = optind < argc ? argv + optind : NULL;
        if (cli->action == CONFIG_MARK && cli->command)
            return err_set(err, -EINVAL, "--%s is for use inside a tracked command, and runs none itself",
                cli->marks.items[0].kind);
        return 0;
    }
    if (code == '?' || code == ':')
        return refuse(code, word, err);
    bool negated;
    size_t i = row_of_code(code, &negated);
    if (!is_exact(word, i, negated))
        return refuse_unknown(word, 0, err);
    take_number(&options[i], argc, argv);
    if (options[i].type != OPTION_ACTION) {
        int r = add_item(cli, i, negated, err);
        return r < 0 ? r : 1;
    }
    int r = take_action(cli, &options[i], err);
    if (r < 0)
        return r;
    cli->is_help_short = cli->action == CONFIG_HELP && !is_long(word);
    return cli->action != CONFIG_HELP && cli->action != CONFIG_VERSION;
}

int cli_parse(int argc, char **argv, struct cli *ret_cli, struct err *err)
{
    /* Ten KiB: not for the stack, which may be limited to a few pages (ulimit -s). */
    struct syntax *syntax = malloc(sizeof(*syntax));
    if (!syntax)
        return err_set(err, -ENOMEM, "out of memory");
    syntax_init(syntax);
    struct cli cli = {0};
    optind = 0; /* glibc: start afresh */
    opterr = 0;
    int r;
    do {
        r = next_option(argc, argv, syntax, &cli, err);
    } while (r > 0);
    free(syntax);
    if (r < 0) {
        cli_fini(&cli);
        return r;
    }
    *ret_cli = cli;
    return 0;
}

void cli_fini(struct cli *cli)
{
    free(cli->items);
    *cli = (struct cli){0};
}

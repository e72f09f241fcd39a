/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line as words: an option and the value behind it, NAME=value, and what certain programs take. Arguments
 * with blanks in them are command lines themselves (sh -c, ssh, --wrap=) and are read the same way, quotes respected.
 */
#include "mask/mask_internal.h"

enum { ASSIGNMENTS_MAX = 4, SETTING_WORDS = 3, GROUP_BYTES_MAX = 1024 };

static void scan_words(struct words *words, struct str text, bool is_shell);

static void mark_secret(struct words *words, struct str value)
{
    (void)mark_value(words->element, value, &name_strong);
}

/* -x, --name, --name=value */
static bool is_option(struct str word)
{
    size_t i = 0;
    while (i < word.n && i < 2 && word.p[i] == '-')
        i++;
    if (i == 0 || i == word.n || !(ascii_is_alpha(word.p[i])))
        return false;
    i = skip_all(word, i, is_name_char);
    return i == word.n || word.p[i] == '=';
}

/* A command that prints a secret: what it echoes is one. */
static void scan_fed(struct words *words, struct str text)
{
    words->feeds = true;
    scan_words(words, unquote(text), true);
    words->feeds = false;
}

static void mark_behind(struct words *words, struct str word, char separator)
{
    size_t at = find_char(word, 0, separator);
    if (at < word.n)
        mark_secret(words, str_from(word, at + 1));
}

/*
 * Behind the name of a secret: -x, -j8, -name and --name are options, -S3cret is a value that happens to begin with a
 * dash.
 */
static bool is_other_option(struct str word, const struct name_class *name)
{
    if (!is_option(word) || name->level < NAME_STRONG || word.p[1] == '-')
        return is_option(word);
    size_t digits = 0, n = 1;
    for (; n < word.n && word.p[n] != '='; n++)
        digits += ascii_is_digit(word.p[n]);
    return digits == 0 || digits + 2 == n;
}

/* True where the word is the value that was waited for, and there is nothing more to it. */
static bool take_pending(struct words *words, struct str word)
{
    enum pending_kind kind = words->pending.kind;
    words->pending.kind = PENDING_NONE;
    switch (kind) {
    case PENDING_NONE:
        return false;
    case PENDING_COMMAND:
        words->element->is_shell |= words->depth == 0;
        scan_words(words, word, true);
        return true;
    case PENDING_FEED:
        scan_fed(words, word);
        return true;
    case PENDING_SPLIT:
        mark_behind(words, word, words->pending.separator);
        return true;
    case PENDING_LITERAL:
        mark_behind(words, word, '=');
        return true;
    case PENDING_SECRET:
        mark_secret(words, word);
        return true;
    case PENDING_NAME:
        break;
    }
    if (is_other_option(word, &words->pending.name))
        return false;
    /* Authorization: Bearer TOKEN, in words of their own */
    if (rule_lists(rule_auth_schemes, word) && words->pending.name.is_header) {
        words->pending.kind = PENDING_NAME;
        return true;
    }
    return mark_value(words->element, word, &words->pending.name);
}

static void expect_name(struct words *words, const struct name_class *name)
{
    words->pending.kind = PENDING_NAME;
    words->pending.name = *name;
}

/* The name directly before this byte of the word. */
static struct str name_before(struct str word, size_t at)
{
    size_t start = at;
    while (start > 0 && is_name_char(word.p[start - 1]))
        start--;
    return (struct str){word.p + start, at - start};
}

/* "Name: value" and Name:value; a tag of an image or a volume is no value. */
static bool take_header(struct words *words, struct str word)
{
    size_t n = skip_all(word, 0, is_name_char);
    if (n < 2 || n >= word.n || word.p[n] != ':' || (n + 1 < word.n && word.p[n + 1] == ':'))
        return false;
    struct name_class name = name_classify((struct str){word.p, n});
    if (name.level == NAME_PLAIN)
        return false;
    size_t at = skip_all(word, n + 1, is_white);
    struct str value = str_from(word, at);
    bool is_glued = at == n + 1;
    if (value.n == 0) {
        if (is_glued)
            expect_name(words, &name);
        return true;
    }
    if (is_glued && (value_is_word(value) || value_is_version(value) || value_is_path(value) || value.p[0] == '/'))
        return false;
    return mark_value(words->element, value, &name);
}

/* NAME=value, +a.b.name=value, opt=NAME=value: the value is all the rest of the word. */
static bool take_assignment(struct words *words, struct str word)
{
    struct str whole = word;
    for (int i = 0; i < ASSIGNMENTS_MAX; i++) {
        if (take_header(words, word))
            return true;
        size_t at = find_char(word, 0, '=');
        if (at == word.n)
            return false;
        for (size_t k = 0; k < at; k++) {
            if (is_white(word.p[k]) || strchr("?&(){};,|\"'<>", word.p[k]))
                return false;
        }
        bool is_added = at > 1 && word.p[at - 1] == '+'; /* NAME+=value */
        struct str name = name_before(word, at - is_added);
        if (name.n == 0)
            return false;
        struct name_class class = name_classify(name);
        struct str value = str_from(word, at + 1), rest = value;
        size_t from = (size_t)(value.p - whole.p);
        value.n = cut_substitution(whole, (size_t)(name.p - whole.p), from, whole.n) - from;
        if (class.is_command) {
            scan_fed(words, value);
            return true;
        }
        if (value.n == rest.n && is_partition(whole, name, from))
            class.level = NAME_PLAIN;
        bool is_code = words->is_text && value_is_code(word, at + 1, word.n, name);
        if (class.level > NAME_PLAIN && !is_code && mark_value(words->element, value, &class))
            return true;
        word = rest;
    }
    return false;
}

static void take_text(struct words *words, struct str text)
{
    text = unquote(text);
    if (!take_assignment(words, text) && has_white(text))
        scan_words(words, text, false);
}

static bool is_for(const struct words *words, const struct program_rule *rule)
{
    if (rule->subcommand != 0 && !(words->subcommands & rule->subcommand))
        return false;
    return rule->programs == PROGRAMS_ANY || rule_lists(rule_text(rule->programs), words->program);
}

static void expect_rule(struct words *words, const struct program_rule *rule)
{
    words->pending.kind = rule->form & FORM_SPLIT     ? PENDING_SPLIT
                          : rule->form & FORM_LITERAL ? PENDING_LITERAL
                                                      : PENDING_SECRET;
    words->pending.separator = rule->separator;
}

/* Where the option stands behind letters that take no value; body.n: nowhere. */
static size_t find_flag(struct str body, const char *flags, char option)
{
    size_t i = 0;
    while (i < body.n && body.p[i] != option && strchr(flags, body.p[i]))
        i++;
    return i < body.n && body.p[i] == option ? i : body.n;
}

static bool is_cluster(struct str body, char last)
{
    return body.n > 1 && body.n <= 6 && body.p[body.n - 1] == last && is_all(body, ascii_is_alpha);
}

/* One rule of a program; true where the option is its. */
static bool take_rule(
    struct words *words, const struct program_rule *rule, struct str option, struct str body, unsigned dashes)
{
    if (option.n == 0 || (rule->form & (FORM_PREFIX | FORM_BARE)))
        return false;
    struct str rest = str_from(body, option.n);
    bool is_long = option.n > 1;
    if (is_long ? !str_starts(body, option) : dashes != 1)
        return false;
    if (is_long && rest.n > 0 && rest.p[0] != '=')
        return false;
    if (!is_long && !str_starts(body, option)) {
        if (!(rule->form & FORM_CLUSTER))
            return false;
        size_t at = find_flag(body, rule_text(rule->flags), option.p[0]);
        if (at == body.n && !is_cluster(body, option.p[0]))
            return false;
        rest = str_from(body, at + 1);
    }
    if (!is_for(words, rule))
        return false;
    if (rest.n == 0) {
        if (rule->form & FORM_NEXT)
            expect_rule(words, rule);
        return rule->form & FORM_NEXT;
    }
    if (!is_long && !(rule->form & FORM_GLUED))
        return false;
    expect_rule(words, rule);
    (void)take_pending(words, is_long ? str_from(rest, 1) : rest);
    return true;
}

static bool is_command_option(const struct words *words, struct str body, unsigned dashes)
{
    return dashes == 1 && body.n <= 6 && is_all(body, ascii_is_lower) && str_has(body, 'c') &&
           rule_lists(rule_shells, words->program);
}

static unsigned long long letter_bit(char c)
{
    return 1ULL << (c - 'A');
}

static void take_option(struct words *words, struct str word)
{
    unsigned dashes = word.p[1] == '-' ? 2 : 1;
    struct str body = str_from(word, dashes);
    if (body.n == 0) {
        words->has_program = false; /* -- COMMAND */
        return;
    }
    for (size_t i = 0; i < body.n && i < 8 && dashes == 1 && (ascii_is_alpha(body.p[i])); i++)
        words->letters |= letter_bit(body.p[i]);
    if (is_command_option(words, body, dashes)) {
        words->pending.kind = PENDING_COMMAND;
        return;
    }
    const char *text = rule_options;
    for (size_t i = 0; i < rule_program_count; i++, text = rule_next(text)) {
        const struct program_rule *rule = &rule_programs[i];
        struct str option = str_of(text);
        bool is_prefix = rule->form & FORM_PREFIX && has_prefix_nocase(word, text) && is_for(words, rule);
        if (is_prefix)
            mark_secret(words, str_from(word, option.n));
        if (is_prefix || take_rule(words, rule, option, body, dashes))
            return;
    }
    struct str name = {body.p, find_char(body, 0, '=')};
    bool has_value = name.n < body.n;
    if (has_white(name)) {
        take_text(words, word);
        return;
    }
    struct name_class class = name.n > 1 ? name_classify(name) : (struct name_class){0};
    if (class.is_command) {
        words->pending.kind = has_value ? PENDING_NONE : PENDING_FEED;
        if (has_value)
            scan_fed(words, str_from(body, name.n + 1));
        return;
    }
    if (!has_value) {
        if (class.level > NAME_PLAIN && !class.is_switch)
            expect_name(words, &class);
        return;
    }
    struct str value = str_from(body, name.n + 1);
    if (class.level == NAME_PLAIN || !mark_value(words->element, value, &class))
        take_text(words, value);
}

static bool is_known_program(struct str base)
{
    bool is_known = rule_lists(rule_shells, base) || rule_lists(rule_echoes, base) || rule_lists(rule_carriers, base);
    return is_known || (base.n > 1 && rule_knows_program(base));
}

/* mysql5.7, mysqldump-8.0: by the name without the version where that is known */
static struct str without_version(struct str base)
{
    struct str name = base;
    while (name.n > 1 && (ascii_is_digit(name.p[name.n - 1]) || name.p[name.n - 1] == '.' || name.p[name.n - 1] == '-'))
        name.n--;
    return name.n < base.n && !is_known_program(base) && is_known_program(name) ? name : base;
}

/* python3.11 */
static bool is_interpreter(struct str name)
{
    while (name.n > 1 && (ascii_is_digit(name.p[name.n - 1]) || name.p[name.n - 1] == '.'))
        name.n--;
    return rule_lists(rule_shells, name) || rule_lists(rule_interpreters, name);
}

/* NAME=value and 2>file, which may stand before a program. */
static bool is_before_program(struct str word)
{
    size_t name = skip_all(word, 0, is_name_char), digits = skip_all(word, 0, ascii_is_digit);
    return (name > 0 && name < word.n && word.p[name] == '=') ||
           (digits < word.n && (word.p[digits] == '<' || word.p[digits] == '>'));
}

/* True where the word is the program that runs, or one that starts it, or may stand before it. */
static bool take_program(struct words *words, struct str word)
{
    /* The kernel puts the interpreter before a script: /bin/sh /usr/bin/mysql -pSECRET */
    bool is_script = words->has_program && words->positionals == 0 && is_interpreter(words->program);
    if (words->has_program && !is_script)
        return false;
    if (!is_script && !words->has_carrier && is_before_program(word))
        return true;
    if (word.n > 0 && word.p[0] == '\\') /* past an alias */
        word = str_from(word, 1);
    const char *slash = memrchr(word.p, '/', word.n);
    struct str base = slash ? str_from(word, (size_t)(slash - word.p) + 1) : word;
    base = without_version(base);
    bool is_known = is_known_program(base);
    bool is_carrier = rule_lists(rule_carriers, base);
    if (is_script && !is_known)
        return false;
    if (is_script)
        words->letters = 0;
    if (is_carrier) {
        words->has_program = false;
        words->has_carrier = true;
        words->program = base;
        return true;
    }
    if (!is_known && words->has_carrier)
        return false;
    words->program = base;
    words->has_program = true;
    words->positionals = 0;
    words->is_echo = rule_lists(rule_echoes, base);
    return true;
}

/* USER/SECRET@DATABASE */
static void mark_oracle(struct words *words, struct str word)
{
    size_t slash = find_char(word, 0, '/');
    if (slash == word.n || slash == 0 || word.p[0] == '@' || word.p[0] == '.')
        return;
    struct str value = str_from(word, slash + 1);
    const char *at = memrchr(value.p, '@', value.n);
    if (at)
        value.n = (size_t)(at - value.p);
    if (at || !has_white(value))
        mark_secret(words, value);
}

static bool has_letters(const struct words *words, const char *letters)
{
    for (; *letters; letters++) {
        if (!(words->letters & letter_bit(*letters)))
            return false;
    }
    return true;
}

/* Rules about arguments that are no options. */
static void take_argument_rules(struct words *words, struct str word)
{
    bool is_url = has_text(word, "://");
    const char *option = rule_options;
    for (size_t i = 0; i < rule_program_count; i++, option = rule_next(option)) {
        const struct program_rule *rule = &rule_programs[i];
        unsigned kind = rule->form & (FORM_POSITION | FORM_BEHIND_URL | FORM_ORACLE | FORM_PREFIX | FORM_BARE);
        if (kind == 0 || !is_for(words, rule))
            continue;
        bool is_unwanted = rule->without && words->letters & letter_bit(rule->without);
        if ((kind == FORM_POSITION && words->positionals == rule->position &&
                has_letters(words, rule_text(rule->flags)) && !is_unwanted &&
                !(rule->separator && str_has(word, rule->separator))) ||
            (kind == FORM_BEHIND_URL && words->has_url && !is_url))
            mark_secret(words, word);
        else if (kind == FORM_ORACLE)
            mark_oracle(words, word);
        else if (kind == FORM_PREFIX && has_prefix_nocase(word, option))
            mark_secret(words, str_from(word, strlen(option)));
        else if (kind == FORM_BARE && has_prefix_nocase(word, option) && word.n == strlen(option))
            expect_name(words, &name_strong);
    }
    words->has_url |= is_url;
}

/* set NAME VALUE */
static void take_setting(struct words *words, struct str word)
{
    if (rule_lists(rule_setters, word)) {
        words->setting = SETTING_WORDS;
        return;
    }
    if (words->setting == 0 || rule_lists(rule_setting_verbs, word))
        return;
    words->setting--;
    struct str name = name_before(word, word.n);
    struct name_class class = name_classify(name);
    bool is_compound = name.n < word.n || str_has(name, '_') || str_has(name, '.') || str_has(name, '-');
    if (class.level == NAME_PLAIN || (!is_compound && class.level < NAME_STRONG))
        return;
    class.level = class.level < NAME_MILD ? NAME_MILD : class.level;
    expect_name(words, &class);
}

/* Bearer TOKEN as two words; in a text, or in small letters, only what is no plain word. */
static void take_bearer(struct words *words, struct str word)
{
    if (words->is_behind_option || !rule_lists(" bearer ", word))
        return;
    struct name_class name = {.level = word.p[0] == 'B' && !words->is_text ? NAME_STRONG : NAME_MILD};
    expect_name(words, &name);
}

static void take_argument(struct words *words, struct str word)
{
    if (words->is_echo && words->is_fed) {
        if (word.p[0] != '%')
            mark_secret(words, word);
        return;
    }
    bool is_program = take_program(words, word);
    if (!is_program) {
        words->positionals++;
        take_argument_rules(words, word);
        take_setting(words, word);
        /* wandb login KEY, snyk auth UUID */
        bool is_login = words->subcommands & (SUBCOMMAND_LOGIN | SUBCOMMAND_AUTH);
        if (is_login && !str_has(word, '.') && !str_has(word, '/') && value_is_tokenish(word))
            mark(words->element, word, MARK_SECRET);
        take_bearer(words, word);
        unsigned bit = 1;
        for (const char *text = rule_subcommands; *text; text = rule_next(text), bit <<= 1) {
            if (str_eq(word, str_of(text)))
                words->subcommands |= bit;
        }
    }
    if (has_white(word)) {
        bool is_shell = rule_lists(rule_shell_hosts, words->program);
        words->element->is_shell |= is_shell && words->depth == 0;
        scan_words(words, word, is_shell);
    }
}

static void take_word(struct words *words, struct str word)
{
    if (take_pending(words, word) || word.n == 0)
        return;
    bool is_here_string = words->is_fed && str_starts(word, STR("<<<"));
    bool is_script = rule_lists(rule_shell_hosts, words->program) && has_white(word);
    if (is_here_string && word.n > 3)
        mark_secret(words, str_from(word, 3));
    else if (is_here_string)
        words->pending.kind = PENDING_SECRET;
    else if (word.p[0] == '-' && word.n > 1)
        take_option(words, word);
    else if (is_script || !take_assignment(words, word))
        take_argument(words, word);
    words->is_behind_option = word.p[0] == '-' && !str_has(word, '=');
}

void words_argument(struct words *words, struct element *element)
{
    words->element = element;
    take_word(words, element->text);
}

/* Behind the quote, parenthesis or escape that begins here; the next byte where it does not end, or begins nothing. */
static size_t skip_quoted(struct str text, size_t i)
{
    char c = text.p[i];
    if (c == '\\')
        return i + 2 < text.n ? i + 2 : text.n;
    size_t depth = 1, at = i + 1;
    bool is_group = c == '$' && at < text.n && text.p[at] == '(';
    if (!is_group && !is_quote(c))
        return i + 1;
    size_t end = is_group && text.n - i > GROUP_BYTES_MAX ? i + GROUP_BYTES_MAX : text.n;
    for (at += is_group; at < end; at++) {
        if (text.p[at] == '\\' && c != '\'') {
            at++;
            continue;
        }
        depth += is_group && text.p[at] == '(';
        depth -= is_group ? text.p[at] == ')' : text.p[at] == c;
        if (depth == 0)
            return at + 1;
    }
    return i + 1;
}

static bool is_separator(char c)
{
    return c == ';' || c == '|' || c == '&' || c == '(' || c == ')' || c == '\n';
}

/* Pieces in quotes or $( ) that hold words of their own. */
static void scan_piece(struct words *words, struct str word, size_t from, size_t to)
{
    bool is_group = word.p[from] == '$';
    struct str inner = {word.p + from + 1 + is_group, to - from - 2 - is_group};
    if (is_group || has_white(inner))
        scan_words(words, inner, is_group);
}

/* The word at the start of text. */
static size_t scan_word(struct words *words, struct str text, bool is_shell, bool *ret_is_quoted)
{
    size_t i = 0, pieces = 0;
    while (i < text.n && !is_white(text.p[i]) && !(is_shell && is_separator(text.p[i]))) {
        size_t next = skip_quoted(text, i);
        bool is_piece = next > i + 2 && text.p[i] != '\\';
        pieces += is_piece;
        *ret_is_quoted = is_piece && pieces == 1 && i == 0 && is_quote(text.p[0]);
        bool goes_on = next < text.n && !is_white(text.p[next]) && !(is_shell && is_separator(text.p[next]));
        if (is_piece && (goes_on || i > 0 || text.p[i] == '$'))
            scan_piece(words, text, i, next);
        i = next;
    }
    return i;
}

static bool reads_password(struct str text)
{
    if (!str_has(text, '|') && !has_text(text, "<<<"))
        return false;
    bool reads = false;
    for (const char *reader = rule_password_readers; *reader && !reads; reader = rule_next(reader))
        reads = has_text(text, reader);
    return reads;
}

static void scan_words(struct words *words, struct str text, bool is_shell)
{
    if (words->depth >= WORDS_DEPTH_MAX)
        return;
    struct words outer = *words;
    struct words fresh = {.element = outer.element,
        .depth = outer.depth + 1,
        .is_text = !is_shell,
        .feeds = outer.feeds,
        .is_fed = outer.feeds || reads_password(text)};
    *words = fresh;
    while (text.n > 0) {
        if (is_white(text.p[0]) || (is_shell && is_separator(text.p[0]))) {
            if (is_separator(text.p[0]))
                *words = fresh;
            text = str_from(text, 1);
            continue;
        }
        bool is_quoted = false;
        size_t n = scan_word(words, text, is_shell, &is_quoted);
        struct str word = {text.p + is_quoted, n - 2 * (size_t)is_quoted};
        take_word(words, word);
        if (!is_quoted && n <= 2 && is_separator(text.p[0]))
            *words = fresh;
        text = str_from(text, n);
    }
    *words = outer;
}

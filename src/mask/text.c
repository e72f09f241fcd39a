/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the text of an argument shows without its neighbours: names with values in JSON, YAML, headers, code, connection
 * strings and queries; PEM blocks; "Bearer TOKEN"; and as the last resort what looks random.
 */
#include "mask/mask_internal.h"

enum {
    NAME_MAX_BYTES = 96,
    BLANKS_MAX = 32,
    BLANKS_PLAIN_MAX = 3,
    ESCAPES_MAX = 7,
    WEAK_VALUE_MAX = 256,
    QUOTES_BYTES_MAX = 2048,
    OBJECT_BYTES_MAX = 4096
};

struct value_cache {
    size_t from, end;
    size_t object_end; /* of the object that a secret's name announced */
};

/* A name before a separator. */
struct key {
    struct str name;
    char quote; /* that stands directly before it; 0: none */
    bool is_closed; /* a quote or bracket stands between name and separator */
    bool is_spaced; /* blanks do */
};

/* Behind the $( ) that begins here; at where it does not end soon. */
static size_t skip_group(struct str text, size_t at)
{
    enum { BYTES_MAX = 1024 };
    size_t depth = 0, end = text.n - at > BYTES_MAX ? at + BYTES_MAX : text.n;
    if (!str_starts(str_from(text, at), STR("$(")))
        return at;
    for (size_t i = at + 1; i < end; i++) {
        depth += text.p[i] == '(';
        depth -= text.p[i] == ')';
        if (depth == 0)
            return i + 1;
    }
    return at;
}

size_t cut_substitution(struct str text, size_t name, size_t from, size_t end)
{
    enum { BACK = 128 };
    for (size_t i = name; i > 1 && name - i < BACK && !is_white(text.p[i - 1]); i--) {
        char delimiter = text.p[i - 1];
        bool begins = text.p[i - 2] == 's' && (i == 2 || is_white(text.p[i - 3]) || is_quote(text.p[i - 3]));
        if (!begins || !strchr("/|#,!@~", delimiter))
            continue;
        struct str head = {text.p, name}, whole = {text.p, end};
        size_t first = find_char(whole, from, delimiter);
        /* Two more in all, or it is a path. */
        bool has_more = find_char(head, i, delimiter) < name || find_char(whole, first + 1, delimiter) < end;
        return has_more ? first : end;
    }
    return end;
}

bool is_partition(struct str text, struct str name, size_t from)
{
    enum { VALUE_MAX = 64 };
    if (name.p == text.p || name.p[-1] != '/' || rule_ends(" password passwd passphrase secret pwd ", name))
        return false;
    size_t n = 0;
    while (from + n < text.n && n < VALUE_MAX && is_name_char(text.p[from + n]))
        n++;
    struct str value = {text.p + from, n};
    return n > 0 && from + n < text.n && text.p[from + n] == '/' && !value_is_tokenish(value);
}

static bool find_key(struct str text, size_t at, struct key *ret_key)
{
    struct key key = {0};
    size_t end = at;
    bool is_line = false;
    /* NAME+=value */
    if (end > 1 && at < text.n && text.p[at] == '=' && text.p[end - 1] == '+')
        end--;
    size_t blanks = 0;
    for (; end > 0 && blanks < BLANKS_MAX && is_white(text.p[end - 1]); blanks++, end--) {
        key.is_spaced = true;
        is_line |= text.p[end - 1] != ' ' && text.p[end - 1] != '\t';
    }
    /* Far from its separator only a name in quotes is one. */
    if ((is_line || blanks > BLANKS_PLAIN_MAX) && (end == 0 || !is_quote(text.p[end - 1])))
        return false;
    for (size_t i = 0; end > 0 && i < ESCAPES_MAX && strchr("\"'`]\\", text.p[end - 1]); i++, end--)
        key.is_closed = true;
    size_t start = end;
    while (start > 0 && end - start < NAME_MAX_BYTES && is_name_char(text.p[start - 1]))
        start--;
    key.quote = start > 0 && is_quote(text.p[start - 1]) ? text.p[start - 1] : '\0';
    while (start < end && !ascii_is_alnum(text.p[start]))
        start++;
    key.name = (struct str){text.p + start, end - start};
    *ret_key = key;
    return key.name.n >= 2;
}

/* Behind the value that begins with this quote, escaped as often as its opening one; the end where it is not closed. */
static size_t find_quote(struct str text, size_t from, char quote, size_t escapes)
{
    size_t before = 0;
    for (; from < text.n; from++) {
        if (text.p[from] == quote && (escapes == 0 ? before % 2 == 0 : before == escapes))
            return from - escapes;
        before = text.p[from] == '\\' ? before + 1 : 0;
    }
    return text.n;
}

/* Is this the end of one pair in a list of them: ",name=", "; ", "&name="? */
static bool ends_pair(struct str text, size_t at)
{
    size_t i = at + 1;
    if (i >= text.n || is_white(text.p[i]) || is_quote(text.p[i]) || strchr(")}],;&", text.p[i]))
        return true;
    size_t start = i;
    while (i < text.n && i - start < 64 && (is_name_char(text.p[i]) || text.p[i] == ' '))
        i++;
    return i > start && i < text.n && (text.p[i] == '=' || text.p[i] == ':');
}

static size_t scan_end(const struct element *element, size_t from, size_t most)
{
    struct str text = element->text;
    size_t i = from + placeholder_length(str_from(text, from));
    size_t limit = text.n - from > most ? from + most : text.n;
    if (element->is_shell)
        i = skip_group(text, i);
    for (; i < limit; i++) {
        char c = text.p[i];
        if (is_white(c) || is_quote(c) || (c == '\\' && i + 1 < text.n && is_quote(text.p[i + 1])))
            return i;
        if (element->is_shell && strchr(";&|<>)", c))
            return i;
        if ((c == ',' || c == ';' || c == '&') && ends_pair(text, i))
            return i;
        bool is_last = i + 1 == text.n || is_white(text.p[i + 1]) || strchr(",;)}]\"'", text.p[i + 1]);
        if ((c == ')' || c == '}' || c == ']') && is_last)
            return i;
    }
    return i;
}

/* The end of a value without quotes. The last one is kept in *cache: within it the end is the same. */
static size_t find_end(const struct element *element, size_t from, size_t most, struct value_cache *cache)
{
    struct str text = element->text;
    if (from >= cache->from && from < cache->end && placeholder_length(str_from(text, from)) == 0)
        return cache->end;
    size_t end = scan_end(element, from, most);
    if (end - from < most)
        cache->from = from, cache->end = end;
    return end;
}

static bool is_code_char(char c)
{
    return is_alnum_or(c, "_.");
}

/* password=getpass(), token=os.environ["X"], key=self.key: code, not a value */
bool value_is_code(struct str text, size_t from, size_t end, struct str name)
{
    size_t i = skip_all(text, from, is_code_char);
    bool is_called =
        i > from && i + 1 < text.n && (text.p[i] == '(' || text.p[i] == '[') && !ascii_is_digit(text.p[from]);
    struct str value = {text.p + from, end - from};
    const char *dot = value.n <= NAME_MAX_BYTES * 2 ? memrchr(value.p, '.', value.n) : NULL;
    struct str last = dot ? str_from(value, (size_t)(dot - value.p) + 1) : value;
    return is_called || str_eq(value, name) || (dot && str_eq(last, name));
}

/* "Enter password: " ends here; no value begins. */
static bool is_closing(struct str text, size_t sep, size_t quote)
{
    bool is_end = quote + 1 >= text.n || is_white(text.p[quote + 1]) || strchr(";),|&", text.p[quote + 1]);
    bool is_inside = false;
    for (size_t i = sep > QUOTES_BYTES_MAX ? sep - QUOTES_BYTES_MAX : 0; is_end && i < sep; i++)
        is_inside ^= text.p[i] == text.p[quote] && (i == 0 || text.p[i - 1] != '\\');
    return is_end && is_inside;
}

/* { and a name in quotes */
static bool is_object(struct str text, size_t at)
{
    size_t from = skip_all(text, at + 1, is_white);
    while (from < text.n && text.p[from] == '\\')
        from++;
    return from < text.n && is_quote(text.p[from]);
}

/* Does a quote of three begin here? */
static bool is_triple(struct str text, size_t open)
{
    return open + 3 < text.n && text.p[open + 1] == text.p[open] && text.p[open + 2] == text.p[open];
}

static size_t find_closing(struct str text, size_t open, size_t escapes)
{
    if (!is_triple(text, open))
        return find_quote(text, open + 1, text.p[open], escapes);
    const char *close = memmem(text.p + open + 3, text.n - open - 3, text.p + open, 3);
    return close ? (size_t)(close - text.p) : text.n;
}

static bool take_quoted(struct element *element, size_t open, size_t escapes, const struct name_class *name)
{
    struct str text = element->text;
    size_t from = open + (is_triple(text, open) ? 3 : 1), end = find_closing(text, open, escapes);
    return end >= from && mark_value(element, (struct str){text.p + from, end - from}, name);
}

/* A list, whose strings are secrets, or an object, whose values are checked one by one. */
static bool take_bracket(struct element *element, size_t from, const struct name_class *name, struct value_cache *cache)
{
    struct str text = element->text;
    char opening = from < text.n ? text.p[from] : ' ';
    if ((opening == '[' || opening == '(') && placeholder_length(str_from(text, from)) == 0) {
        size_t end = find_char(text, from, opening == '[' ? ']' : ')');
        struct str list = {text.p + from + 1, end - from - 1};
        if (name->level >= NAME_MILD && end > from + 2 && (str_has(list, '"') || str_has(list, '\'')))
            mark(element, list, MARK_SECRET);
        return true;
    }
    if (opening == '{' && is_object(text, from)) {
        struct str object = {text.p, text.n - from < OBJECT_BYTES_MAX ? text.n : from + OBJECT_BYTES_MAX};
        size_t close = find_char(object, from, '}');
        if (name->level >= NAME_MILD && close < object.n)
            cache->object_end = close;
        return true;
    }
    return false;
}

/* Behind a separator: marks the value, and returns where the search goes on. */
static size_t take_value(struct element *element, const struct key *key, const struct name_class *name, size_t sep,
    struct value_cache *cache)
{
    struct str text = element->text;
    size_t at = sep + 1;
    while (at < text.n && (text.p[at] == '=' || text.p[at] == '>'))
        at++;
    bool is_colon = text.p[sep] == ':';
    size_t from = skip_all(text, at, key->is_closed ? is_white : ascii_is_blank);
    size_t escapes = 0;
    while (from + escapes < text.n && escapes < ESCAPES_MAX && text.p[from + escapes] == '\\')
        escapes++;
    size_t open = from + escapes;
    /* b'', f"", $'' */
    bool has_letter = open + 1 < text.n && is_quote(text.p[open + 1]) && strchr("bfru$", text.p[open]);
    open += has_letter;
    if (open < text.n && is_quote(text.p[open]) && escapes == 0 && is_closing(text, sep, open))
        return sep + 1;
    if (open < text.n && is_quote(text.p[open]))
        return take_quoted(element, open, escapes, name) ? find_closing(text, open, escapes) : sep + 1;
    char opening = from < text.n ? text.p[from] : ' ';
    if (take_bracket(element, from, name, cache))
        return sep + 1;
    /* NAME= and a blank is an empty value, "name = value" is none. */
    if (!is_colon && from > at && !key->is_spaced)
        return sep + 1;
    if (opening == ')')
        return sep + 1;
    bool is_glued = is_colon && from == at && !key->is_closed;
    size_t end = find_end(element, from, name->level == NAME_STRONG ? text.n : WEAK_VALUE_MAX, cache);
    size_t whole = end;
    end = cut_substitution(text, (size_t)(key->name.p - text.p), from, end);
    struct str value = {text.p + from, end - from};
    if (end == whole && is_partition(text, key->name, from))
        return sep + 1;
    if (is_glued && (value_is_word(value) || value_is_version(value) || value_is_path(value) || key->name.p == text.p))
        return sep + 1;
    if (is_colon && from > at && name->is_header) {
        /* A header, to the end of its quotes, its line or the text. */
        bool is_quoted = key->quote && !key->is_closed;
        end = is_quoted ? find_quote(text, from, key->quote, 0) : end;
        size_t first = skip_all(value, 0, is_scheme_char);
        bool has_scheme = rule_lists(rule_auth_schemes, (struct str){value.p, first});
        if (!is_quoted && has_scheme && first == value.n)
            end = find_end(element, skip_all(text, from + first, ascii_is_blank), text.n, cache);
        value.n = end - from;
    } else if ((is_colon && rule_lists(rule_type_names, value)) || value_is_code(text, from, end, key->name)) {
        return sep + 1;
    }
    return mark_value(element, value, name) ? end : sep + 1;
}

/* ${NAME:-default} */
static bool is_default(struct str text, size_t sep)
{
    return sep + 1 < text.n && (text.p[sep + 1] == '-' || text.p[sep + 1] == '=') && text.p[sep] == ':';
}

/* <password>value</password> */
static size_t take_tag(struct element *element, size_t close)
{
    struct str text = element->text;
    struct key key;
    if (!find_key(text, close, &key) || key.is_closed || key.name.p == text.p || key.name.p[-1] != '<')
        return close + 1;
    struct name_class name = name_classify(key.name);
    size_t end = find_char(text, close, '<');
    if (name.level == NAME_PLAIN || end == text.n)
        return close + 1;
    (void)mark_value(element, (struct str){text.p + close + 1, end - close - 1}, &name);
    return end;
}

/* setenv("PASSWORD", "value"), ["--password", "value"] */
static size_t take_pair(struct element *element, size_t comma)
{
    struct str text = element->text;
    struct key key;
    size_t from = skip_all(text, comma + 1, ascii_is_blank);
    if (!find_key(text, comma, &key) || !key.quote || from >= text.n || text.p[from] != key.quote)
        return comma + 1;
    struct name_class name = name_classify(key.name);
    if (name.level < NAME_STRONG)
        return comma + 1;
    name.level = NAME_MILD; /* it may be a list of names */
    size_t end = find_quote(text, from + 1, key.quote, 0);
    return mark_value(element, (struct str){text.p + from + 1, end - from - 1}, &name) ? end : comma + 1;
}

void mark_assignments(struct element *element)
{
    struct str text = element->text;
    struct value_cache cache = {0};
    for (size_t i = 1; i < text.n;) {
        char c = text.p[i], next = i + 1 < text.n ? text.p[i + 1] : ' ';
        bool is_colon = c == ':' && next != '/' && next != ':' && text.p[i - 1] != ':';
        struct key key;
        if (c == '>' && next != '<' && next != '>') {
            i = take_tag(element, i);
            continue;
        }
        if (c == ',' && is_quote(text.p[i - 1])) {
            i = take_pair(element, i);
            continue;
        }
        if ((c != '=' && !is_colon) || !find_key(text, i, &key)) {
            i++;
            continue;
        }
        struct name_class name = name_classify(key.name);
        if (i < cache.object_end && key.is_closed && rule_lists(" key value data content ", key.name))
            name = (struct name_class){.level = NAME_STRONG, .keeps_path = true};
        if (name.level == NAME_PLAIN) {
            i++;
        } else if (is_default(text, i) && key.name.p > text.p + 1 && key.name.p[-1] == '{') {
            size_t end = find_char(text, i, '}');
            (void)mark_value(element, (struct str){text.p + i + 2, end - i - 2}, &name);
            i = end;
        } else {
            size_t after = take_value(element, &key, &name, i, &cache);
            i = after > i ? after : i + 1;
        }
    }
}

static bool is_bearer_char(char c)
{
    return is_alnum_or(c, "-._~+/=");
}

void mark_bearers(struct element *element)
{
    enum { LEAST = 6, LEAST_LONG = 16, LEAST_BASIC = 12 };
    struct str text = element->text;
    for (size_t i = 0; i + 6 < text.n; i++) {
        bool is_bearer = has_prefix_nocase(str_from(text, i), "bearer");
        bool is_basic = has_prefix_nocase(str_from(text, i), "basic");
        size_t word = is_bearer ? 6 : 5, from = i + word;
        if ((!is_bearer && !is_basic) || (i > 0 && ascii_is_alnum(text.p[i - 1])) || !is_white(text.p[from]))
            continue;
        from = skip_all(text, from, is_white);
        size_t n = 0;
        bool has_digit = false, has_upper = false;
        for (; from + n < text.n && is_bearer_char(text.p[from + n]); n++) {
            has_digit |= ascii_is_digit(text.p[from + n]);
            has_upper |= ascii_is_upper(text.p[from + n]);
        }
        struct str token = {text.p + from, n};
        bool is_token = is_bearer ? (has_digit && n >= LEAST) || n >= LEAST_LONG
                                  : n >= LEAST_BASIC && n % 4 == 0 && has_upper && (has_digit || token.p[n - 1] == '=');
        if (is_token && !value_is_path(token) && !value_is_version(token))
            mark(element, token, MARK_SECRET);
    }
}

static size_t count_base64(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++)
        count += is_alnum_or(text.p[i], "+/");
    return count;
}

/* Behind the next five dashes. */
static size_t skip_dashes(struct str text, size_t from)
{
    size_t at = find_text(text, from, "-----");
    return at < text.n ? at + 5 : at;
}

void mark_pem(struct element *element)
{
    enum { LEAST = 16 };
    struct str text = element->text;
    for (size_t end = 0, begin; (begin = find_text(text, end, "-----BEGIN")) < text.n;) {
        size_t body = skip_dashes(text, begin + 10), foot = find_text(text, body, "-----END");
        end = skip_dashes(text, foot + 8);
        if (count_base64((struct str){text.p + body, foot - body}) >= LEAST)
            mark(element, (struct str){text.p + begin, end - begin}, MARK_KEY);
    }
}

static bool is_run_char(char c)
{
    return is_alnum_or(c, "_-+/=.~%@");
}

/* name=RUN where the name says that it is no secret; sha256-RUN */
static bool is_identified(struct str text, size_t start, struct str run)
{
    struct key key;
    if (rule_begins(" sha1- sha256- sha384- sha512- ", run))
        return true;
    if (start == 0 || (text.p[start - 1] != ':' && text.p[start - 1] != '=') || !find_key(text, start - 1, &key))
        return false;
    size_t word = key.name.n;
    while (word > 0 && ascii_is_alnum(key.name.p[word - 1]))
        word--;
    return rule_lists(rule_identifiers, str_from(key.name, word));
}

void mark_random(struct element *element)
{
    struct str text = element->text;
    for (size_t i = 0; i < text.n;) {
        size_t n = 0, name = 0;
        bool is_dotted = false, has_slash = false;
        for (; i + n < text.n && is_run_char(text.p[i + n]); n++) {
            char c = text.p[i + n];
            /* NAME=VALUE: the value starts anew, but for padding. */
            bool is_padding =
                c == '=' && (i + n + 1 == text.n || text.p[i + n + 1] == '=' || !ascii_is_alnum(text.p[i + n + 1]));
            if (c == '=' && !is_padding) {
                name = n + 1;
                is_dotted = has_slash = false;
            }
            is_dotted |= c == '.' || c == '@' || c == '%' || c == '~';
            has_slash |= c == '/' || c == '+';
        }
        struct str run = {text.p + i + name, n - name};
        size_t start = i + name;
        while (run.n > 0 && run.p[0] == '-') {
            run = str_from(run, 1);
            start++;
        }
        bool is_random =
            has_slash || (run.n > 0 && run.p[run.n - 1] == '=') ? value_is_random_base64(run) : value_is_random(run);
        if (is_random && !is_dotted && !is_identified(text, start, run))
            mark(element, run, MARK_SECRET);
        i += n > 0 ? n : 1;
    }
}

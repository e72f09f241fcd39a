/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs of any scheme (RFC 3986), wherever they stand: the userinfo and the values of the query are secrets, host and
 * path are not. Passwords are not always percent-encoded, so the end of the userinfo is searched with care.
 */
#include "mask/mask_internal.h"

static bool is_url_scheme_char(char c)
{
    return is_alnum_or(c, "+.-");
}

/* How far a URL goes: a whole argument may be one, with whatever it holds; in a text quotes and blanks end it. */
static size_t url_end(const struct element *element, size_t scheme, size_t at)
{
    struct str text = element->text;
    if (scheme == 0 && !has_white(text))
        return text.n;
    char quote = scheme > 0 && is_quote(text.p[scheme - 1]) ? text.p[scheme - 1] : '\0';
    for (; at < text.n; at++) {
        char c = text.p[at];
        if (is_white(c) || c == quote || (!quote && (is_quote(c) || c == '<' || c == '>')))
            return at;
    }
    return at;
}

static size_t find_any(struct str text, size_t from, size_t end, const char *set)
{
    while (from < end && !strchr(set, text.p[from]))
        from++;
    return from;
}

static size_t find_last(struct str text, size_t from, size_t end, char c)
{
    const char *p = from < end ? memrchr(text.p + from, c, end - from) : NULL;
    return p ? (size_t)(p - text.p) : end;
}

static bool is_port(struct str text)
{
    return text.n <= 5 && skip_all(text, 0, ascii_is_digit) == text.n;
}

/* Where the @ of the userinfo is; end where there is none. */
static size_t find_at(struct str text, size_t host, size_t end, bool is_http)
{
    size_t slash = find_any(text, host, end, "/?#"), at = find_last(text, host, slash, '@');
    size_t colon = find_any(text, host, at < slash ? at : slash, ":");
    bool has_password = colon < (at < slash ? at : slash);
    if (at == slash) {
        /* user:pa/ss@host: what follows the colon is no port, so the slash belongs to the password. */
        bool is_odd =
            has_password && text.p[host] != '[' && !is_port((struct str){text.p + colon + 1, slash - colon - 1});
        return is_odd ? find_last(text, host, end, '@') : end;
    }
    /* In the path of a page an @ is common, in that of a database it is not. */
    size_t last = has_password && !is_http ? find_last(text, host, find_any(text, slash, end, "?"), '@') : at;
    return last < end && last > at ? last : at;
}

static void mark_user(struct element *element, struct str scheme, struct str user)
{
    if (user.n == 0 || placeholder_length(user) == user.n || is_reference(element, user))
        return;
    struct str password = str_from(user, find_char(user, 0, ':') + 1);
    if (password.n > 0) {
        if (!is_reference(element, password))
            mark(element, user, MARK_SECRET);
        return;
    }
    if (element->mode != MASK_STRICT && rule_lists(rule_user_schemes, scheme))
        return;
    if (element->mode == MASK_STRICT || rule_lists(rule_token_schemes, scheme) || value_is_tokenish(user))
        mark(element, user, MARK_SECRET);
}

static bool is_harmless(struct str value)
{
    enum { WORD_MAX = 12, NUMBER_MAX = 10 };
    bool is_word = value.n <= WORD_MAX, is_number = value.n <= NUMBER_MAX;
    for (size_t i = 0; i < value.n; i++) {
        is_word &= ascii_is_lower(value.p[i]);
        is_number &= ascii_is_digit(value.p[i]) || value.p[i] == '.' || value.p[i] == '-';
    }
    return is_word || is_number || value_is_trivial(value);
}

static bool is_secret_query(const struct element *element, struct str name, struct str value)
{
    if (value_is_trivial(value) || is_reference(element, value))
        return false;
    if (rule_lists(rule_public_queries, name) && element->mode != MASK_STRICT)
        return false;
    struct name_class class = name_classify(name);
    if (class.level >= NAME_MILD || rule_lists(rule_secret_queries, name) || element->mode == MASK_STRICT)
        return !(class.is_token && value_is_version(value) && value.n < 6);
    if (rule_lists(rule_plain_queries, name))
        return value_is_random(value) || (class.level == NAME_WEAK && value_is_tokenish(value));
    return !is_harmless(value);
}

/* a=b&c=d; separators are & and ; */
static void mark_query(struct element *element, struct str query)
{
    while (query.n > 0) {
        size_t n = 0;
        while (n < query.n && query.p[n] != '&' && query.p[n] != ';' && query.p[n] != '#')
            n++;
        struct str pair = {query.p, n};
        struct str name = {pair.p, find_char(pair, 0, '=')};
        bool has_name = name.n < pair.n;
        struct str value = has_name ? str_from(pair, name.n + 1) : pair;
        /* ?TOKEN without a name */
        if (has_name ? is_secret_query(element, name, value) : value_is_tokenish(value))
            mark(element, value, MARK_SECRET);
        query = str_from(query, n + 1);
    }
}

static void mark_path(struct element *element, struct str rest)
{
    for (const char *path = rule_secret_paths; *path; path = rule_next(path)) {
        size_t host = find_text(rest, 0, path);
        if (host == rest.n || (host > 0 && rest.p[host - 1] != '.' && rest.p[host - 1] != '@'))
            continue;
        struct str secret = str_from(rest, host + strlen(path));
        size_t n = 0;
        while (n < secret.n && secret.p[n] != '?' && secret.p[n] != '#' && secret.p[n] != ')' && secret.p[n] != ',')
            n++;
        if (placeholder_length(secret) != n)
            mark(element, (struct str){secret.p, n}, MARK_SECRET);
    }
}

static size_t mark_url(struct element *element, size_t scheme, size_t host)
{
    struct str text = element->text;
    size_t end = url_end(element, scheme, host);
    struct str name = {text.p + scheme, host - 3 - scheme};
    bool is_http = rule_lists(rule_token_schemes, name);
    size_t at = find_at(text, host, end, is_http);
    if (at < end)
        mark_user(element, name, (struct str){text.p + host, at - host});
    size_t from = at < end ? at + 1 : host;
    mark_path(element, (struct str){text.p + from, end - from});
    size_t query = find_any(text, from, end, "?#");
    if (query < end)
        mark_query(element, (struct str){text.p + query + 1, end - query - 1});
    return end;
}

/* Is text[start, end) a word of its own, behind at most a domain: DOMAIN/user:secret@host? */
static bool is_whole(struct str text, size_t start, size_t end)
{
    size_t from = start;
    if (from > 0 && text.p[from - 1] == '/') {
        from--;
        while (from > 0 && start - from < 64 && is_name_char(text.p[from - 1]))
            from--;
        if (from + 1 == start)
            return false;
    }
    bool begins = from == 0 || is_white(text.p[from - 1]) || is_quote(text.p[from - 1]) || text.p[from - 1] == '=';
    return begins && (end == text.n || is_white(text.p[end]) || is_quote(text.p[end]) || strchr(",;)", text.p[end]));
}

/* image:tag@latest, group:lib:1.0@aar: with a host of one word only what no tag looks like is a password. */
static bool is_password(struct str password)
{
    bool is_tag = true;
    for (size_t i = 0; i < password.n && is_tag; i++)
        is_tag = ascii_is_lower(password.p[i]) || password.p[i] == '-' || password.p[i] == '_';
    return password.n > 0 && !is_tag && !str_has(password, ':') && !value_is_version(password);
}

/* jdbc:oracle:thin:user/secret@host */
static void mark_jdbc_oracle(struct element *element, size_t at)
{
    struct str text = element->text;
    struct str rest = str_from(text, at + strlen("jdbc:oracle:"));
    const char *colon = memchr(rest.p, ':', rest.n < 16 ? rest.n : 16);
    size_t user = colon ? (size_t)(colon - text.p) + 1 : text.n;
    size_t slash = find_any(text, user, text.n, "/@ \t\n\"'");
    if (slash >= text.n || text.p[slash] != '/')
        return;
    size_t end = find_any(text, slash, text.n, " \t\n\"'("), host = end;
    for (size_t i = slash + 1; i < end && host == end; i++) {
        if (text.p[i] == '@' && !memchr(text.p + i + 1, '@', end - i - 1))
            host = i;
    }
    struct str password = {text.p + slash + 1, host - slash - 1};
    if (host < end && placeholder_length(password) != password.n && !is_reference(element, password))
        mark(element, password, MARK_SECRET);
}

/* user:secret@host without a scheme: proxies, data sources */
static void mark_bare_user(struct element *element, size_t at)
{
    struct str text = element->text;
    size_t start = at;
    while (start > 0 && at - start < 256 && !is_white(text.p[start - 1]) && !is_quote(text.p[start - 1]) &&
           !strchr("/=,;()<>@", text.p[start - 1]))
        start--;
    struct str user = {text.p + start, at - start};
    size_t colon = find_char(user, 0, ':'), end = at + 1;
    struct str password = str_from(user, colon + 1);
    bool has_dot = false, has_letter = false;
    while (end < text.n && is_alnum_or(text.p[end], ".-")) {
        has_dot |= text.p[end] == '.';
        has_letter |= !ascii_is_digit(text.p[end]) && text.p[end] != '.';
        end++;
    }
    struct str host = {text.p + at + 1, end - at - 1};
    char behind = end < text.n ? text.p[end] : ' ';
    bool is_ip = !has_letter && host.n >= 7 && has_dot;
    bool is_host = (has_dot && (has_letter || is_ip) && !ascii_is_digit(host.p[0])) || is_ip ||
                   str_eq(host, STR("localhost")) || (behind == ':' && host.n > 0) || behind == '(' || behind == '/' ||
                   (host.n > 0 && !ascii_is_digit(host.p[0]) && is_password(password) && is_whole(text, start, end));
    bool is_digest = rule_begins(" sha md5 ", host);
    if (colon == user.n || colon == 0 || !is_host || is_digest || !is_name_char(user.p[0]))
        return;
    if (rule_lists(rule_opaque_schemes, (struct str){user.p, colon}))
        return;
    if (password.n > 0 && !is_reference(element, password) && placeholder_length(password) != password.n)
        mark(element, password, MARK_SECRET);
}

void mark_urls(struct element *element)
{
    struct str text = element->text;
    size_t done = 0;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '@' && i >= done)
            mark_bare_user(element, i);
        if (text.p[i] == 'j' && i >= done && str_starts(str_from(text, i), STR("jdbc:oracle:")))
            mark_jdbc_oracle(element, i);
        if (text.p[i] != ':' || i + 2 >= text.n || text.p[i + 1] != '/' || text.p[i + 2] != '/')
            continue;
        size_t scheme = i;
        while (scheme > done && i - scheme < 32 && is_url_scheme_char(text.p[scheme - 1]))
            scheme--;
        /* --url=-x://? A scheme begins with a letter. */
        while (scheme < i && !ascii_is_alpha(text.p[scheme]))
            scheme++;
        if (scheme == i)
            continue;
        done = mark_url(element, scheme, i + 3);
        i = i + 2 > done ? i + 2 : done > 0 ? done - 1 : i;
    }
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How masking works inside: every rule marks bytes of one argument, and in the end each marked run becomes one
 * placeholder. So rules need not know of each other, and their order does not matter.
 */
#ifndef MASK_MASK_INTERNAL_H
#define MASK_MASK_INTERNAL_H

#include <stdbool.h>

#include "base/str.h"
#include "mask/mask.h"
#include "mask/rules.h"

enum mark { MARK_NONE, MARK_SECRET, MARK_KEY, MARK_EMAIL, MARK_IP, MARK_PHONE, MARK_CARD, MARK_SSN, MARK_COUNT };

/* One argument; every piece of text below is a part of it. */
struct element {
    struct str text;
    unsigned char *marks; /* one per byte, enum mark */
    enum mask_mode mode;
    bool is_shell; /* a command string: $NAME is no secret */
};

extern const char *const mark_placeholders[MARK_COUNT];

/* values.c: character classes (ASCII), and what a text looks like. */
bool is_upper(char c);
bool is_lower(char c);
bool is_digit(char c);
bool is_alnum(char c);
bool is_white(char c);
bool is_quote(char c);
bool is_name_char(char c); /* of NAME in NAME=value, --name: letters, digits, _ - . */
char to_lower(char c);
bool has_prefix_nocase(struct str text, const char *prefix); /* prefix in lower case */
struct str str_from(struct str text, size_t at);
bool str_has(struct str text, char c);

void mark(struct element *element, struct str piece, enum mark kind);
bool is_marked(const struct element *element, struct str piece); /* any byte of it */

/* Bytes of the placeholder at the start of text; 0: none. */
size_t placeholder_length(struct str text);

/* Nothing to hide: empty, yes and no, "-", "...", stars, placeholders. */
bool value_is_trivial(struct str value);
bool value_is_path(struct str value);
bool value_is_reference(struct str value); /* $NAME, ${NAME}, $(...) */
bool value_is_version(struct str value); /* also dates and plain numbers */
bool value_is_word(struct str value); /* letters, - and _ alone */

/* Letters and digits mixed as no name or number has them; hexadecimal counts. For values whose name suggests a secret.
 */
bool value_is_tokenish(struct str value);
/* The same for text that nothing else speaks for: no hashes, UUIDs, names of models or files. */
bool value_is_random(struct str value);
bool value_is_random_base64(struct str value); /* with / and + */

/* names.c: what a name says about its value. */
struct name_class {
    enum name_level level;
    bool is_switch; /* --no-password, --use-token: a separate word behind it is none of its business */
    bool keeps_path; /* a path is where the secret is, not the secret */
    bool is_header; /* the value has several words */
    bool is_secret; /* the name is "secret" itself */
    bool is_token, is_pass; /* small numbers are no secrets */
    bool is_command; /* a command that prints the secret */
};
struct name_class name_classify(struct str name);

/* Marks the value of such a name where it is a secret; quotes around it stay. True where it is. */
bool mark_value(struct element *element, struct str value, const struct name_class *name);

/* text.c: is the value code, such as getpass(), os.environ["X"], self.key? */
bool value_is_code(struct str text, size_t from, size_t end, struct str name);
/* text.c: where the value that begins at from ends in s/name=value/name=value/; end where it is no such expression. */
size_t cut_substitution(struct str text, size_t name, size_t from, size_t end);
/* text.c: a directory of a partitioned table, /name=value/ */
bool is_partition(struct str text, struct str name, size_t from);
/* text.c: behind the $( ) that begins here; at where it does not end soon. */
size_t skip_group(struct str text, size_t at);

/* words.c: options, values behind them and rules of programs; one state for the whole command line. */
struct words;
enum { WORDS_DEPTH_MAX = 4 };
enum pending_kind {
    PENDING_NONE,
    PENDING_NAME,
    PENDING_SECRET,
    PENDING_SPLIT,
    PENDING_LITERAL,
    PENDING_COMMAND,
    PENDING_FEED
};
struct words {
    struct element *element;
    int depth;
    bool is_text; /* words of a text that may be code as well as a command */
    struct {
        enum pending_kind kind;
        struct name_class name;
        char separator; /* PENDING_SPLIT */
    } pending; /* what the next word is */
    struct str program; /* the known one that runs; n = 0: none */
    bool has_program, has_carrier;
    unsigned subcommands; /* seen, by bit of rule_subcommands */
    unsigned long long letters; /* single-letter options seen, by bit from 'A' */
    unsigned positionals;
    bool has_url;
    unsigned setting; /* above 0: a NAME may be followed by its value */
    bool is_behind_option; /* the word before was an option without a value of its own */
    bool feeds; /* what the next text echoes is a secret */
    bool is_fed; /* what this text echoes goes to a program that reads a password */
    bool is_echo;
};
void words_argument(struct words *words, struct element *element);

/* text.c, phrases.c, shapes.c, url.c, personal.c: what can be seen in the text of one argument alone. */
void mark_assignments(struct element *element);
void mark_bearers(struct element *element);
void mark_pem(struct element *element);
void mark_phrases(struct element *element);
void mark_random(struct element *element);
void mark_shapes(struct element *element);
void mark_urls(struct element *element);
void mark_personal(struct element *element);

#endif
